"""A saved conversation in plain words: who the user is, what they heard, why their emotion moved.

The words are unescaped: whoever prints them must escape what a policy, a user or a file wrote.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from harness.records.saved_conversations import SavedConversation, SavedReasons, SavedTurn
from harness.report.text.wording import without_underscores

STRATEGY = {
    "question": "a question",
    "restate": "a restatement",
    "reflect": "a reflection of feelings",
    "disclose": "self-disclosure",
    "affirm": "affirmation",
    "suggest": "a suggestion",
    "inform": "information",
    "other": "plain kindness",
}
INTENTION = {
    "praise": "sincere praise for what they did",
    "not_at_fault": "hearing that they are not at fault",
    "venting": "somebody who listens while they vent",
    "deep_empathy": "deep empathy, not plain comfort",
    "advice": "advice that truly solves their difficulty",
    "dialectic": "a view of it from several sides",
    "growth": "guidance to reflect on themselves and grow",
    "motives": "an analysis of why the others acted so",
}
TEST = {
    "gaslighting": "denies what was said",
    "escalation": "gets angrier",
    "validation": "presses to be told that they are right",
}
"""Adversarial path -> how the user tests the supporter."""
VOICE = {"plain": "plain words", "short": "few words", "careful": "careful words"}
ENDED = {
    "success": "success: the user feels well",
    "left": "the user left, which counts as emotion 0",
    "cap": "the turn limit was reached",
    "failed": "the user could not be asked",
}
FIT = {
    "against": "it works against what they came for",
    "none": "it does not serve what they came for",
    "partly": "it serves what they came for in part",
    "fully": "it serves what they came for",
}
EFFECT: Mapping[str, tuple[str, str]] = {
    "worth": ("this kind of reply suits them", "this kind of reply does not suit them"),
    "pick_up": ("it takes up what they told",) * 2,
    "confusion": ("it mentions what they never said",) * 2,
    "repetition": ("it repeats earlier words or the user's own",) * 2,
    "fatigue": ("the same kind of reply again",) * 2,
    "form": ("too short, too long or too much at once",) * 2,
    "hurt": ("it hurts",) * 2,
    "doubt": ("they doubt that it is meant well",) * 2,
    "coldness": ("it lacks warmth",) * 2,
    "puzzled": ("it makes no sense to them",) * 2,
    "test": ("they test the supporter",) * 2,
    "momentum": ("the reply before had helped", "the reply before had not helped"),
    "mood": ("their good mood helps", "their low mood persists"),
    "user": ("this user is easy to reach", "this user is hard to reach"),
    "rest": ("who they are, and their state at that time",) * 2,
    "ask": ("it asks",) * 2,
    "say_back": ("it repeats what they told",) * 2,
    "feel_with": ("it feels with them",) * 2,
    "share": ("it tells about itself",) * 2,
    "credit": ("it gives them credit",) * 2,
    "absolve": ("it says that they are not to blame",) * 2,
    "advise": ("it advises",) * 2,
    "explain": ("it explains",) * 2,
    "weigh": ("it considers several sides",) * 2,
    "stay": ("it stays with them",) * 2,
    "remark": ("it makes a remark",) * 2,
    "worn": ("this kind of reply was used too often",) * 2,
    "taken_up": ("it takes up what they told",) * 2,
    "sorry": ("it says sorry",) * 2,
    "beside": ("it ignores what they told",) * 2,
    "too_much": ("it is too much at once",) * 2,
    "before": ("it repeats earlier words",) * 2,
    "drift": ("their mood recovers by itself", "their mood falls back by itself"),
    "chance": ("chance, or the limit of one move",) * 2,
}
"""Part of an appraisal -> the words if it helped, and if not. Other parts are named by key."""
SMALLEST = {"log_odds": 0.25, "points": 0.5}
"""Unit -> the effect below which a part is omitted from a sentence."""
LIKELY = 0.5
UNIT = {
    "log_odds": "in brackets: log-odds of a rise; +0.7 doubles the odds, -0.7 halves them",
    "points": "in brackets: points of emotion",
}
"""Unit -> the explanation of the numbers of `why`."""


def came_for(conversation: SavedConversation) -> str | None:
    """Return `somebody who listens while they vent`, or None if no intention was kept."""
    code = conversation.intention
    return None if code is None else intention(code)


def intention(code: str) -> str:
    """Translate an intention: `venting` -> `somebody who listens while they vent`."""
    return INTENTION.get(code, without_underscores(code))


def describe_user(conversation: SavedConversation) -> str | None:
    """Return `my exam (persona exam), temperament passive, speaks in plain words`, or None if
    nothing about the user was kept.
    """
    name, topic = conversation.persona, conversation.topic
    voice = conversation.voice
    parts = [
        f"{topic} (persona {name})" if name and topic else name or topic,
        conversation.temperament and f"temperament {conversation.temperament}",
        f"speaks in {VOICE.get(voice, without_underscores(voice))}" if voice else None,
        conversation.path and test(conversation.path),
        _reach(conversation),
    ]
    return ", ".join(part for part in parts if part) or None


def test(path: str) -> str:
    """Translate a path: `gaslighting` -> `tests the supporter: denies what was said`."""
    return f"tests the supporter: {TEST.get(path, without_underscores(path))}"


def _reach(conversation: SavedConversation) -> str | None:
    """Return `easy to reach (+0.5 at each reply)`: the user's own part of the appraisals."""
    effects = [t.why.effects.get("user") for t in conversation.turns if t.why is not None]
    effect = next((effect for effect in effects if effect is not None), None)
    if effect is None:
        return None
    return f"{'easy' if effect > 0 else 'hard'} to reach ({effect:+.1f} at each reply)"


