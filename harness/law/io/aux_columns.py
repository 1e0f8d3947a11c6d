"""The columns of a log beside H and R: what each is for, and its values on the rows that count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.law.io.clean import HIGHEST_ENTROPY_NATS, Cleaned
from harness.law.io.reading import Table
from harness.law.results import Floats

PROBE = "entropy/probe"
ENTROPY_SE = "entropy_se"
ZERO_VARIANCE = "frac_reward_zero_std"
SILENT = ("groups/below_floor", ZERO_VARIANCE)
"""Shares of groups that carry no signal; the larger one counts."""
AT_ONSET = (ZERO_VARIANCE, "distinct_2", "strategy/entropy")
ACTED = "remedy/acted"
COLUMNS = tuple(dict.fromkeys((PROBE, ENTROPY_SE, *SILENT, *AT_ONSET, ACTED)))


@dataclass(frozen=True)
class Trace:
    """One column where it was measured. Steps ascend; arrays have shape (n,), n may be 0."""

    steps: Floats
    values: Floats

    def __len__(self) -> int:
        return len(self.steps)

    def as_entropy(self) -> Trace:
        """Without the values that no H can have."""
        valid = (self.values >= 0) & (self.values <= HIGHEST_ENTROPY_NATS)
        return Trace(self.steps[valid], self.values[valid])


NOT_HELD = Trace(np.empty(0), np.empty(0))


def trace(table: Table, cleaned: Cleaned, name: str) -> Trace:
    """The column on the rows with a valid H, one a step; empty where the log does not hold it."""
    if name not in table.names:
        return NOT_HELD
    values = table.columns[name][cleaned.rows]
    measured = np.isfinite(values)
    return Trace(cleaned.steps[measured], values[measured])
