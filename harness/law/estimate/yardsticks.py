"""The end of a run beside reference policies: does its policy hear, and what is that worth?

Columns are those of metrics.jsonl: `eval/X` at the run's own level, `eval/LEVEL/X` at named ones.
Runs of older versions lack most of them, and get None.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from harness.config.run import LEVELS
from harness.law.estimate import numbers
from harness.law.io import clean
from harness.law.io.table import Table
from harness.law.result_parts import Anchors, Yardsticks
from harness.law.results import Floats
from harness.records.metrics import LEAST_WORTH
from harness.records.outcomes import OWN

MEASURES = ("reward", "listening", "deaf_reward", "listening_share", "between_sd")
PREFIX: Mapping[str, str] = {OWN: "eval", **{level: f"eval/{level}" for level in LEVELS}}
COLUMNS = tuple(f"{prefix}/{name}" for prefix in PREFIX.values() for name in MEASURES)
NOT_MEASURED = Anchors()
DIVERSE = 0.5
"""Share of the H of its start above which a policy counts as diverse."""
LISTENS = 0.1
"""Share of what the attentive reference hears, in nats, from which on a policy listens."""


def read(table: Table, anchors: Mapping[str, Anchors], users: Any = None) -> dict[str, Yardsticks]:
    """The yardsticks by OWN and named level, of those where a reward was evaluated.

    `anchors`: by the same keys; `users`: eval.users of the run's config, where that is known.
    """
    met = users if type(users) is int and users > 0 else None
    ends = {level: _at(table, level, anchors.get(level, NOT_MEASURED), met) for level in PREFIX}
    return {level: end for level, end in ends.items() if end is not None}


def _at(table: Table, level: str, anchors: Anchors, users: int | None) -> Yardsticks | None:
    ends = {name: _end(_evaluated(table, f"{PREFIX[level]}/{name}")) for name in MEASURES}
    if ends["reward"] is None:
        return None
    between = ends["between_sd"]
    return Yardsticks(
        reward=ends["reward"],
        listening=ends["listening"],
        deaf_reward=ends["deaf_reward"],
        share=_share(ends, anchors),
        user_se=between / users**0.5 if between is not None and users else None,
        anchors=anchors,
    )


def _evaluated(table: Table, column: str) -> Floats:
    """The column in order of its steps, NaN where it was not measured; empty without it."""
    if column not in table.names:
        return np.empty(0)
    steps = table.columns["step"]
    return table.columns[column][clean.last_of_each_step(steps, np.isfinite(steps))]


def _end(values: Floats) -> float | None:
    """Mean of the last tenth of the measured values, of one at least; None where there is none."""
    measured = values[np.isfinite(values)]
    return numbers.mean(numbers.last_tenth(measured)) if len(measured) else None


def _share(ends: Mapping[str, float | None], anchors: Anchors) -> float | None:
    """The logged share; of runs without one, that of the reward by the anchors."""
    reward, deaf, optimum = ends["reward"], anchors.deaf, anchors.optimum
    if ends["listening_share"] is not None or reward is None or deaf is None or optimum is None:
        return ends["listening_share"]
    worth = optimum.value - deaf.value
    return (reward - deaf.value) / worth if worth >= LEAST_WORTH else None


def policy_verdict(entropy: Floats, end: Yardsticks | None) -> str | None:
    """The verdict on the policy at the end of its run, which says nothing of the law.

    `listens`; `template`, diverse and deaf (arXiv 2604.06268); or `deaf`, its H below half of the
    start's. `entropy`: H at every step, shape (n,), n at least 1. None where listening, or what
    the attentive reference hears at this level, was not measured, or the latter is 0.
    """
    if end is None or end.listening is None or not (end.anchors.attentive_listening or 0) > 0:
        return None
    if end.listening >= LISTENS * (end.anchors.attentive_listening or 0):
        return "listens"
    start, last = entropy[: max(1, len(entropy) // 50)], numbers.last_tenth(entropy)
    return "template" if numbers.mean(last) > DIVERSE * numbers.mean(start) else "deaf"
