"""Conversations as the page shows them: who the user is, the course of emotion and H, each turn.

They are rendered one by one, in the order of choice.KINDS for all runs at once, as long as there is
room in the file: a page then holds the same kinds of conversations of every run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from harness.law.group_results import Analysis
from harness.report.html import choice
from harness.report.html.choice import KINDS, Chosen, OfRun
from harness.report.html.folders import RunPlace
from harness.report.html.talk_words import ended, intention, strategies, why
from harness.report.text import naming, wording
from harness.report.text.wording import plural
from harness.records.saved_conversations import Conversation, Turn

MOST_CHARACTERS = 1500
"""Of one utterance; more is counted."""
CURVE_WIDTH, CURVE_HEIGHT, EDGE = 300.0, 72.0, 6.0
WHO = {"user": "user", "policy": "policy", "reference": "before the policy"}


@dataclass(frozen=True)
class Said:
    """One turn."""

    speaker: str
    """user, policy or reference; also the class."""
    who: str
    lines: tuple[str, ...]
    facts: tuple[str, ...]
    """What is known of it: emotion and why, or what was heard and H."""


@dataclass(frozen=True)
class Shown:
    """A conversation with all that the template needs."""

    number: int
    run: str
    step: int
    level: str
    seed: str
    moments: tuple[str, ...]
    rank: str
    outcome: str
    intention: str
    """The hidden intention as its key, for the filter; empty where it was not kept."""
    ended: str
    about: tuple[str, ...]
    """Who the user is, and what they came for."""
    emotion_path: str
    entropy_path: str
    entropy_range: str
    turns: tuple[Said, ...]


@dataclass(frozen=True)
class Selection:
    """What stands in the page, and what does not."""

    rendered: tuple[Markup, ...]
    shown: tuple[Shown, ...]
    notes: tuple[str, ...]


def select(
    analysis: Analysis,
    runs: Sequence[RunPlace],
    render: Callable[[Shown], Markup],
    room: int,
) -> Selection:
    """Choose, read and render; `room` in bytes."""
    called = naming.names(analysis)
    result = {run.run: run for run in analysis.runs}
    chosen: dict[str, OfRun] = {}
    for place in runs:
        if place.folder is not None:
            onset = result[place.run].onset
            chosen[place.run] = choice.of_run(place.folder, onset.step if onset else None)
    kept: dict[tuple[str, int], Markup] = {}
    views: dict[tuple[str, int], Shown] = {}
    highest = _highest_entropy(one for of in chosen.values() for one in of.chosen)
    left: list[str] = []
    for kind in range(len(KINDS)):
        of_kind = [
            (run, at, one)
            for run, of in chosen.items()
            for at, one in enumerate(of.chosen)
            if one.kind == kind
        ]
        made = {}
        for number, (run, at, one) in enumerate(of_kind, len(views) + 1):
            shown = view(one, called[run], result[run].level, result[run].seed, number, highest)
            made[run, at] = shown, render(shown)
        size = sum(len(text.encode("utf-8")) for _, text in made.values())
        fitting = list(made) if size <= room else list(_as_fits(made, room if not kept else 0))
        for key in fitting:
            views[key], kept[key] = made[key]
            room -= len(kept[key].encode("utf-8"))
        if len(fitting) < len(made):
            left.append(_left_out(kind, len(made) - len(fitting), len(made)))
    order = sorted(views, key=lambda key: (list(chosen).index(key[0]), key[1]))
    return Selection(
        tuple(kept[key] for key in order),
        tuple(views[key] for key in order),
        tuple(_notes(chosen, called, len(order), left)),
    )


def _as_fits(
    made: Mapping[tuple[str, int], tuple[Shown, Markup]], room: int
) -> Iterator[tuple[str, int]]:
    """As many of the first kind as there is room for, in the order of the runs."""
    for key, (_, text) in made.items():
        room -= len(text.encode("utf-8"))
        if room < 0:
            return
        yield key


def _left_out(kind: int, count: int, of: int) -> str:
    moments, ranks = KINDS[kind]
    what = f"{' and '.join(ranks)} of {' and '.join(moments)}"
    return f"left out for the size of the file: {count} of {plural(of, 'conversation')} ({what})"


def _notes(
    chosen: Mapping[str, OfRun], called: Mapping[str, str], shown: int, left: Sequence[str]
) -> Iterator[str]:
    steps = sum(of.saved_steps for of in chosen.values())
    if not chosen:
        yield "No run folder is among the paths: logs of other programs hold no conversations."
        return
    if not steps:
        yield "No conversations are saved in these runs."
        return
    yield choice.RULE
    yield f"{plural(shown, 'conversation')} of {plural(len(chosen), 'run')}, from {plural(steps, 'saved step')}."
    yield from left
    without = [called[run] for run, of in chosen.items() if not of.saved_steps]
    if without:
        yield f"no saved conversations: {', '.join(without)}"
    notes: dict[str, list[str]] = {}
    for run, of in chosen.items():
        for note in of.notes:
            notes.setdefault(note, []).append(called[run])
    for note, names in notes.items():
        whose = plural(len(names), "run") if len(names) > 2 else ", ".join(names)
        yield f"{whose}: {note}"


def _highest_entropy(chosen: Iterator[Chosen]) -> float:
    """The top of the scale that all curves of H share; 1 without any."""
    values = [h for one in chosen for h in one.conversation.entropies_nats if h is not None]
    return max(values, default=0.0) or 1.0


def view(
    chosen: Chosen, run: str, level: str | None, seed: int | None, number: int, highest: float
) -> Shown:
    """Put a conversation into the words of the page."""
    talk = chosen.conversation
    emotion, entropy = _curves(talk, highest)
    return Shown(
        number=number,
        run=run,
        step=talk.step,
        level=talk.level or level or "",
        seed="" if seed is None else str(seed),
        moments=chosen.moments,
        rank=chosen.rank,
        outcome=", ".join(_outcome(talk)),
        intention=talk.intention or "",
        ended=talk.ended or "",
        about=tuple(_about(talk)),
        emotion_path=emotion,
        entropy_path=entropy,
        entropy_range=f"0 to {wording.number(highest)} nats" if entropy else "",
        turns=tuple(_said(turn) for turn in talk.turns),
    )


def _outcome(talk: Conversation) -> Iterator[str]:
    if talk.reward is not None:
        yield f"reward {wording.number(talk.reward)}"
    if talk.emotions:
        yield f"emotion {talk.emotions[0]} to {talk.emotions[-1]}"
    if talk.ended:
        yield ended(talk.ended)


def _about(talk: Conversation) -> Iterator[str]:
    told = (
        ("user", talk.persona), ("topic", talk.topic), ("voice", talk.voice),
        ("temperament", talk.temperament),
        ("hidden intention", intention(talk.intention) if talk.intention else None),
    )  # fmt: skip
    for name, value in told:
        if value:
            yield f"{name}: {value}"


def _said(turn: Turn) -> Said:
    facts = _of_reply(turn) if turn.is_reply else _of_user(turn)
    who = WHO.get(turn.speaker, turn.speaker)
    kind = turn.speaker if turn.speaker in WHO else "user"
    return Said(kind, f"{who} {turn.number}", _lines(turn.text), tuple(facts))


def _lines(text: str) -> tuple[str, ...]:
    if len(text) > MOST_CHARACTERS:
        more = len(text) - MOST_CHARACTERS
        text = f"{text[:MOST_CHARACTERS]} ... ({more:,} more characters)"
    return tuple(text.split("\n")) if text else ("(nothing)",)


def _of_reply(turn: Turn) -> Iterator[str]:
    if turn.strategies is not None:
        yield f"heard: {strategies(turn.strategies)}"
    if turn.taken_up:
        yield f"takes up: {'; '.join(turn.taken_up)}"
    if turn.entropy_nats is not None:
        yield f"H {wording.number(turn.entropy_nats)} nats"
    if turn.advantage is not None:
        yield f"advantage {wording.number(turn.advantage)}"
    if turn.is_cut:
        yield "cut at the token limit"


def _of_user(turn: Turn) -> Iterator[str]:
    if turn.emotion is not None:
        moved = f" ({turn.change:+d})" if turn.change is not None else ""
        yield f"emotion {turn.emotion}{moved}"
    yield from why(turn.why) if turn.why is not None else ()
    if turn.ended:
        yield ended(turn.ended)


def _curves(talk: Conversation, highest: float) -> tuple[str, str]:
    """Emotion 0 to 100 and H up to `highest`, over the turns, as paths."""
    last = max((abs(turn.number) for turn in talk.turns), default=1) or 1
    first = min((turn.number for turn in talk.turns), default=0)
    felt = [(t.number, t.emotion / 100) for t in talk.turns if not t.is_reply and t.emotion is not None]
    heard = [
        (t.number, t.entropy_nats / highest)
        for t in talk.turns
        if t.speaker == "policy" and t.entropy_nats is not None
    ]
    return tuple(_path(points, first, last) for points in (felt, heard))  # type: ignore[return-value]


def _path(points: Sequence[tuple[int, float]], first: int, last: int) -> str:
    """A line through points of (turn, share of the height); a dot where there is one alone."""
    across = (CURVE_WIDTH - 2 * EDGE) / max(last - first, 1)
    parts = []
    for at, (turn, share) in enumerate(points):
        x = EDGE + (turn - first) * across
        y = CURVE_HEIGHT - EDGE - (CURVE_HEIGHT - 2 * EDGE) * min(max(share, 0.0), 1.0)
        parts.append(f"{'L' if at else 'M'}{x:.0f} {y:.1f}")
    return "".join(parts) + ("h0" if len(parts) == 1 else "")
