"""Slips of the keyboard: a letter dropped, doubled or swapped with the next, read as it was meant.

Only a word nobody is known to use is corrected, into the commonest known word a slip away.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache, lru_cache
from pathlib import Path

from harness.simulator.people import EVERYONE

SHORTEST = 4
"""Shorter words are too close to one another."""
LONGEST = 20
_WORD = re.compile(r"[a-z]+")
_SENTENCES = Path(__file__).with_name("strategy_sentences.tsv")


@lru_cache(maxsize=65536)
def meant(word: str) -> str:
    """The commonest known word that `word` is a slip away from; `word` itself if there is none."""
    known = _known()
    if len(word) < SHORTEST or len(word) > LONGEST or word in known:
        return word
    nearby = _shortened(word, doubled=True) | _swaps(word)
    found = {near for near in nearby if near in known} | _one_letter_short().get(word, frozenset())
    return max(found, key=lambda near: (known[near], near), default=word)


def _shortened(word: str, doubled: bool) -> set[str]:
    places = range(1, len(word))
    return {word[:n] + word[n + 1 :] for n in places if not doubled or word[n] == word[n - 1]}


def _swaps(word: str) -> set[str]:
    places = range(len(word) - 1)
    return {word[:n] + word[n + 1] + word[n] + word[n + 2 :] for n in places}


@cache
def _known() -> Counter[str]:
    """How often each word is used in the natural sentences and by the users."""
    texts = [_SENTENCES.read_text(encoding="utf-8")]
    texts += [" ".join((p.topic, *p.facts, *p.feelings)) for p in EVERYONE]
    return Counter(w for text in texts for w in _WORD.findall(text.lower()))


@cache
def _one_letter_short() -> dict[str, frozenset[str]]:
    """Known words by what is left of them when a letter is dropped, but the first or the last:
    `cheer` is not a slip of `cheers`."""
    found: dict[str, frozenset[str]] = {}
    for word in _known():
        if len(word) > SHORTEST:
            for short in _shortened(word, doubled=False) - {word[:-1]}:
                found[short] = found.get(short, frozenset()) | {word}
    return found
