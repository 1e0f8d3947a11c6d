"""How a user puts things: which line, and in whose manner."""

from __future__ import annotations

import re
from collections.abc import Sequence

from harness.config.run import EMOTIONAL_INTENTIONS
from harness.simulator.draws import pick
from harness.simulator.scripted import lines, need_lines
from harness.simulator.scripted.lines import Lines
from harness.simulator.scripted.words import content
from harness.simulator.state import User

LOW, LIGHTER, MET = 35, 60, 70
"""Emotions: below the first feelings are strong, from the second on they fade, and from the third
on a need weighs less."""
_CONTRACTIONS = (
    ("I am", "I'm"), ("It is", "It's"), ("it is", "it's"), ("That is", "That's"),
    ("that is", "that's"), ("There is", "There's"), ("there is", "there's"), ("do not", "don't"),
    ("Do not", "Don't"), ("does not", "doesn't"), ("did not", "didn't"), ("have not", "haven't"),
    ("has not", "hasn't"), ("are not", "aren't"), ("cannot", "can't"), ("is not", "isn't"),
    ("You are", "You're"), ("you are", "you're"),
)  # fmt: skip
_SHORT = dict(_CONTRACTIONS)
_LONG = {short: long for long, short in _CONTRACTIONS}
_TO_SHORTEN = re.compile(rf"\b(?:{'|'.join(_SHORT)})\b(?= \w)")
_TO_OPEN = re.compile(rf"\b(?:{'|'.join(_LONG)})\b")


def manner(text: str, voice: str) -> str:
    """`text` as this user says it: who talks in short sentences contracts, the others do not."""
    return _TO_SHORTEN.sub(lambda m: _SHORT[m.group()], text) if voice == "short" else text


def opened(text: str) -> str:
    """The contractions of `manner` undone."""
    return _TO_OPEN.sub(lambda m: _LONG[m.group()], text)


def opener(user: User, u: Sequence[float]) -> str:
    """The first sentence: the topic, unless the first fact is about to name it again."""
    persona = user.persona
    named_at_once = not content(persona.topic).isdisjoint(content(persona.facts[0]))
    if named_at_once and u[0] < 0.5:
        return pick(lines.OPENERS_WITHOUT_TOPIC[persona.voice], u[1])
    return pick(lines.OPENERS[persona.voice], u[1]).format(t=persona.topic)


def reaction(change: int, after: str | None, hurt: bool, shows: bool, user: User, u: float) -> str:
    """What the user says to a reply whose last strategy was `after`.

    A change that does not show sounds neutral.
    """
    asked = after == "question"
    if not shows or change == 0:
        return pick(lines.FLAT_AFTER_A_QUESTION if asked else lines.FLAT, u)
    if hurt and change < 0:
        return pick(lines.HURT[user.temperament], u)
    rises = change > 0
    pool = (lines.RISE_AFTER if rises else lines.FALL_AFTER)[after] if after else ()
    if not asked:  # an answer begins with neither thanks nor yes
        pool += (lines.RISE if rises else lines.FALL)[user.persona.voice]
        pool += (lines.RISE_OF if rises else lines.FALL_OF)[user.temperament]
    return pick(pool, u)


def puzzled(u: float) -> str:
    return pick(lines.PUZZLED, u)


def feeling(word: str, told: bool, emotion: int, u: float) -> str:
    """`word`, a feeling already told or a new one; who feels lighter only speaks of those told."""
    band = 0 if emotion < LOW else 1 if emotion < LIGHTER or not told else 2
    return pick((lines.TOLD_FEELING if told else lines.NEW_FEELING)[band], u).format(e=word)


def need(shown: str, intention: str, emotion: int, said: Sequence[str], u: float) -> str:
    """A line that bears on what the user came for, and not one of the latest in `said`."""
    met = emotion >= MET
    if shown == "oblique":
        kind = "emotional" if intention in EMOTIONAL_INTENTIONS else "rational"
        pool = need_lines.OBLIQUE[kind]["met" if met else "heavy"]
    else:
        pool = need_lines.NEED["met" if met else shown][intention]
    latest = said[-(len(pool) - 1) :]
    if not latest:
        return pick(pool, u)
    return pick(tuple([line for line in pool if line not in latest]), u)


def farewell(ended: str, hurt: bool, user: User) -> str:
    """The last words of a talk."""
    if ended == "left" and hurt:
        return lines.STORMS_OFF[user.temperament]
    return lines.FAREWELL[ended][user.persona.voice]


def shows_attitude(text: str) -> bool:
    """Whether the first sentence of `text` says how the reply was taken."""
    return not text.startswith(_UNREADABLE)


def speaks_of_need(text: str) -> bool:
    """Whether a line in `text` bears on what the user came for."""
    plain = opened(text)
    return any(line in plain for line in NEED_LINES)


def _all(tables: Sequence[dict[str, Lines]]) -> Lines:
    return tuple(line for table in tables for some in table.values() for line in some)


NEED_LINES = _all([*need_lines.NEED.values(), *need_lines.OBLIQUE.values()])
_UNREADABLE = tuple(
    manner(line, voice)
    for line in (*lines.FLAT, *lines.FLAT_AFTER_A_QUESTION, *lines.PUZZLED)
    for voice in ("plain", "short")
)
