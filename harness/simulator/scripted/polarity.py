"""Classifies a supporter's sentence as caring, neutral or hurtful, from its wording alone.

The model is a multinomial logistic regression over `sentence_features`.
`benchmarks/polarity_reader.py` fitted its weights, polarity_weights.tsv, to the labelled sentences
in benchmarks/sentences.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from harness.simulator.scripted.sentence_features import extract_features
from harness.simulator.scripted.weights import regression

WEIGHTS = Path(__file__).with_name("polarity_weights.tsv")
POLARITIES = ("caring", "neutral", "hurtful")
SUREST = 1e-9
"""Least probability in log-odds, which keeps them finite."""
SEVERE, APOLOGY = frozenset(["threat", "contempt", "self_harm_encouraged"]), "apology"
"""Kinds of phrases that end trust, and the kind that restores some."""


@dataclass(frozen=True, slots=True)
class Polarity:
    """Probabilities that a sentence is caring, neutral or hurtful; they sum to 1."""

    caring: float
    neutral: float
    hurtful: float

    @property
    def hurt_log_odds(self) -> float:
        """Log-odds that the sentence is hurtful, in nats."""
        odds = max(self.hurtful, SUREST) / max(self.caring + self.neutral, SUREST)
        return math.log(odds)


def polarity_of(sentence: str) -> Polarity:
    """Return the polarity of a sentence by its wording."""
    return Polarity(
        *regression(WEIGHTS, POLARITIES).probabilities(extract_features(sentence).features)
    )
