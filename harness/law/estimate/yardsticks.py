"""Compare the end of a run with reference policies: does the policy listen, and is it worth it?

The columns are `eval/X` of metrics.jsonl at the run's own level and `eval/LEVEL/X` at named
levels. Runs of older versions lack most of them and get None.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from harness.config.run import LEVELS
from harness.law.estimate import numbers
from harness.law.io import clean
from harness.law.io.table import LogTable
from harness.law.result_parts import AnchorRewards, Yardsticks
from harness.law.results import Floats
from harness.records.metrics import LEAST_WORTH
from harness.records.outcomes import OWN

MEASURES = ("reward", "listening", "deaf_reward", "listening_share", "between_sd")
PREFIX: Mapping[str, str] = {OWN: "eval", **{level: f"eval/{level}" for level in LEVELS}}
COLUMNS = tuple(f"{prefix}/{name}" for prefix in PREFIX.values() for name in MEASURES)
NOT_MEASURED = AnchorRewards()
DIVERSE = 0.5
"""A policy is diverse if its H at the end exceeds this share of its H at the start."""
LISTENS = 0.1
"""A policy listens if its listening (nats) is at least this share of the attentive reference's."""


def read(
    table: LogTable, anchors: Mapping[str, AnchorRewards], users: Any = None
) -> dict[str, Yardsticks]:
    """Return level (OWN or a name) -> yardsticks, for the levels with an evaluated reward.

    `anchors` has the same keys. `users` is eval.users of the run's config, if known.
    """
    user_count = users if type(users) is int and users > 0 else None
    ends = {
        level: _level_yardsticks(table, level, anchors.get(level, NOT_MEASURED), user_count)
        for level in PREFIX
    }
    return {level: end for level, end in ends.items() if end is not None}


def _level_yardsticks(
    table: LogTable, level: str, anchors: AnchorRewards, users: int | None
) -> Yardsticks | None:
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


def _evaluated(table: LogTable, column: str) -> Floats:
    """Return the column in order of steps, NaN where not measured; empty if it is missing."""
    if column not in table.names:
        return np.empty(0)
    steps = table.columns["step"]
    return table.columns[column][clean.last_of_each_step(steps, np.isfinite(steps))]


def _end(values: Floats) -> float | None:
    """Return the mean of the last tenth (at least one) of the measured values; None if none."""
    measured = values[np.isfinite(values)]
    return numbers.mean(numbers.last_tenth(measured)) if len(measured) else None


def _share(ends: Mapping[str, float | None], anchors: AnchorRewards) -> float | None:
    """Return the logged share, or else the share computed from the reward and the anchors."""
    reward, deaf, optimum = ends["reward"], anchors.deaf, anchors.optimum
    if ends["listening_share"] is not None or reward is None or deaf is None or optimum is None:
        return ends["listening_share"]
    span = optimum.value - deaf.value
    return (reward - deaf.value) / span if span >= LEAST_WORTH else None


def policy_verdict(entropy: Floats, end: Yardsticks | None) -> str | None:
    """Return the verdict on the policy at the end of its run, which is independent of the law.

    It is `listens`, `template` (diverse but deaf, arXiv 2604.06268) or `deaf` (H at most half of
    its start). `entropy` is H at every step, shape (n,), n at least 1. None if listening or that of
    the attentive reference at this level was not measured, or if the latter is 0.
    """
    if end is None or end.listening is None or not (end.anchors.attentive_listening or 0) > 0:
        return None
    if end.listening >= LISTENS * (end.anchors.attentive_listening or 0):
        return "listens"
    start, last = entropy[: max(1, len(entropy) // 50)], numbers.last_tenth(entropy)
    return "template" if numbers.mean(last) > DIVERSE * numbers.mean(start) else "deaf"
