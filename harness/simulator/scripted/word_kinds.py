"""Kinds of words in conversations about distress, and phrases that hurt or comfort.

word_kinds.tsv and phrases.tsv were written from the meaning of the words, not from a corpus.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from harness.simulator.data_files import columns_by_line, require

WORD_KINDS = Path(__file__).with_name("word_kinds.tsv")
PHRASES = Path(__file__).with_name("phrases.tsv")
KINDS = frozenset(
    """bad_trait good_trait bad_feeling good_feeling bad_event good_event dramatize harm care blame
    burden leave worthless trivial weighty normal pretend wrong_memory death secret sexual group
    compare tears laugh demand threat_word revenge guilt_trip moral patience thanks indifferent
    toughen intensify diminish reverse""".split()  # noqa: SIM905
)
"""Kinds of words: `bad_trait` belittles a person, `dramatize` calls distress exaggerated, and so
on; docs/simulator.md has examples of each."""
PHRASE_KINDS: Mapping[str, Sequence[str]] = {
    "hurtful": (
        "insult", "contempt", "victim_blaming", "minimising", "denial_of_feeling", "gaslighting",
        "mockery", "sarcasm", "comparison", "get_over_it", "threat", "coercion", "guilt_tripping",
        "abandonment", "indifference", "moralising", "ridicule_of_tears", "self_harm_encouraged",
        "revenge_encouraged", "sexual_remark", "prejudice", "betrayal_of_confidence", "kind_words",
        "false_praise", "silencing", "toxic_positivity",
    ),
    "caring": (
        "acceptance", "sympathy", "presence", "belief", "praise", "relief_of_blame", "worth",
        "patience", "interest", "offer", "gratitude", "hope", "safety", "self_disclosure",
        "apology",
    ),
    "negated": ("comfort",),
}  # fmt: skip
"""Kinds of phrases by polarity; a `negated` phrase denies a hurt and so comforts."""
ANY, ANY_FEW, FEW = "*", "_", 3
"""Wildcards of a phrase: ANY matches exactly one word, ANY_FEW matches 0 to FEW words."""
_END = ""
_Trie = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PhraseMatch:
    """A match of a phrase in a list of words."""

    start: int
    end: int
    """`start` is the index of the first word, `end` the index after the last word."""
    polarity: str
    kind: str


@cache
def word_kinds() -> Mapping[str, tuple[str, ...]]:
    """Return the kinds of each word, likeliest first. Raises ConfigError for a malformed file."""
    table, parsed = {}, dict[str, tuple[str, ...]]()
    rows = columns_by_line(WORD_KINDS, ("word", "kinds"), {})
    for where, (word, listed) in rows:
        if listed not in parsed:
            kinds = tuple(listed.split(","))
            require(where, "kinds must be known ones", KINDS.issuperset(kinds), listed)
            parsed[listed] = kinds
        table[word] = parsed[listed]
    return table


def phrases_in(words: Sequence[str]) -> Iterator[PhraseMatch]:
    """Yield all matches of phrases in `words`, including overlapping ones."""
    count = len(words)
    for start, word in enumerate(words):
        stack = [(root, start) for root in (_trie(ANY_FEW), _trie(ANY), _trie(word)) if root]
        while stack:
            node, index = stack.pop()
            for polarity, kind in node.get(_END, ()):
                yield PhraseMatch(start, index, polarity, kind)
            if index < count:
                if words[index] in node:
                    stack.append((node[words[index]], index + 1))
                if ANY in node:
                    stack.append((node[ANY], index + 1))


@cache
def _by_first_word() -> Mapping[str, list[tuple[str, str, str]]]:
    """Return (polarity, kind, phrase) of each row by first word. Raises ConfigError."""
    allowed = {"polarity": tuple(PHRASE_KINDS)}
    by_first_word: dict[str, list[tuple[str, str, str]]] = {}
    rows = columns_by_line(PHRASES, ("polarity", "kind", "phrase"), allowed)
    for where, (polarity, kind, phrase) in rows:
        is_known = kind in PHRASE_KINDS[polarity]
        require(where, f"kind must be one of {polarity} phrases", is_known, kind)
        by_first_word.setdefault(phrase.partition(" ")[0], []).append((polarity, kind, phrase))
    return by_first_word


@lru_cache(maxsize=16384)
def _trie(first: str) -> _Trie:
    """Return the trie of the phrases that begin with `first`. Built on first use of that word."""
    root: _Trie = {}
    for polarity, kind, phrase in _by_first_word().get(first, ()):
        for words in _expand(phrase.split()):
            node = root
            for word in words:
                node = node.setdefault(word, {})
            node.setdefault(_END, []).append((polarity, kind))
    return root


def _expand(pattern: Sequence[str]) -> list[list[str]]:
    """Return the pattern expanded once for each number of words that ANY_FEW may match."""
    expansions: list[list[str]] = [[]]
    for word in pattern:
        fillings = [[ANY] * n for n in range(FEW + 1)] if word == ANY_FEW else [[word]]
        expansions = [expansion + filling for expansion in expansions for filling in fillings]
    return expansions
