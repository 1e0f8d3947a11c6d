"""What is found in a sentence by its wording, whoever reads it."""

from __future__ import annotations

from functools import lru_cache

from harness.simulator.scripted.polarity import APOLOGY, SEVERE, Polarity, polarity_of
from harness.simulator.scripted.recognition import dismisses, strategy_of
from harness.simulator.scripted.sentence_features import wording_of
from harness.utils.record import record


@record
class Judgement:
    """What is found in a sentence by its wording."""

    polarity: Polarity
    strategy: str | None
    dismisses: bool
    """It belittles or leaves the subject."""
    severe: bool
    """It threatens, scorns or encourages self-harm."""
    apologises: bool


@lru_cache(maxsize=16384)
def judged(sentence: str) -> Judgement:
    """Return what is found in a sentence."""
    kinds = wording_of(sentence).phrase_kinds
    return Judgement(
        polarity_of(sentence),
        strategy_of(sentence),
        dismisses(sentence),
        not kinds.isdisjoint(SEVERE),
        APOLOGY in kinds,
    )
