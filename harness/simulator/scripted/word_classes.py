"""Closed word classes of English, and word pairs that English excludes, from word_classes.tsv."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.simulator.data_files import require, require_one_of, rows

FILE = Path(__file__).with_name("word_classes.tsv")


def read(path: Path) -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """Return the classes by name, and the words that cannot follow a word, by word.

    Raises ConfigError for a malformed file.
    """
    classes: dict[str, frozenset[str]] = {}
    never: dict[str, frozenset[str]] = {}
    for row in rows(path):
        require_one_of(row.where, "table", row.table, ("class", "never"))
        members = _members(row.where, row.text, classes)
        if row.table == "class":
            capitals = row.key.isupper()
            require(row.where, "a class must have a name in capitals", capitals, row.key)
            classes[row.key] = classes.get(row.key, frozenset()) | members
        else:
            for word in _members(row.where, row.key, classes):
                never[word] = never.get(word, frozenset()) | members
    return classes, never


def _members(where: str, text: str, classes: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Return the words of `text`: words and members of named classes, without any `-word`."""
    added, removed = set[str](), set[str]()
    for token in text.split():
        if token.isupper():
            require_one_of(where, "class", token, classes)
            added |= classes[token]
        elif token.startswith("-"):
            removed.add(token[1:])
        else:
            added.add(token)
    for word in sorted(removed - added):
        require(where, "-word must take out a word of a class", False, word)
    return frozenset(added - removed)


_CLASSES, FORBIDDEN = read(FILE)
"""FORBIDDEN maps a word to the words that cannot follow it."""
ADJECTIVES = _CLASSES["ADJECTIVES"]
ARTICLES = _CLASSES["ARTICLES"]
BASES = _CLASSES["BASES"]
BE = _CLASSES["BE"]
CLAUSE_TAKERS = _CLASSES["CLAUSE_TAKERS"]
FINITE = _CLASSES["FINITE"]
INFINITIVE_TAKERS = _CLASSES["INFINITIVE_TAKERS"]
INVERTED = _CLASSES["INVERTED"]
JOINTS = _CLASSES["JOINTS"]
LICENCES = _CLASSES["LICENCES"]
MODALS = _CLASSES["MODALS"]
MORE_VERBS = _CLASSES["MORE_VERBS"]
NOUNS = _CLASSES["NOUNS"]
PREPOSITIONS = _CLASSES["PREPOSITIONS"]
PRONOUNS = _CLASSES["PRONOUNS"]
QUESTIONS = _CLASSES["QUESTIONS"]
S_FORMS = _CLASSES["S_FORMS"]
SUBJECTS = _CLASSES["SUBJECTS"]
VERBS = _CLASSES["VERBS"]
