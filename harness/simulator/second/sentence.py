"""Classifies one sentence of a reply: its act, and the log-odds that it is meant to hurt.

There are two sources. Cues (`cues.tsv`) are hand-written patterns of unambiguous speech acts and of
words of care and cruelty. A multinomial logistic regression has nine outcomes: ESConv's eight
strategies and hurting (`weights.tsv`, fitted by benchmarks/second_reader.py). A negator up to three
words before a cue cancels it, as in VADER (Hutto and Gilbert 2014). A harsh label after a verb of
feeling, thinking or saying is not an insult.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from harness.config.run import STRATEGIES
from harness.simulator.data_files import require
from harness.simulator.second import patterns
from harness.simulator.second.patterns import CUES, PatternMatch
from harness.simulator.second.text import Sentence

ACTS = ("ask", "say_back", "feel_with", "share", "credit", "absolve", "advise", "explain",
        "weigh", "stay", "remark")  # fmt: skip
"""Acts of a sentence. A remark is none of the others and has no worth."""
STRATEGY = {
    "ask": "question", "say_back": "restate", "feel_with": "reflect", "share": "disclose",
    "credit": "affirm", "absolve": "affirm", "advise": "suggest", "explain": "inform",
    "weigh": "inform", "stay": "other", "remark": "other",
}  # fmt: skip
"""The strategy (ESConv) of each act."""
_ACTS_OF = {s: tuple(act for act in ACTS if STRATEGY[act] == s) for s in STRATEGIES}
HARM, LABEL, WARM, SORRY = "harm", "label", "warm", "sorry"
"""Other cues. A label is a harsh name for a person."""
OUTCOMES = (*STRATEGIES, "hurt")
WEIGHTS = Path(__file__).with_name("weights.tsv")
LIKELY, CERTAIN = 0.35, 0.5
"""Probability from which an act without a cue is recognised, and from which a question counts as a
suggestion."""
CUE_SHARE, LATER = 0.7, 0.25
"""Score of a cue at the beginning of a sentence, and the rate at which it decreases by position."""
CUE_NATS = 0.5
"""Nats that a cue of harm with weight 1 adds to the log-odds of hurt."""
_REPORTED = frozenset(
    """feel feels feeling felt call called calling think thinks thinking believe told said say says
    tell telling afraid fear if like though voice thoughts thought i""".split()  # noqa: SIM905
)
"""Words that make a label within the next three words reported speech or a self-description."""
DENIALS = frozenset(
    ["not", "no", "never", "nobody", "none", "nothing", "neither", "nor", "hardly", "without"]
)
DENIED_WITHIN = 3
MOST_WORDS = 60
"""Words of a sentence that the regression reads."""
_YOU = frozenset(["you", "your", "yours", "yourself"])
_I = frozenset(["i", "me", "my", "myself"])
_TABLE = patterns.read(CUES, (*ACTS, HARM, LABEL, WARM, SORRY), DENIALS)


@dataclass(frozen=True, slots=True)
class SentenceScores:
    """The classification of a sentence."""

    act: str | None
    """One of ACTS; None if none is likely."""
    hurt: float
    """Log-odds that the sentence is meant to hurt, in nats."""
    sorry: bool
    """True if the sentence apologises."""


@lru_cache(maxsize=16384)
def judge(sentence: Sentence) -> SentenceScores:
    """Return the classification of a sentence."""
    signs = _signs(sentence)
    shares = _shares(features(sentence, signs))
    warmth, harm = _strength(signs, WARM), _strength(signs, HARM, LABEL)
    hurt = math.log(shares[-1] / (1 - shares[-1])) + CUE_NATS * (harm - 0.3 * warmth)
    sorry = any(match.pattern.cue == SORRY for match in signs)
    return SentenceScores(_act(sentence, signs, shares), hurt, sorry)


def features_of(sentence: Sentence) -> set[str]:
    """Return the regression's features of a sentence."""
    return features(sentence, _signs(sentence))


