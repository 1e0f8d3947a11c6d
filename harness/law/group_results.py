"""Typed results of groups of runs and of a whole analysis.

Fields are in the order of the keys in law.json (law_json.py writes them). A value that could not
be computed is None, never NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.law.population_results import Population
from harness.law.result_parts import SkippedPath
from harness.law.results import Interval, RunResult, RunSeries

Axes = Mapping[str, Any]
"""Dotted config key -> its value in the group."""


@dataclass(frozen=True, slots=True)
class SeedMean:
    """The mean of a quantity over the seeds of a group, with its 95% interval."""

    mean: float | None
    low: float | None
    high: float | None
    n: int
    censored: int


@dataclass(frozen=True, slots=True)
class GroupDifference:
    """A difference of two groups with its 95% interval; None if there is no estimate."""

    difference: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Contrast(GroupDifference):
    """One quantity of a group minus that of the group `baseline`, over seeds."""

    baseline: Axes
    """The key of the group that is subtracted."""
    quantity: str
    """One of compare.quantities.CONTRASTED."""
    p_holm: float | None
    """Two-sided p of the hypothesis of no difference, adjusted over the pairs and quantities of
    the analysis (compare.families). Below 0.05 the decision is `differs`."""
    decision: str
    """differs, equivalent, undecided or not_comparable"""
    why: str | None
    """The reason for the decision, if it needs one."""
    on: str | None
    """The reward column, if one is used."""
    margin: float | None
    """The difference below which the groups count as equivalent, in the unit of the quantity."""
    p_equivalent: float | None
    """p of the hypothesis of a difference of the margin or more (Schuirmann 1987), adjusted like
    p_holm."""
    minimum_detectable: float | None
    """The difference detected with a power of 80% at the observed spread."""
    seeds: tuple[int, int]
    """The numbers of seeds with a value, in this group and in the baseline."""
    seeds_needed: int | None
    """Seeds per group that detect a difference of the margin with a power of 80%."""
    on_probe: GroupDifference | None
    """The difference with H on the frozen prefixes."""
    unlike_failures: tuple[float, float] | None
    """Shares of failed conversations, in the order of `seeds`; None unless they differ too much."""
    remedy_inactive: int
    """The number of runs in both groups whose remedy acted on no token."""
    net_of_null: GroupDifference | None
    """The difference with each run's null controls subtracted from it."""
    primary: bool = False
    """Whether the quantity is the one that bears most of the analysis' error rate."""
    p: float | None = None
    """Two-sided p of the hypothesis of no difference, not adjusted for other tests."""
    invalid_users: int = 0
    """The number of runs in both groups that train on users who are not valid."""


@dataclass(frozen=True, slots=True)
class SeedNumbers:
    """The numbers of one run, on the same reward column and range of H for all groups."""

    run: str
    seed: int | None
    a: Interval | None
    ceiling: Interval | None
    gain: Interval | None
    fall: Interval | None
    """Fall of H, nats."""
    onset: float | None
    """Onset of collapse as a share of the run."""
    reached: float
    """Share of the planned steps that the run has done."""

    def number(self, quantity: str) -> Interval | None:
        """Return a, ceiling, gain or fall. Raise KeyError for any other quantity."""
        numbers = {"a": self.a, "ceiling": self.ceiling, "gain": self.gain, "fall": self.fall}
        return numbers[quantity]


@dataclass(frozen=True, slots=True)
class GroupNumbers:
    """The numbers of a group's seeds, and their means, on one basis for all groups."""

    order: int
    """Rank among the groups, from the lowest level up."""
    on: str | None
    """The reward column; None if each run uses its own."""
    shared_range: bool
    """Whether a is fitted over the range of H that all runs pass through."""
    seeds: Sequence[SeedNumbers]
    onset: SeedMean
    a: SeedMean
    ceiling: SeedMean
    gain: SeedMean
    fall: SeedMean

    def mean(self, quantity: str) -> SeedMean:
        """Return the mean over the seeds of one of compare.quantities.CONTRASTED.

        Raise KeyError for any other quantity.
        """
        means = {"a": self.a, "ceiling": self.ceiling, "gain": self.gain, "fall": self.fall}
        return {**means, "onset": self.onset}[quantity]


@dataclass(frozen=True, slots=True)
class GroupResult:
    """A group of runs that differ only in the seed."""

    key: Axes
    """The axes in which the groups differ."""
    runs: Sequence[str]
    a: SeedMean
    ceiling: SeedMean
    onset: SeedMean
    gain: SeedMean
    contrasts: Sequence[Contrast] = ()
    """Differences between this group and earlier groups, one per group and quantity."""
    compared: GroupNumbers | None = None
    """Numbers on one basis for all groups; None for a group without a readable run."""
    unknown_seeds: int = 0
    """The number of runs with an unknown seed, in a group of several. They may be repeats, so no
    mean has an interval."""
    reward: str | None = None
    """The reward column of a, ceiling and gain; None if the runs share none."""
    why: str | None = None
    """The reason why there is no mean of a, ceiling and gain; None if there is one."""
    unfinished: Sequence[str] = ()
    """Runs that are not done. They are in `runs` and in the means only on request."""
    diverged: Sequence[str] = ()
    """Runs that diverged. They are censored in a, ceiling and gain, and in onset unless they had
    one before."""
    law_fails: Sequence[str] = ()
    """Runs without a single law on `reward` (it fails, or there is one per stage). They are
    censored in a and ceiling."""
    population: Population | None = None
    """Estimates for the population of all seeds of this group."""

    @property
    def all_runs(self) -> list[str]:
        """The runs of the group, including those that are in no mean."""
        return list(dict.fromkeys((*self.runs, *self.unfinished)))

    @property
    def left_out(self) -> list[str]:
        """The runs of the group that are in no mean."""
        return [run for run in self.unfinished if run not in self.runs]


@dataclass(frozen=True, slots=True)
class Analysis:
    """The result of `harness fit-entropy-law`: the source of law.json, law.csv, tables, figures."""

    runs: tuple[RunResult, ...]
    groups: tuple[GroupResult, ...]
    skipped: tuple[SkippedPath, ...]
    series: Mapping[str, RunSeries] = field(default_factory=dict)
    """Run path -> its points, for runs with status ok."""

    @property
    def left_out(self) -> frozenset[str]:
        """Unfinished runs that are in no mean."""
        return frozenset(run for group in self.groups for run in group.left_out)

    @property
    def readable_runs(self) -> list[RunResult]:
        """The runs with points."""
        return [run for run in self.runs if run.run in self.series]

    def runs_in_means(self, runs: Iterable[RunResult]) -> list[RunResult]:
        """Return those of `runs` that are in means."""
        left_out = self.left_out
        return [run for run in runs if run.run not in left_out]
