"""A conversation as the page shows it: the user, the course of emotion and H, each turn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.records.saved_conversations import SavedConversation, SavedTurn
from harness.report.html.choice import ChosenConversation
from harness.report.text import conversation as words
from harness.report.text import wording

MOST_CHARACTERS = 1500
"""The most characters of an utterance that are shown; further ones are counted."""
CURVE_WIDTH, CURVE_HEIGHT, EDGE = 300.0, 72.0, 6.0
WHO = {"user": "user", "policy": "policy", "reference": "before the policy"}


@dataclass(frozen=True)
class Utterance:
    """A turn."""

    speaker: str
    """user, policy or reference; also the CSS class."""
    who: str
    lines: tuple[str, ...]
    facts: tuple[str, ...]
    """Emotion and reasons for a user's turn; strategies heard, H and advantage for a reply."""


@dataclass(frozen=True)
class ConversationView:
    """A conversation with everything that the template needs."""

    run: str
    group: str
    """Level and variants of its run, as in the titles of panels."""
    step: int
    level: str
    """The level of this conversation's user."""
    seed: str
    moments: tuple[str, ...]
    rank: str
    outcome: str
    intention: str
    """Key of the hidden intention, for the filter; empty if it was not kept."""
    ended: str
    user: str
    came_for: str
    """The hidden intention in words."""
    emotion_path: str
    entropy_path: str
    turns: tuple[Utterance, ...]


def view(
    chosen: ChosenConversation, run: str, group: str, seed: int | None, highest: float
) -> ConversationView:
    """Return the conversation in the words of the page."""
    conversation = chosen.conversation
    emotion, entropy = _curves(conversation, highest)
    return ConversationView(
        run=run,
        group=group,
        step=conversation.step,
        level=conversation.level or "",
        seed="" if seed is None else str(seed),
        moments=chosen.moments,
        rank=chosen.rank,
        outcome=", ".join(_outcome(conversation)),
        intention=conversation.intention or "",
        ended=conversation.ended or "",
        user=words.describe_user(conversation) or "",
        came_for=words.came_for(conversation) or "",
        emotion_path=emotion,
        entropy_path=entropy,
        turns=tuple(
            _utterance(turn, shared_advantage(conversation)) for turn in conversation.turns
        ),
    )


def shared_advantage(conversation: SavedConversation) -> float | None:
    """Return the advantage that all replies of the policy share; None if there is none."""
    values = {turn.advantage for turn in conversation.turns if turn.speaker == "policy"}
    return values.pop() if len(values) == 1 else None


def _outcome(conversation: SavedConversation) -> Iterator[str]:
    if conversation.reward is not None:
        yield f"reward {wording.number(conversation.reward)}"
    shared = shared_advantage(conversation)
    if shared is not None:
        yield f"advantage {wording.number(shared)}"
    if conversation.emotions:
        yield f"emotion {conversation.emotions[0]} to {conversation.emotions[-1]}"
    if conversation.ended:
        yield words.ending(conversation)


def _utterance(turn: SavedTurn, shared: float | None) -> Utterance:
    facts = _reply_facts(turn, shared) if turn.is_reply else _user_facts(turn)
    speaker = WHO.get(turn.speaker, turn.speaker)
    kind = turn.speaker if turn.speaker in WHO else "user"
    return Utterance(kind, f"{speaker} {turn.number}", _lines(turn.text), tuple(facts))


def _lines(text: str) -> tuple[str, ...]:
    if len(text) > MOST_CHARACTERS:
        more = len(text) - MOST_CHARACTERS
        text = f"{text[:MOST_CHARACTERS]} ... ({more:,} more characters)"
    return tuple(text.split("\n")) if text else ("(nothing)",)


def _reply_facts(turn: SavedTurn, shared: float | None) -> Iterator[str]:
    """Yield what is known of a reply, except the advantage that all replies share."""
    heard = words.heard_strategies(turn)
    if heard is not None:
        yield f"heard: {heard}"
    if turn.entropy_nats is not None:
        yield f"H {wording.number(turn.entropy_nats)} nats"
    if turn.advantage is not None and turn.advantage != shared:
        yield f"advantage {wording.number(turn.advantage)}"
    if turn.is_cut:
        yield "cut at the token limit"


def _user_facts(turn: SavedTurn) -> Iterator[str]:
    if turn.emotion is not None:
        left_text = ", then left" if turn.ended == "left" else ""
        change_text = f" ({turn.change:+d}{left_text})" if turn.change is not None else ""
        yield f"emotion {turn.emotion}{change_text}"
    why = words.why_emotion_moved(turn)
    if why is not None:
        yield why


def _curves(conversation: SavedConversation, highest: float) -> tuple[str, str]:
    """Return paths over the turns of emotion, 0 to 100, and of H, 0 to `highest`."""
    last = max((turn.number for turn in conversation.turns), default=0)
    first = min((turn.number for turn in conversation.turns), default=0)
    emotions = [
        (t.number, t.emotion / 100)
        for t in conversation.turns
        if not t.is_reply and t.emotion is not None
    ]
    entropies = [
        (t.number, t.entropy_nats / highest)
        for t in conversation.turns
        if t.speaker == "policy" and t.entropy_nats is not None
    ]
    return _path(emotions, first, last), _path(entropies, first, last)


def _path(points: Sequence[tuple[int, float]], first: int, last: int) -> str:
    """Return a line through points of (turn, share of the height); a dot for a single point."""
    turn_width = (CURVE_WIDTH - 2 * EDGE) / max(last - first, 1)
    parts = []
    for index, (turn, share) in enumerate(points):
        x = EDGE + (turn - first) * turn_width
        y = CURVE_HEIGHT - EDGE - (CURVE_HEIGHT - 2 * EDGE) * min(max(share, 0.0), 1.0)
        parts.append(f"{'L' if index else 'M'}{x:.0f} {y:.1f}")
    return "".join(parts) + ("h0" if len(parts) == 1 else "")