def ending(conversation: SavedConversation) -> str:
    """Say how the conversation ended."""
    code = conversation.ended
    if code is None:
        return "end not recorded"
    faults = [t.why.fault for t in conversation.turns if t.why is not None and t.why.fault]
    return ENDED.get(code, without_underscores(code)) + (f" ({faults[-1]})" if faults else "")


def heard_strategies(reply: SavedTurn) -> str | None:
    """Return the distinct strategies that the user heard in a reply, and the sentences it took up.

    Example: `a question; takes up "I failed the exam twice."`. None if neither was kept.
    """
    parts = [] if reply.strategies is None else [strategies(reply.strategies)]
    if reply.taken_up:
        sentences = ", ".join([f'"{sentence}"' for sentence in reply.taken_up])
        parts.append(f"takes up {sentences}")
    return "; ".join(parts) or None


def strategies(codes: Sequence[str]) -> str:
    """Return `a question, affirmation`, without repetitions."""
    return (
        ", ".join(STRATEGY.get(c, without_underscores(c)) for c in dict.fromkeys(codes))
        or "no strategy"
    )


def why_emotion_moved(turn: SavedTurn) -> str | None:
    """Say why the user's emotion moved in this turn; None if that is not known.

    Example: `rose; a rise was 92% likely; for it: this kind of reply suits them (+1.4); against it:
    ...`. The part that depends on the user only is the same in each turn, and `user` states it.
    """
    reasons = turn.why
    if reasons is None:
        return None
    if reasons.fault is not None:
        return f"no answer: {without_underscores(reasons.fault)}"
    parts = [_change_words(turn, reasons), *_effects(reasons)]
    if reasons.not_language is not None:
        parts.append(
            f"not language to them, by the rule {without_underscores(reasons.not_language)}"
        )
    if reasons.fit is not None:
        parts.append(FIT.get(reasons.fit, without_underscores(reasons.fit)))
    if reasons.reason is not None:
        parts.append(f'in their words: "{reasons.reason}"')
    return "; ".join(parts)


def _change_words(turn: SavedTurn, reasons: SavedReasons) -> str:
    """Return `fell, though a rise was 70% likely`."""
    change, chance = turn.change or 0, reasons.rise_probability
    word = "rose" if change > 0 else "fell" if change < 0 else "did not move"
    if chance is None:
        return word
    if change > 0 and chance < LIKELY:
        return f"{word}, though that was only {_percent(chance)} likely"
    link = ", though" if change < 0 and chance > LIKELY else ";"
    return f"{word}{link} a rise was {_percent(chance)} likely"


def _percent(share: float) -> str:
    """Return the percentage, from 1% to 99%, since no random event is certain."""
    return f"{min(99, max(1, math.floor(share * 100 + 0.5)))}%"


def _effects(reasons: SavedReasons) -> Sequence[str]:
    """Return what spoke for a rise and what against it, each with the largest effect first."""
    least = SMALLEST.get(reasons.unit or "", 0.0)
    by_size = sorted(reasons.effects.items(), key=lambda item: -abs(item[1]))
    large = [item for item in by_size if abs(item[1]) >= least and item[0] != "user"]
    in_favour = ", ".join(_effect(*item) for item in large if item[1] > 0)
    against = ", ".join(_effect(*item) for item in large if item[1] < 0)
    parts = [f"for it: {in_favour}"] if in_favour else []
    return [*parts, f"against it: {against}"] if against else parts


def _effect(part: str, effect: float) -> str:
    words = EFFECT.get(part, (without_underscores(part),) * 2)[effect < 0]
    return f"{words} ({effect:+.1f})"
