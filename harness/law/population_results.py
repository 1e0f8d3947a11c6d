"""Estimates for the population of all seeds of a group: a part of the group's row in law.json.

A value that could not be computed is None, and the field `why` holds the reason, one of WHY.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.law.results import BoundedEstimate, Interval

WHY = (
    "no_run", "no_law", "no_common_reward", "one_seed", "seeds_alike", "unknown_seeds",
    "no_onset", "one_onset", "onsets_alike", "beyond_the_runs", "too_few_steps",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class PooledRun:
    """A number of one run: from its own rows alone, and partially pooled with the other seeds."""

    run: str
    seed: int | None
    own: Interval
    pooled: Interval | None
    """The run's own number shrunk towards the mean, more strongly the less precise it is."""


@dataclass(frozen=True, slots=True)
class OverSeeds:
    """A number of the law over the seeds of a group."""

    mean: BoundedEstimate | None
    """The same mean as in `a` or `ceiling` of the group."""
    between: Interval | None
    """Standard deviation of the true number between seeds."""
    runs: Sequence[PooledRun]
    why: str | None


@dataclass(frozen=True, slots=True)
class LawOverSeeds:
    """a and the ceiling over the seeds that have a law."""

    a: OverSeeds
    ceiling: OverSeeds
    failing: int
    """The number of seeds without a law, listed in `law_fails` of the group."""


@dataclass(frozen=True, slots=True)
class LawShare:
    """The share of seeds whose reward follows the law, P(law)."""

    share: Interval | None
    """The share among decided seeds. The interval covers either outcome of the undecided ones."""
    decided: Interval | None
    """The same share, with an interval that ignores the undecided seeds."""
    followers: int
    others: int
    undetermined: int
    """The number of seeds whose verdict is undetermined, or that diverged."""
    why: str | None


@dataclass(frozen=True, slots=True)
class RunOnset:
    """The step at which a run collapsed, or at which it was censored."""

    run: str
    seed: int | None
    step: float
    """The onset, or the last step of a run without one."""
    collapsed: bool


@dataclass(frozen=True, slots=True)
class StepShare:
    """P(collapse by a step) with its 95% interval."""

    step: float
    value: float
    low: float
    high: float
    at_risk: int
    """The number of runs observed until the step that had not collapsed before it."""


@dataclass(frozen=True, slots=True)
class ParametricOnset:
    """A log-normal distribution of onsets over seeds."""

    family: str
    median: BoundedEstimate | None
    """The step by which half of all seeds collapse. `high` is None if it may lie beyond the last
    step of the runs, `median` is None if the estimate does."""
    spread: float | None
    """Standard deviation of log(onset) over seeds. It has no interval, because one from the
    log-normal does not hold for other distributions (benchmarks/levels.md)."""
    why: str | None


@dataclass(frozen=True, slots=True)
class OnsetOverSeeds:
    """Survival analysis of the onset of collapse over seeds."""

    events: int
    """The number of runs with an onset."""
    censored: int
    """The number of runs without an onset until their last step."""
    diverged: int
    """The number of censored runs that diverged."""
    not_judged: int
    """The number of runs with too few steps to look for an onset; they are left out."""
    runs: Sequence[RunOnset]
    last_step: float | None
    """The last step of any run."""
    before_end: Interval | None
    """P(collapse before the last step), Kaplan-Meier."""
    incidence: Sequence[StepShare]
    """P(collapse by a step), Kaplan-Meier: a step function with one entry at step 0 and one at each
    step at which a run collapsed or was censored."""
    parametric: ParametricOnset


@dataclass(frozen=True, slots=True)
class Population:
    """Population estimates of one group: law, share of seeds that follow it, onset."""

    law: LawOverSeeds
    follows: LawShare
    onset: OnsetOverSeeds
