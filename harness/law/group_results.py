"""Results of groups of runs and of a whole analysis, typed.

Fields stand in the order of the keys in law.json (law_json.py writes them). A value that could
not be computed is None, never NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.law.population_results import Population
from harness.law.result_parts import Skipped
from harness.law.results import Interval, RunResult, RunSeries

Axes = Mapping[str, Any]
"""Dotted config key -> its value there."""


@dataclass(frozen=True, slots=True)
class Pooled:
    """A quantity over the seeds of a group."""

    mean: float | None
    low: float | None
    high: float | None
    n: int
    censored: int


@dataclass(frozen=True, slots=True)
class Gap:
    """A difference of two groups with its 95% interval; None where there is no estimate."""

    difference: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Contrast(Gap):
    """One quantity of a group minus that of the group `baseline`, over seeds."""

    baseline: Axes
    """The key of the group that is taken off."""
    quantity: str
    """One of compare.quantities.CONTRASTED."""
    p_holm: float | None
    """p of no difference, two-sided, adjusted over the pairs and quantities of the analysis
    (compare.families): below 0.05 it differs."""
    decision: str
    """differs, equivalent, undecided or not_comparable"""
    why: str | None
    """The reason for the decision, where it needs one."""
    on: str | None
    """The reward column, where one is used."""
    margin: float | None
    """The difference below which the two count as equivalent, in the unit of the quantity."""
    p_equivalent: float | None
    """p of a difference of the margin or more (Schuirmann 1987), adjusted like p_holm."""
    minimum_detectable: float | None
    """The difference found with a probability of 80% at this spread."""
    seeds: tuple[int, int]
    """With a value: of this group, of the baseline."""
    seeds_needed: int | None
    """Seeds a group that find a difference of the margin with a probability of 80%."""
    on_probe: Gap | None
    """The same with H on the frozen prefixes."""
    unlike_failures: tuple[float, float] | None
    """Shares of conversations that failed, in the order of `seeds`, where they differ too much."""
    remedy_inactive: int
    """Runs of both groups whose remedy acted on no token."""
    net_of_null: Gap | None
    """The same of runs minus their null controls."""
    primary: bool = False
    """Whether the quantity is the one that bears most of the analysis' error rate."""
    p: float | None = None
    """The same as p_holm, not adjusted: of this test as if it were the only one."""
    invalid_users: int = 0
    """Runs of both groups that train on users who are not valid."""


@dataclass(frozen=True, slots=True)
class SeedNumbers:
    """The numbers of one run on the footing that all groups share."""

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
    """Share of the planned steps that it has done."""

    def number(self, quantity: str) -> Interval | None:
        """a, ceiling, gain or fall. Raises KeyError for any other."""
        numbers = {"a": self.a, "ceiling": self.ceiling, "gain": self.gain, "fall": self.fall}
        return numbers[quantity]


@dataclass(frozen=True, slots=True)
class GroupNumbers:
    """The numbers of a group's seeds, and their means, on one footing for all groups."""

    order: int
    """Place among the groups, from the lowest level up."""
    on: str | None
    """The reward column; None where each run is on its own."""
    shared_range: bool
    """Whether a is over the range of H that all runs pass through."""
    seeds: Sequence[SeedNumbers]
    onset: Pooled
    a: Pooled
    ceiling: Pooled
    gain: Pooled
    fall: Pooled

    def mean(self, quantity: str) -> Pooled:
        """Over the seeds, of one of compare.quantities.CONTRASTED. Raises KeyError for another."""
        means = {"a": self.a, "ceiling": self.ceiling, "gain": self.gain, "fall": self.fall}
        return {**means, "onset": self.onset}[quantity]


@dataclass(frozen=True, slots=True)
class GroupResult:
    """Runs alike in all but the seed."""

    key: Axes
    """The axes that tell the groups apart."""
    runs: Sequence[str]
    a: Pooled
    ceiling: Pooled
    onset: Pooled
    gain: Pooled
    contrasts: Sequence[Contrast] = ()
    """This group minus an earlier one, a quantity each."""
    compared: GroupNumbers | None = None
    """Numbers on one footing for all groups; None of a group without a readable run."""
    unknown_seeds: int = 0
    """The number of runs, of several, whose seed is not known: they may be repeats, so no mean has
    an interval."""
    reward: str | None = None
    """The column that a, ceiling and gain are of; None where the runs share none."""
    why: str | None = None
    """Why there is no mean of a, ceiling and gain, where there is none."""
    unfinished: Sequence[str] = ()
    """Runs that are not done; not in `runs`, and in no mean, unless they were asked for."""
    diverged: Sequence[str] = ()
    """Runs that diverged: censored in a, ceiling, gain, and in onset but for those that
    had one before."""
    law_fails: Sequence[str] = ()
    """Runs without a single law on `reward` (it fails, or there is one per stage): censored in a
    and ceiling."""
    population: Population | None = None
    """What its seeds say of all seeds of its kind."""

    @property
    def every(self) -> list[str]:
        """Its runs, also those that are in no mean."""
        return list(dict.fromkeys((*self.runs, *self.unfinished)))

    @property
    def left_out(self) -> list[str]:
        """Its runs that are in no mean."""
        return [run for run in self.unfinished if run not in self.runs]


@dataclass(frozen=True, slots=True)
class Analysis:
    """All that `harness fit-entropy-law` knows: law.json, law.csv, tables and figures show it."""

    runs: tuple[RunResult, ...]
    groups: tuple[GroupResult, ...]
    skipped: tuple[Skipped, ...]
    series: Mapping[str, RunSeries] = field(default_factory=dict)
    """Run path -> its points; only runs with status ok."""

    @property
    def left_out(self) -> frozenset[str]:
        """Unfinished runs that are in no mean."""
        return frozenset(run for group in self.groups for run in group.left_out)

    @property
    def readable(self) -> list[RunResult]:
        """Its runs that have points."""
        return [run for run in self.runs if run.run in self.series]

    def counted(self, runs: Iterable[RunResult]) -> list[RunResult]:
        """Those of `runs` that means count."""
        left_out = self.left_out
        return [run for run in runs if run.run not in left_out]
