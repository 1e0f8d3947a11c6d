"""Generates replies from PHRASES, whose slots are filled with the user's own words."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

from harness.config.run import STRATEGIES
from harness.policy.listening import FACT_SHAPE, TOPIC_SHAPE, Mentions, listen
from harness.policy.phrases import PHRASES, POOR, TAKING_UP

Draw = Callable[[], float]
"""Returns a new uniform number in [0, 1) at every call."""

POOR_SHARE = 0.02
TWO_STRATEGIES_SHARE = 0.1
NEWEST_SHARE = 0.95
"""Share of slots filled with the newest mention instead of an older one."""
FACTS_SHARE = 0.65
"""Share of facts, as opposed to topics, in the sentences of `saying_back`."""

NARROW = ("question", "disclose", "affirm")
"""Strategies of a narrow start policy, which does not advise. It is one of the triples with which
policy=tabular earns as much as with all strategies, at each level."""
WIDE_SHARE = 0.08
"""Share of a narrow start policy's replies drawn from all strategies, because a strategy that is
never sampled cannot be learnt."""

_ENDS = re.compile(r"(?<=[.?!])\s+")
_SLOTS = {"clause": FACT_SHAPE, "topic": TOPIC_SHAPE, "feeling": "[a-z]+"}


def speak(strategy: str, messages: Sequence[str], draw: Draw) -> str:
    """Return a sentence of `strategy` for a user who wrote `messages`, newest last.

    Raises KeyError for an unknown strategy.
    """
    return say(strategy, listen(messages), draw)


def say(strategy: str, mentions: Mentions, draw: Draw) -> str:
    """Return a sentence of `strategy` with slots filled from `mentions`."""
    return _fill(PHRASES[strategy], mentions, draw)


def take_up(strategy: str, mentions: Mentions, previous: AbstractSet[str], draw: Draw) -> str:
    """Return a sentence of `strategy` about the user's newest fact.

    It is none of `previous` if possible. Without a fact it is that of `say`. Uses one draw, or the
    draws of `say`.
    """
    if not mentions.facts:
        return say(strategy, mentions, draw)
    sentences = new = _sentences_about(strategy, mentions.facts[-1])
    if not previous.isdisjoint(sentences):
        new = tuple([s for s in sentences if s not in previous]) or sentences
    return new[int(draw() * len(new))]


@lru_cache(maxsize=4096)
def _sentences_about(strategy: str, fact: str) -> tuple[str, ...]:
    """Return all sentences of `strategy` that take up `fact`."""
    return tuple([phrase.format(clause=fact) for phrase in TAKING_UP[strategy]])


def random_reply(messages: Sequence[str], draw: Draw, width: str = "all") -> str:
    """Return a reply of an undecided supporter: one or two random strategies, or rarely a poor one.

    `width` is one of harness.config.policy.WIDTHS.
    """
    if draw() < POOR_SHARE:
        return _fill(POOR, listen(messages), draw)
    strategies = _strategies(width, draw)
    first = int(draw() * len(strategies))
    reply = speak(strategies[first], messages, draw)
    if draw() >= TWO_STRATEGIES_SHARE:
        return reply
    second = (first + 1 + int(draw() * (len(strategies) - 1))) % len(strategies)
    return f"{reply} {speak(strategies[second], messages, draw)}"


def _strategies(width: str, draw: Draw) -> Sequence[str]:
    """Return the strategies for a reply. Uses a draw only for a narrow width."""
    return NARROW if width == "narrow" and draw() >= WIDE_SHARE else STRATEGIES


def saying_back(messages: Sequence[str], draw: Draw, width: str = "all") -> str:
    """Return two sentences of random strategies, each with a fact or topic if one was mentioned.

    `width` is as in `random_reply`.
    """
    mentions, strategies = listen(messages), _strategies(width, draw)
    phrases = tuple(
        phrase for name, group in PHRASES.items() if name in strategies for phrase in group
    )
    sentences = []
    for _ in range(2):
        fact = mentions.facts and (not mentions.topics or draw() < FACTS_SHARE)
        slot = "{clause}" if fact else "{topic}" if mentions.topics else ""
        sentences.append(
            _fill(tuple(phrase for phrase in phrases if slot in phrase), mentions, draw)
        )
    return " ".join(sentences)


def covers(text: str, messages: Sequence[str] | None = None) -> bool:
    """Return whether the grammar can generate each sentence of `text`.

    With `messages`, slots must contain what the user said; without it, any words of the right form.
    """
    mentions = None if messages is None else listen(messages)
    sentences = _ENDS.split(text.strip())
    return bool(text.strip()) and all(_covers_sentence(s, mentions) for s in sentences)


def slots(text: str, messages: Sequence[str]) -> list[tuple[str, bool]]:
    """Return (slot, whether it contains what the user said) for each slot in `text`.

    If a sentence matches several phrases, the one with the fewest wrong slots counts.
    """
    mentions = listen(messages)
    filled: list[tuple[str, bool]] = []
    for sentence in _ENDS.split(text.strip()):
        readings = [
            [(name, value in _values(name, mentions)) for name, value in match.groupdict().items()]
            for pattern in _patterns()
            if (match := pattern.fullmatch(sentence))
        ]
        if readings:
            filled += min(readings, key=lambda slots: sum(not right for _, right in slots))
    return filled


def slot_spans(text: str, messages: Sequence[str]) -> list[tuple[int, int]]:
    """Return (start, end) of each slot in sentences whose slots all hold what the user said."""
    mentions = listen(messages)
    spans: list[tuple[int, int]] = []
    start = 0
    for sentence in _ENDS.split(text):
        for pattern in _patterns():
            match = pattern.fullmatch(sentence)
            if match and _all_mentioned(match.groupdict(), mentions):
                slots = range(1, match.re.groups + 1)
                spans += [(start + match.start(slot), start + match.end(slot)) for slot in slots]
                break
        start += len(sentence) + 1
    return spans


def _fill(phrases: tuple[str, ...], mentions: Mentions, draw: Draw) -> str:
    facts, topics, feelings = mentions.facts, mentions.topics, mentions.feelings
    candidates = _fitting_phrases(phrases, bool(facts), bool(topics), bool(feelings))
    phrase = candidates[int(draw() * len(candidates))]
    values = {
        "clause": ("{clause}" in phrase) and _choose(facts, draw),
        "topic": ("{topic}" in phrase) and _choose(topics, draw),
        "feeling": ("{feeling}" in phrase) and _choose(feelings, draw),
    }
    return phrase.format(**values)


@lru_cache(maxsize=256)
def _fitting_phrases(
    phrases: tuple[str, ...], facts: bool, topics: bool, feelings: bool
) -> tuple[str, ...]:
    """Return the phrases whose slots can be filled. Every strategy has one without a slot."""
    available = {"{clause}": facts, "{topic}": topics, "{feeling}": feelings}
    return tuple(p for p in phrases if all(has for slot, has in available.items() if slot in p))


def _choose(values: tuple[str, ...], draw: Draw) -> str:
    """Return one of `values`, mostly the newest."""
    if len(values) == 1 or draw() < NEWEST_SHARE:
        return values[-1]
    return values[int(draw() * (len(values) - 1))]


def _covers_sentence(sentence: str, mentions: Mentions | None) -> bool:
    return any(
        mentions is None or _all_mentioned(match.groupdict(), mentions)
        for pattern in _patterns()
        if (match := pattern.fullmatch(sentence))
    )


def _all_mentioned(slots: dict[str, str], mentions: Mentions) -> bool:
    return all(value in _values(name, mentions) for name, value in slots.items())


def _values(slot: str, mentions: Mentions) -> tuple[str, ...]:
    return {"clause": mentions.facts, "topic": mentions.topics, "feeling": mentions.feelings}[slot]


@lru_cache(maxsize=1)
def _patterns() -> tuple[re.Pattern[str], ...]:
    phrases = [
        phrase for table in (PHRASES, TAKING_UP) for group in table.values() for phrase in group
    ]
    phrases += POOR
    return tuple(re.compile(_pattern(phrase)) for phrase in phrases)


def _pattern(phrase: str) -> str:
    parts = re.split(r"\{(\w+)\}", phrase)
    return "".join(
        f"(?P<{part}>{_SLOTS[part]})" if index % 2 else re.escape(part)
        for index, part in enumerate(parts)
    )
