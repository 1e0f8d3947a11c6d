"""What `harness variance` found, typed. A value that could not be computed is None, never NaN."""

from __future__ import annotations

from dataclasses import dataclass

from harness.law.result_parts import Skipped
from harness.law.results import Interval
from harness.law.variance.sizes import Cost, Sizes

REWARD_RANGE = 1.0
"""From the least to the highest reward: no half-width beyond it says anything."""


@dataclass(frozen=True)
class Part:
    """A part of the spread; numbers are None where it is not identifiable, and `why` says why."""

    name: str
    variance: Interval | None
    share: Interval | None
    """Of the sum of the parts that are identifiable."""
    why: str | None = None


@dataclass(frozen=True)
class CriticalBatch:
    """The batch that an arm's entropy ledger asks for; docs/entropy_ledger.md."""

    runs: int
    """Runs of the arm that have a ledger."""
    conversations: int
    """A step's, in these runs."""
    noise_share: Interval | None
    """What noise takes of the fall of H; None where the fall is not beyond its error."""
    batch: Interval | None
    """Conversations a step at which noise takes a tenth of the fall; None where signal and remedy
    are not sure to lower H."""


@dataclass(frozen=True)
class Arm:
    """Runs alike in all but the seed."""

    name: str
    seeds: int
    users: int | None
    repeats: int | None
    mean: float
    low: float | None
    """With `high` the 95% t interval over seeds."""
    high: float | None
    listening: float | None
    has_outcomes: bool
    lost: int
    """Users left out, since a conversation with one of them was lost."""
    critical_batch: CriticalBatch | None
    """None where no run of the arm has a ledger."""


@dataclass(frozen=True)
class Variance:
    """The answer of `harness variance`."""

    level: str
    arms: tuple[Arm, ...]
    reward: tuple[Part, ...]
    listening: tuple[Part, ...]
    cost: Cost | None
    is_cpu: bool
    wanted: float
    plans: tuple[Sizes, ...]
    conservative: bool
    """Whether the plans count all spread between users as shared by the seeds, and all over seeds
    as the seeds' own, for want of outcomes."""
    skipped: tuple[Skipped, ...]
