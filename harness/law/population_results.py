"""What the seeds of a group say of all seeds of its kind: a part of its row of law.json.

A value that could not be computed is None, and `why` beside it says why, in one of WHY.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.law.results import Bounded, Interval

WHY = (
    "no_run", "no_law", "no_common_reward", "one_seed", "seeds_alike", "unknown_seeds",
    "no_onset", "one_onset", "onsets_alike", "beyond_the_runs", "too_few_steps",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PooledRun:
    """A run's own number, and the same where the other seeds have their say in it."""

    run: str
    seed: int | None
    own: Interval
    pooled: Interval | None
    """Partially pooled: between its own and the mean, by how well it knows its own."""


@dataclass(frozen=True, slots=True)
class OverSeeds:
    """A number of the law over the seeds of a group."""

    mean: Bounded | None
    """The same as in the group's own `a` or `ceiling`."""
    between: Interval | None
    """The standard deviation of the true number over seeds."""
    runs: Sequence[PooledRun]
    why: str | None


@dataclass(frozen=True, slots=True)
class LawOverSeeds:
    """a and the ceiling, over the seeds that have a law."""

    a: OverSeeds
    ceiling: OverSeeds
    failing: int
    """Seeds that have none: `law_fails` of the group names them."""


@dataclass(frozen=True, slots=True)
class Follows:
    """The share of seeds whose reward follows the law, P(law)."""

    share: Interval | None
    """Of the seeds that are decided; the interval holds for either reading of the others."""
    decided: Interval | None
    """The same share with the interval of the decided seeds alone, as if the others were not."""
    followers: int
    others: int
    undetermined: int
    """Seeds whose verdict is undetermined, or that diverged."""
    why: str | None


@dataclass(frozen=True, slots=True)
class RunOnset:
    """When a run collapsed, or until when it had not."""

    run: str
    seed: int | None
    step: float
    """Its onset; without one its last step."""
    collapsed: bool


@dataclass(frozen=True, slots=True)
class StepShare:
    """P(collapse by a step) with its 95% interval."""

    step: float
    value: float
    low: float
    high: float
    at_risk: int
    """Runs that had not collapsed before it and were seen until then."""


@dataclass(frozen=True, slots=True)
class ParametricOnset:
    """The log-normal distribution of onsets over seeds."""

    family: str
    median: Bounded | None
    """The step by which half of all seeds collapse; `high` is None where it may lie beyond the last
    step of the runs, `median` itself where its estimate does."""
    spread: float | None
    """The standard deviation of log(onset) over seeds: an estimate, since its interval does not
    hold for other distributions (benchmarks/levels.md)."""
    why: str | None


@dataclass(frozen=True, slots=True)
class OnsetOverSeeds:
    """Onset of collapse as survival."""

    events: int
    """Runs with an onset."""
    censored: int
    """Runs without one, known to be free of it until their last step."""
    diverged: int
    """Of the censored, those that diverged."""
    not_judged: int
    """Runs of too few steps to look for an onset: they say nothing."""
    runs: Sequence[RunOnset]
    last_step: float | None
    """The last step of any run."""
    before_end: Interval | None
    """P(collapse before the last step), Kaplan-Meier."""
    incidence: Sequence[StepShare]
    """P(collapse by a step), Kaplan-Meier: at step 0 and at each at which a run collapsed or was
    last seen; the same in between."""
    parametric: ParametricOnset


@dataclass(frozen=True, slots=True)
class Population:
    """One answer per level."""

    law: LawOverSeeds
    follows: Follows
    onset: OnsetOverSeeds
