"""calibration.VERSION stands for what a difficulty card measures: shipped cards rely on it."""

import hashlib
import json

import numpy as np

from harness import calibration, simulator
from harness.calibration import population, reply_measures
from harness.calibration.contexts import collect_contexts
from harness.calibration.validity import measure as validity
from tests.calibration.levels import LEVELS

MEASURED = {(4, 3): "fd4271d485091cde"}
"""Digest of what a second can measure of a card, by version of calibration and simulator."""


def measured() -> str:
    """Needs expressed, spread within groups, dynamics of emotion and validity, at medium."""
    level = LEVELS["medium"]
    need = reply_measures.measure_need_expression(level, collect_contexts(level))
    spread = population.group_std(level, 8, 10)
    conversations = population.converse_with(range(20), level, population.skilled(0.4))
    dynamics = [
        [decade.emotion, decade.n, decade.mean_change]
        for decade in population.by_decade([conversations])
    ]
    heard = validity.measure(level, "held_out").by_category.values()
    kinder = [round(difference.value, 9) for difference in heard if difference]
    numbers = [np.round(need, 9).tolist(), np.round(spread, 9).tolist(), dynamics, kinder]
    return hashlib.sha256(json.dumps(numbers).encode()).hexdigest()[:16]


def test_cards_measure_what_those_of_their_version_did() -> None:
    due = "cards have changed: raise calibration.VERSION, run `make cards`, and add the new digest"
    assert measured() == MEASURED.get((calibration.VERSION, simulator.VERSION)), due
