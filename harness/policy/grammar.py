"""How a strategy is put into words: a sentence of PHRASES, its slots the user's own words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from harness.config.run import STRATEGIES
from harness.policy.listening import FACT_SHAPE, TOPIC_SHAPE, Heard, listen
from harness.policy.phrases import PHRASES, POOR

Draw = Callable[[], float]
"""A uniform number in [0, 1), a new one at every call."""

POOR_SHARE = 0.06
TWO_STRATEGIES_SHARE = 0.35
NEWEST_SHARE = 0.75
"""How often a slot takes what was said last, not something from before."""

_ENDS = re.compile(r"(?<=[.?!])\s+")
_SLOTS = {"clause": FACT_SHAPE, "topic": TOPIC_SHAPE, "feeling": "[a-z]+"}


def speak(strategy: str, heard: Sequence[str], draw: Draw) -> str:
    """A sentence of `strategy` for a user who said `heard`, newest last.

    Raises KeyError for an unknown strategy.
    """
    return say(strategy, listen(heard), draw)


def say(strategy: str, known: Heard, draw: Draw) -> str:
    """The same to a user of whom so much is known."""
    return _fill(PHRASES[strategy], known, draw)


def random_reply(heard: Sequence[str], draw: Draw) -> str:
    """What an undecided supporter says: one or two strategies at random, rarely something poor."""
    if draw() < POOR_SHARE:
        return _fill(POOR, listen(heard), draw)
    first = int(draw() * len(STRATEGIES))
    reply = speak(STRATEGIES[first], heard, draw)
    if draw() >= TWO_STRATEGIES_SHARE:
        return reply
    second = (first + 1 + int(draw() * (len(STRATEGIES) - 1))) % len(STRATEGIES)
    return f"{reply} {speak(STRATEGIES[second], heard, draw)}"


def covers(text: str, heard: Sequence[str] | None = None) -> bool:
    """Whether each sentence of `text` is one of the grammar's.

    With `heard`, slots must hold what the user said; without, any words of the right shape.
    """
    known = None if heard is None else listen(heard)
    found = _ENDS.split(text.strip())
    return bool(text.strip()) and all(_covers_sentence(s, known) for s in found)


def slots(text: str, heard: Sequence[str]) -> list[tuple[str, bool]]:
    """Each slot of the grammar's sentences in `text`, and whether it holds what the user said.

    Where a sentence fits several phrases, the reading with the fewest slots wrongly filled counts.
    """
    known = listen(heard)
    found: list[tuple[str, bool]] = []
    for sentence in _ENDS.split(text.strip()):
        readings = [
            [(name, value in _values(name, known)) for name, value in match.groupdict().items()]
            for pattern in _patterns()
            if (match := pattern.fullmatch(sentence))
        ]
        if readings:
            found += min(readings, key=lambda slots: sum(not right for _, right in slots))
    return found


def _fill(phrases: tuple[str, ...], heard: Heard, draw: Draw) -> str:
    fitting = _fitting(phrases, bool(heard.facts), bool(heard.topics), bool(heard.feelings))
    phrase = fitting[int(draw() * len(fitting))]
    values = {
        "clause": ("{clause}" in phrase) and _choose(heard.facts, draw),
        "topic": ("{topic}" in phrase) and _choose(heard.topics, draw),
        "feeling": ("{feeling}" in phrase) and _choose(heard.feelings, draw),
    }
    return phrase.format(**values)


@lru_cache(maxsize=256)
def _fitting(
    phrases: tuple[str, ...], facts: bool, topics: bool, feelings: bool
) -> tuple[str, ...]:
    """The phrases whose slots can be filled; every strategy has at least one without a slot."""
    there = {"{clause}": facts, "{topic}": topics, "{feeling}": feelings}
    return tuple(p for p in phrases if all(has for slot, has in there.items() if slot in p))


def _choose(values: tuple[str, ...], draw: Draw) -> str:
    """Mostly the newest."""
    if len(values) == 1 or draw() < NEWEST_SHARE:
        return values[-1]
    return values[int(draw() * (len(values) - 1))]


def _covers_sentence(sentence: str, known: Heard | None) -> bool:
    return any(
        known is None or _said(match.groupdict(), known)
        for pattern in _patterns()
        if (match := pattern.fullmatch(sentence))
    )


def _said(slots: dict[str, str], known: Heard) -> bool:
    return all(value in _values(name, known) for name, value in slots.items())


def _values(slot: str, known: Heard) -> tuple[str, ...]:
    return {"clause": known.facts, "topic": known.topics, "feeling": known.feelings}[slot]


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], ...]:
    phrases = [p for own in PHRASES.values() for p in own] + list(POOR)
    return tuple(re.compile(_pattern(p)) for p in phrases)


def _pattern(phrase: str) -> str:
    parts = re.split(r"\{(\w+)\}", phrase)
    return "".join(
        f"(?P<{part}>{_SLOTS[part]})" if number % 2 else re.escape(part)
        for number, part in enumerate(parts)
    )
