"""Why a reply helped or hurt, in one word, so that what the user says of it follows from it."""

from __future__ import annotations

from harness.simulator.scripted import appraisal, dynamics
from harness.simulator.scripted.appraisal import Appraisal
from harness.simulator.scripted.dynamics import LATE_TRUST
from harness.simulator.scripted.questions import Question
from harness.simulator.scripted.reading import Reading
from harness.simulator.state import State

_ADVISES = frozenset(["suggest", "inform"])


def of_rise(parts: Appraisal, reading: Reading, question: Question | None, state: State) -> str:
    """Return what helped, one of lines.RISES: what was taken up, the strategy, or neither."""
    last = reading.strategies[-1] if reading.strategies else None
    if question is not None and question.wants_telling:
        return "safe" if question.subject == "safe" else "question"
    if last is None or parts.worth + parts.extra < 0:
        return "anyway"
    if not reading.feelings.isdisjoint(state.disclosed.feelings):
        return "named" if last == "reflect" else last
    if last in ("restate", "other") and parts.pick_up >= appraisal.FRESH_FACT:
        return "taken_up"
    return last


def of_fall(parts: Appraisal, reading: Reading, question: Question | None, state: State) -> str:
    """Return what the reply failed by, one of lines.FALLS: the part that cost most."""
    if parts.hurt < 0:
        return "hurt"
    if question is not None and question.wants_telling:
        if question.subject == "safe":
            return "safe"
        return "asked_again" if parts.fatigue <= -dynamics.PREVIOUS else "question"
    last = reading.strategies[-1] if reading.strategies else None
    unfit = "empty" if last is None else last
    if last in _ADVISES and state.trust < LATE_TRUST:
        unfit = "early"
    costs = {
        unfit: dynamics.FIT_WEIGHT * parts.worth,
        "misread": parts.confusion,
        "again": parts.repetition,
        "tired": parts.fatigue,
        "cold": parts.coldness,
        "wary": parts.doubt,
        "short" if reading.word_count < appraisal.FEW_WORDS else "long": parts.form,
    }
    worst = min(costs, key=lambda reason: costs[reason])
    return worst if costs[worst] < 0 else "anyway"
