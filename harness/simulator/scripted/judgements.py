"""Judgements of a sentence by its wording, which every reader shares."""

from __future__ import annotations

from functools import lru_cache

from harness.simulator.scripted.polarity import APOLOGY, SEVERE, Polarity, polarity_of
from harness.simulator.scripted.recognition import dismisses, strategy_of
from harness.simulator.scripted.sentence_features import extract_features
from harness.utils.record import record


@record
class Judgement:
    """The judgements of one sentence."""

    polarity: Polarity
    strategy: str | None
    dismisses: bool
    """The sentence belittles, changes the subject or addresses a machine."""
    severe: bool
    """The sentence threatens, scorns or encourages self-harm."""
    apologises: bool


@lru_cache(maxsize=16384)
def judge(sentence: str) -> Judgement:
    """Return the judgements of a sentence."""
    kinds = extract_features(sentence).phrase_kinds
    return Judgement(
        polarity_of(sentence),
        strategy_of(sentence),
        dismisses(sentence),
        not kinds.isdisjoint(SEVERE),
        APOLOGY in kinds,
    )
