"""Patterns of words, from files such as cues.tsv, and their matches in a sentence.

A pattern is a sequence of words: `a|b` is one or the other, `@name` a word of a class, `*` any one
word, `_` zero to three words, `^` the beginning and `$` the end of a sentence. Patterns are indexed
by their first words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.simulator.data_files import columns_by_line, require

CUES = Path(__file__).with_name("cues.tsv")
GAP = 3
"""The most words that `_` stands for."""
START, END = "^", "$"
Part = frozenset[str] | None
"""The words that match; None for any word."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """One pattern and its cue."""

    cue: str
    weight: float
    parts: tuple[Part | str, ...]
    """A set of words, None for any word, or `_`."""
    deniable: bool
    """True if a negator before the pattern cancels it, because it contains none itself."""


@dataclass(frozen=True, slots=True)
class PatternMatch:
    """A match of a pattern in a sentence."""

    pattern: Pattern
    at: int
    """Index of the first word, where index 0 is START."""


class Patterns:
    """The patterns of a file, indexed by their first words."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self._by_word: dict[str, list[Pattern]] = {}
        self._by_two: dict[tuple[str, str], list[Pattern]] = {}
        for pattern in patterns:
            first, second = (*pattern.parts, None)[:2]
            for word in first if isinstance(first, frozenset) else ():
                if isinstance(second, frozenset):
                    for other in second:
                        self._by_two.setdefault((word, other), []).append(pattern)
                else:
                    self._by_word.setdefault(word, []).append(pattern)

    def find(self, words: Sequence[str]) -> list[PatternMatch]:
        """Return the matches in a sentence, at most one per pattern and position."""
        row = (START, *words, END)
        by_word, by_two = self._by_word, self._by_two
        matches = []
        for index, word in enumerate(row):
            if word in by_word:
                matches += [
                    PatternMatch(p, index) for p in by_word[word] if _fits(p.parts, row, index)
                ]
            pair = row[index : index + 2]
            if pair in by_two:
                matches += [
                    PatternMatch(p, index) for p in by_two[pair] if _fits(p.parts, row, index)
                ]
        return matches


def _fits(parts: Sequence[Part | str], row: Sequence[str], index: int) -> bool:
    for number, part in enumerate(parts):
        if part == "_":
            following = parts[number + 1 :]
            return any(_fits(following, row, index + gap) for gap in range(GAP + 1))
        if index >= len(row) or (isinstance(part, frozenset) and row[index] not in part):
            return False
        index += 1
    return True


def read(path: Path, cues: Sequence[str], denials: frozenset[str]) -> Patterns:
    """Return the patterns of a file. Raises ConfigError for a malformed file."""
    classes: dict[str, frozenset[str]] = {}
    patterns = []
    rows = columns_by_line(path, ("cue", "weight", "pattern"), {"cue": (*cues, "class")})
    for where, (cue, weight, text) in rows:
        if cue == "class":
            classes[weight] = frozenset(text.split())
            continue
        require(where, "a weight must be a number", _is_number(weight), weight)
        parts = tuple([_part(where, word, classes) for word in text.split()])
        begins_with_words = isinstance(parts[0], frozenset)
        require(where, "a pattern must begin with words", begins_with_words, text)
        has_denial = any(isinstance(part, frozenset) and part <= denials for part in parts)
        patterns.append(Pattern(cue, float(weight), parts, not has_denial))
    return Patterns(patterns)


def _part(where: str, word: str, classes: dict[str, frozenset[str]]) -> Part | str:
    if word in ("*", "_"):
        return None if word == "*" else word
    words: set[str] = set()
    for option in word.split("|"):
        if option.startswith("@"):
            require(where, "a class must stand above its first use", option[1:] in classes, option)
            words |= classes[option[1:]]
        else:
            words.add(option)
    return frozenset(words)


def _is_number(text: str) -> bool:
    return text.removeprefix("-").replace(".", "", 1).isdigit()
