"""Whether a supporter's sentence is caring, neutral or hurtful, from its wording alone.

A multinomial logistic regression over `sentence_features`. polarity_weights.tsv holds what
`benchmarks/polarity_reader.py` learnt from the labelled sentences in benchmarks/sentences.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

from harness.simulator.scripted.sentence_features import features

WEIGHTS = Path(__file__).with_name("polarity_weights.tsv")
POLARITIES = ("caring", "neutral", "hurtful")
SEVERE, APOLOGY = frozenset(["threat", "contempt", "self_harm_encouraged"]), "apology"
"""Kinds of phrases that end trust, and the one that repairs some."""


@dataclass(frozen=True, slots=True)
class Polarity:
    """How a sentence is meant: probabilities that sum to 1."""

    caring: float
    neutral: float
    hurtful: float

    @property
    def hurt_log_odds(self) -> float:
        """Log-odds that the sentence is hurtful, in nats."""
        return math.log(self.hurtful / (1 - self.hurtful))


@lru_cache(maxsize=65536)
def polarity_of(sentence: str) -> Polarity:
    """How likely a sentence is caring, neutral and hurtful."""
    weights = _weights()
    rows = [weights[feature] for feature in features(sentence) & weights.keys()]
    scores = [sum(column) for column in zip(*rows, strict=True)]
    most = max(scores)
    odds = [math.exp((score - most) / 100) for score in scores]
    total = sum(odds)
    return Polarity(*(o / total for o in odds))


@cache
def _weights() -> dict[str, tuple[int, int, int]]:
    """By feature, a hundred times its weight for each of POLARITIES.

    Whole numbers: their sum is the same in any order.
    """
    lines = WEIGHTS.read_text(encoding="utf-8").splitlines()[1:]
    cells = (line.split("\t") for line in lines)
    return {name: (int(c), int(n), int(h)) for name, c, n, h in cells}
