"""Whether a supporter's sentence is caring, neutral or hurtful, from its wording alone.

A multinomial logistic regression over `sentence_features`. polarity_weights.tsv holds what
`benchmarks/polarity_reader.py` learnt from the labelled sentences in benchmarks/sentences.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from harness.simulator.scripted import weights
from harness.simulator.scripted.sentence_features import wording_of

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


def polarity_of(sentence: str) -> Polarity:
    """Return how likely a sentence is caring, neutral and hurtful, by its wording."""
    return Polarity(*weights.probabilities(WEIGHTS, wording_of(sentence).features))