def features(sentence: Sentence, signs: Collection[PatternMatch]) -> set[str]:
    """Return the features of a sentence: words, plain or negated, pairs of words, and cues.

    `signs` are the cues that are not cancelled. A word up to three words after a negator is a
    feature of its own (`!good`), as in Das and Chen (2001). In a sentence that addresses the user
    (`you`), each word also has a second feature.
    """
    words = _mark_negated(sentence.words[:MOST_WORDS])
    result = {"", *words, *map(" ".join, zip(("^", *words), words, strict=False))}
    result.update([f"#{sign.pattern.cue}" for sign in signs])
    heavy = sum(sign.pattern.weight for sign in signs if sign.pattern.cue in ("harm", "label"))
    result.add(f"#harm {min(3, int(2 * heavy))}")
    result.add(f"#ends {words[-1]}" if words else "#ends")
    if sentence.asks:
        result.add("?")
    if not _YOU.isdisjoint(words):
        result.update([f"you {word} +" for word in words])
    elif not _I.isdisjoint(words):
        result.add("#i")
    return result


def _mark_negated(words: Sequence[str]) -> list[str]:
    words_left, marked = 0, []
    for word in words:
        marked.append(f"!{word}" if words_left and word not in DENIALS else word)
        words_left = DENIED_WITHIN if word in DENIALS else max(0, words_left - 1)
    return marked


@cache
def weights() -> dict[str, tuple[int, ...]]:
    """Return the weights of each feature for OUTCOMES, in hundredths. Raises ConfigError."""
    header, *lines = WEIGHTS.read_text(encoding="utf-8").splitlines()
    rule = f"the columns must be a feature and {', '.join(OUTCOMES)}"
    require(f"{WEIGHTS}:1", rule, header.split("\t")[1:] == list(OUTCOMES), header)
    rows = (line.split("\t") for line in lines)
    return {name: tuple(map(int, values)) for name, *values in rows}


@cache
def known_words() -> frozenset[str]:
    """Return the words that have a weight."""
    return frozenset([name for name in weights() if name.isalpha()])


def _shares(sentence_features: Collection[str]) -> list[float]:
    """Return the probability of each of OUTCOMES."""
    table = weights()
    rows = [table[feature] for feature in sentence_features if feature in table]
    scores = [sum(column) / 100 for column in zip(*rows, strict=True)]
    highest = max(scores)
    odds = [math.exp(score - highest) for score in scores]
    total = sum(odds)
    return [min(max(o / total, 1e-6), 1 - 1e-6) for o in odds]


def _signs(sentence: Sentence) -> list[PatternMatch]:
    """Return the cues in a sentence that are not cancelled."""
    row = (patterns.START, *sentence.words)
    return [match for match in _TABLE.find(sentence.words) if not _is_negated(match, row)]


def _is_negated(match: PatternMatch, row: Sequence[str]) -> bool:
    if not match.pattern.deniable:
        return False
    preceding = row[max(0, match.at - DENIED_WITHIN) : match.at]
    if not DENIALS.isdisjoint(preceding):
        return True
    return match.pattern.cue == LABEL and not _REPORTED.isdisjoint(preceding)


def _strength(signs: Iterable[PatternMatch], *cues: str) -> float:
    """Return the sum of the weights of `cues`; of cues at the same word the largest counts."""
    by_position: dict[int, float] = {}
    for match in signs:
        if match.pattern.cue in cues:
            by_position[match.at] = max(by_position.get(match.at, 0.0), match.pattern.weight)
    return sum(by_position.values())


def _act(sentence: Sentence, signs: Sequence[PatternMatch], shares: Sequence[float]) -> str | None:
    """Return the act of a sentence, or None.

    A question mark decides, except for a likely suggestion. Otherwise an act with cues scores its
    strategy's probability plus its cues, earlier cues more, and competes with the default act of
    the most probable strategy.
    """
    share = dict(zip(STRATEGIES, shares, strict=False))
    if sentence.asks and share["suggest"] < CERTAIN:
        return "ask"
    cue_scores: dict[str, float] = {}
    for match in signs:
        act = match.pattern.cue
        if act in STRATEGY:
            weight = match.pattern.weight / (1 + LATER * match.at)
            cue_scores[act] = cue_scores.get(act, 0.0) + weight
    score = {act: share[STRATEGY[act]] + CUE_SHARE * min(1.0, n) for act, n in cue_scores.items()}
    best = max(STRATEGIES, key=lambda s: share[s])
    default = "remark" if best == "other" else _ACTS_OF[best][0]
    if default not in score and share[best] >= LIKELY:
        score[default] = share[best]
    return max(score, key=lambda act: score[act]) if score else None
