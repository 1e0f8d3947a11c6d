"""Classifies a supporter's sentence as one of the eight strategies, from its wording alone.

Unambiguous wordings are rules of the lexicon (lexicon.tsv). All other sentences are classified by
a multinomial logistic regression over `sentence_features`. `benchmarks/strategy_reader.py` fitted
its weights, strategy_weights.tsv, to the sentences in strategy_sentences.tsv and
benchmarks/sentences, which were written from the strategies' definitions (ESConv, arXiv 2106.01144,
section 3). Neither rules nor weights were made from a policy's grammar.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from harness.config.run import STRATEGIES
from harness.simulator.data_files import ANY, require, require_one_of, rows
from harness.simulator.scripted.sentence_features import extract_features
from harness.simulator.scripted.weights import regression
from harness.simulator.scripted.word_classes import CLAUSE_TAKERS
from harness.simulator.scripted.words import FUNCTION_WORDS, asks, words

LEXICON = Path(__file__).with_name("lexicon.tsv")
WEIGHTS = Path(__file__).with_name("strategy_weights.tsv")
NONE = "none"
KINDS = (*STRATEGIES, NONE)
SURE = 0.35
"""Least probability at which a strategy is assigned."""
MIN_WORDS = 3
"""Fewest words of a sentence that can carry a strategy."""
_FILLER = r"(?:and |but |oh |well |then |yes |no |ok |okay |honestly |of course |also |now )*"
_TABLES = {
    "opening": STRATEGIES,
    "phrase": STRATEGIES,
    "question": ANY,
    "restating_question": ANY,
    "dismissive": ANY,
    "off_topic": ANY,
    "demand": ANY,
    "flattery": ANY,
}
"""The keys of each table of the lexicon."""
_PART = re.compile(r"(?<!\?)<(\w+)>")


@dataclass(frozen=True, slots=True)
class LexiconPattern:
    """One pattern of the lexicon."""

    where: str
    """file:line"""
    pattern: str


def read_lexicon(path: Path) -> dict[str, dict[str, list[LexiconPattern]]]:
    """Return the wordings of a lexicon by table and key, in order of first appearance.

    Raises ConfigError for a malformed file.
    """
    parts: dict[str, str] = {}
    lexicon: dict[str, dict[str, list[LexiconPattern]]] = {table: {} for table in _TABLES}
    for row in rows(path):
        pattern = row.text
        for name in _PART.findall(pattern):
            require_one_of(row.where, "named part", name, parts)
            pattern = pattern.replace(f"<{name}>", parts[name])
        if row.table == "let":
            parts[row.key] = pattern
            continue
        require_one_of(row.where, "table", row.table, ("let", *_TABLES))
        require_one_of(row.where, f"key of {row.table}", row.key, _TABLES[row.table])
        lexicon[row.table].setdefault(row.key, []).append(LexiconPattern(row.where, pattern))
    for table, wordings in lexicon.items():
        require(str(path), f"must have rows of {table}", bool(wordings), "none")
    return lexicon


def at_start(wordings: Iterable[LexiconPattern]) -> re.Pattern[str]:
    """Return a pattern for any of `wordings` at the start of a sentence. Raises ConfigError."""
    return _compile(rf"^{_FILLER}(?:%s)(?:\b|(?<= ))", list(wordings))


def anywhere(wordings: Iterable[LexiconPattern]) -> re.Pattern[str]:
    """Return a pattern for any of `wordings` anywhere in a sentence. Raises ConfigError."""
    return _compile(r"\b(?:%s)\b", list(wordings))


def _compile(frame: str, wordings: Sequence[LexiconPattern]) -> re.Pattern[str]:
    """Compile all wordings as one pattern, which is fast, and one by one only to find an error."""
    try:
        return re.compile(frame.replace("%s", "|".join(w.pattern for w in wordings)))
    except re.error:
        for wording in wordings:
            try:
                re.compile(wording.pattern)
            except re.error as error:
                rule = f"must be a regular expression ({error})"
                require(wording.where, rule, False, wording.pattern)
        raise


_Rules = list[tuple[str, re.Pattern[str]]]
_Stock = tuple[int, int, str]
"""End and start of a stock wording, and its strategy."""
_LEXICON = read_lexicon(LEXICON)
_OPENINGS: _Rules = [(name, at_start(wordings)) for name, wordings in _LEXICON["opening"].items()]
_OPENINGS_WITHIN: _Rules = [
    (name, anywhere(wordings)) for name, wordings in _LEXICON["opening"].items()
]
_PHRASES: _Rules = [(name, anywhere(wordings)) for name, wordings in _LEXICON["phrase"].items()]
_QUESTIONS: _Rules = [
    ("suggest", anywhere(_LEXICON["phrase"]["suggest"])),
    ("restate", at_start(_LEXICON["restating_question"]["any"])),
    (
        "question",
        at_start(
            LexiconPattern(w.where, f"(?:so )?(?:{w.pattern})") for w in _LEXICON["question"]["any"]
        ),
    ),
    ("question", anywhere([LexiconPattern("", "tell me more")])),
]
_FLATTERY = anywhere(_LEXICON["flattery"]["any"])
_UNWELCOME = anywhere(
    wording for table in ("dismissive", "off_topic", "demand") for wording in _LEXICON[table]["any"]
)


def strategy_of(sentence: str, kind: str | None = None) -> str | None:
    """Return the strategy of a sentence; None for a fragment, and if none is recognised.

    `kind` is one of KINDS if another reader is sure, and takes precedence over rules and weights.
    """
    sentence_words = words(sentence)
    if len(sentence_words) < MIN_WORDS or FUNCTION_WORDS.isdisjoint(sentence_words):
        return None
    if kind is not None:
        return kind if kind != NONE else None
    rules = _QUESTIONS if asks(sentence) else _OPENINGS
    plain = " ".join(sentence_words)
    by_rule = next((name for name, pattern in rules if pattern.search(plain)), None)
    likely = likeliest(sentence) if len(sentence_words) > MIN_WORDS else None
    if by_rule or likely or asks(sentence):
        return by_rule or likely
    return next((name for _, _, name in _phrases(plain)), None)


def flatters(plain: str) -> bool:
    """Return whether a sentence, in plain words, flatters the user."""
    return _FLATTERY.search(plain) is not None


@lru_cache(maxsize=16384)
def dismisses(sentence: str) -> bool:
    """Return whether a sentence belittles, changes the subject or addresses a machine."""
    return _UNWELCOME.search(" ".join(words(sentence))) is not None


def stock_kinds(clause: list[str]) -> int:
    """Return the number of strategies whose stock wordings a clause strings together."""
    plain, kinds, end = " ".join(clause), set[str](), -1
    for stop, start, name in sorted(_phrases(plain) + _find_stock(plain, _OPENINGS_WITHIN)):
        preceding = plain[:start].split()[-1:]
        if start > end and CLAUSE_TAKERS.isdisjoint(preceding):
            kinds.add(name)
            end = stop
    return len(kinds)


@lru_cache(maxsize=4096)
def _phrases(plain: str) -> tuple[_Stock, ...]:
    """Return the stock phrases in `plain`, in the order of the lexicon."""
    return _find_stock(plain, _PHRASES)


def _find_stock(plain: str, rules: _Rules) -> tuple[_Stock, ...]:
    return tuple(
        (m.end(), m.start(), name) for name, p in rules for m in p.finditer(plain) if m.group()
    )


def probabilities(sentence: str) -> Mapping[str, float]:
    """Return P(kind) for each of KINDS under the logistic regression."""
    chances = regression(WEIGHTS, KINDS).probabilities(extract_features(sentence).features)
    return dict(zip(KINDS, chances, strict=True))


def likeliest(sentence: str) -> str | None:
    """Return the most probable strategy of a sentence under the logistic regression.

    None if `none` is most probable, its probability is below SURE, or no content word is known.
    """
    content = [word for word in words(sentence) if word not in FUNCTION_WORDS]
    if content and not regression(WEIGHTS, KINDS).knows_any(content):
        return None
    chances = probabilities(sentence)
    best = max(chances, key=lambda kind: chances[kind])
    return best if best != NONE and chances[best] >= SURE else None
