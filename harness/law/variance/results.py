"""Typed results of `harness variance`. A value that could not be computed is None, never NaN."""

from __future__ import annotations

from dataclasses import dataclass

from harness.law.result_parts import SkippedPath
from harness.law.results import Interval
from harness.law.variance.sizes import Cost, SizePlan

REWARD_RANGE = 1.0
"""Width of the range of rewards. Larger half-widths are meaningless."""


@dataclass(frozen=True)
class VarianceComponent:
    """A variance component. Numbers are None if it is not identifiable; `why` has the reason."""

    name: str
    variance: Interval | None
    share: Interval | None
    """Share of the sum of the identifiable parts; None also for the only one, or if they are 0."""
    why: str | None = None


@dataclass(frozen=True)
class CriticalBatch:
    """The critical batch by an arm's entropy ledgers (docs/entropy_ledger.md)."""

    runs: int
    """The number of runs with a ledger."""
    conversations: int
    """Conversations per step in these runs."""
    noise_share: Interval | None
    """Share of noise in the fall of H; None if the fall is within its error."""
    batch: Interval | None
    """Conversations per step at which noise causes a tenth of the fall; None if signal and remedy
    do not significantly lower H."""


@dataclass(frozen=True)
class Arm:
    """Runs that differ only in the seed."""

    name: str
    seeds: int
    users: int | None
    repeats: int | None
    mean: float
    low: float | None
    """Lower end of the 95% t interval over seeds; `high` is the upper end."""
    high: float | None
    listening: float | None
    has_outcomes: bool
    lost: int
    """The number of users left out because a conversation with them was lost."""
    critical_batch: CriticalBatch | None
    """None if no run of the arm has a ledger."""


@dataclass(frozen=True)
class Variance:
    """The result of `harness variance`."""

    level: str
    arms: tuple[Arm, ...]
    reward: tuple[VarianceComponent, ...]
    listening: tuple[VarianceComponent, ...]
    cost: Cost | None
    is_cpu: bool
    wanted: float
    plans: tuple[SizePlan, ...]
    conservative: bool
    """Whether, for lack of outcomes, the plans treat all variance between users as shared by the
    seeds, and all variance over seeds as that of the seeds themselves."""
    skipped: tuple[SkippedPath, ...]
