"""Predict the variance over seeds in a design, with its uncertainty.

A variance s^2 over seeds was observed with d degrees of freedom. The true variance is drawn from
s^2 d / chi^2(d), its fiducial distribution (for a variance also the posterior under the prior
1 / sigma^2). A plan uses the mean power over these draws, so the power holds on average over
pilots. A plan with s^2 in place of sigma^2 would have too little power: with three seeds s^2 is too
small as often as too large, and loses more power when it is too small.

For two levels the sum of their variances matters, with Satterthwaite's (1946) d, so both are scaled
by one chi^2 draw. Independent draws with their own d would overstate the uncertainty, and the
studies would be too large: with pilots of three seeds, by half (benchmarks/plan.md).

A part of s^2 is due to the evaluation: its users and random draws
(`PilotLevel.evaluation_variance`). Only this part decreases with their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from harness.law.compare import moderation
from harness.law.compare.moderation import GroupMean
from harness.law.compare.random_effects import Estimate
from harness.law.results import Floats
from harness.planning.pilot import Pilot, PilotLevel

Met = tuple[int, int]
"""Users and repeats of an evaluation."""
DRAWS = 200
ROUNDING = 1e-18
"""Variance up to which numbers count as equal."""


@dataclass(frozen=True)
class SeedSpread:
    """The variance over seeds of one level, or of the differences of one pair."""

    variance: float
    df: int
    evaluation: float = 0.0
    """The part of the variance that is due to the evaluation, at most all of it."""
    resized: float = 0.0
    """That part with evaluations of the design's size."""
    known_share: float = 1.0
    """Share of the runs that have the quantity."""

    def draw(self, factors: Floats) -> Floats:
        """Return draws of the variance in the design: the observed one times each of `factors`,
        with its evaluation part resized.
        """
        training = np.maximum(self.variance * factors - self.evaluation, 0.0)
        result: Floats = training + self.resized
        return result


@dataclass(frozen=True)
class SeedSpreads:
    """The variances over seeds of all levels, or of all pairs."""

    each: tuple[SeedSpread, ...]
    known: bool = False
    """Whether the variances are treated as exact."""
    independent: float = 1.0
    """Share of the degrees of freedom that is independent information. For the three pairs of three
    levels it is two thirds, because two differences determine the third."""

    def draw(self, indices: Sequence[int]) -> tuple[Floats, ...]:
        """Return draws of each variance, shape (DRAWS,), for a test of the levels `indices`."""
        if self.known:
            return tuple(seed_spread.draw(np.ones(DRAWS)) for seed_spread in self.each)
        spreads, df = self.moderated(indices)
        quantiles = (np.arange(DRAWS) + 0.5) / DRAWS
        factors: Floats = df / np.asarray(special.chdtri(df, 1 - quantiles), dtype=float)
        return tuple(seed_spread.draw(factors) for seed_spread in spreads)

    def moderated(self, indices: Sequence[int]) -> tuple[tuple[SeedSpread, ...], float]:
        """Return all spreads, moderated for a comparison of the levels `indices`, and the degrees
        of freedom of the sum of those levels.
        """
        means = [
            GroupMean(
                index,
                Estimate(0.0, seed_spread.variance**0.5, seed_spread.df * self.independent),
                1,
            )
            for index, seed_spread in enumerate(self.each)
        ]
        prior = moderation.prior(means)
        moderated_variances, df = prior.used([means[level] for level in indices])
        return tuple(
            replace(seed_spread, variance=moderated_variances[index])
            for index, seed_spread in enumerate(self.each)
        ), df


def of_levels(pilot: Pilot, quantity: str, step: int, evaluation_size: Met) -> SeedSpreads | str:
    """Return the variance over seeds of each level, or the reason if one is not known.

    For a shorter run it is the larger of the variances at `step` and at the end, because a smaller
    one at `step` may be due to chance.
    """
    spreads = []
    for level in pilot.levels:
        end_values, step_values = (
            _sample(level, quantity, length) for length in (level.steps, step)
        )
        if min(len(end_values), len(step_values)) < 2:
            return _too_few(quantity, len(level.seeds), len(step_values))
        variance = max(float(end_values.var(ddof=1)), float(step_values.var(ddof=1)))
        if variance <= ROUNDING:
            return f"the seeds do not differ in {quantity}, so their spread is not known"
        share = len(end_values) / len(level.seeds)
        spreads.append(
            _spread(
                variance,
                len(step_values) - 1,
                share,
                [level],
                _resizable(pilot, quantity),
                evaluation_size,
            )
        )
    return SeedSpreads(tuple(spreads))


def of_pairs(
    pilot: Pilot, pairs: Sequence[tuple[int, int]], quantity: str, step: int, evaluation_size: Met
) -> SeedSpreads | str:
    """Return the variance of each pair's differences over seeds, or the reason if not known."""
    spreads = []
    for later, baseline in (tuple(pilot.levels[index] for index in pair) for pair in pairs):
        gaps = [_gaps(later, baseline, quantity, length) for length in (later.steps, step)]
        if min(map(len, gaps)) < 2:
            shared = len(set(later.seeds) & set(baseline.seeds))
            return _too_few_pairs(quantity, shared, len(gaps[1]))
        variance = max(float(gap.var(ddof=1)) for gap in gaps)
        if variance <= ROUNDING:
            return f"the pairs do not differ in {quantity}, so their spread is not known"
        share = len(gaps[0]) / len(set(later.seeds) & set(baseline.seeds))
        spreads.append(
            _spread(
                variance,
                len(gaps[1]) - 1,
                share,
                [later, baseline],
                _resizable(pilot, quantity),
                evaluation_size,
            )
        )
    shared = len(pilot.levels) - 1
    return SeedSpreads(tuple(spreads), independent=min(1.0, shared / len(pairs)))


def _sample(level: PilotLevel, quantity: str, step: int) -> Floats:
    values = level.at(quantity, step)
    finite_values: Floats = values[np.isfinite(values)]
    return finite_values


def _gaps(later: PilotLevel, baseline: PilotLevel, quantity: str, step: int) -> Floats:
    later_values, baseline_values = (
        dict(zip(level.seeds, level.at(quantity, step), strict=True)) for level in (later, baseline)
    )
    gaps = np.array(
        [
            later_values[seed] - baseline_values[seed]
            for seed in later_values
            if seed in baseline_values
        ],
        dtype=float,
    )
    finite_gaps: Floats = gaps[np.isfinite(gaps)]
    return finite_gaps


OF_EVALUATIONS = ("gain", "final_reward")
"""Quantities that are means of evaluation rewards, and so more precise with larger evaluations."""


def _resizable(pilot: Pilot, quantity: str) -> bool:
    """Return whether the known evaluation variance belongs to the quantity's reward column."""
    return quantity in OF_EVALUATIONS and pilot.column_of(quantity) == pilot.column


def _spread(
    variance: float,
    df: int,
    share: float,
    levels: Sequence[PilotLevel],
    resizable: bool,
    evaluation_size: Met,
) -> SeedSpread:
    old_variances = [level.evaluation_variance(level.users, level.repeats) for level in levels]
    new_variances = [level.evaluation_variance(*evaluation_size) for level in levels]
    if not resizable or None in old_variances or None in new_variances:
        return SeedSpread(variance, df, known_share=share)
    old_total, new_total = (
        sum(v for v in variances if v is not None) for variances in (old_variances, new_variances)
    )
    part = min(old_total, variance)
    return SeedSpread(variance, df, part, part * new_total / old_total if old_total else 0.0, share)


def _too_few(quantity: str, seeds: int, count: int) -> str:
    if seeds < 2:
        return "one seed does not show how much seeds differ"
    return f"{count} of {seeds} runs of a level have {quantity}, and two are needed"


def _too_few_pairs(quantity: str, shared: int, count: int) -> str:
    if shared < 2:
        seeds = "no seed" if shared == 0 else "one seed"
        return (
            f"two levels of the pilot have {seeds} in common, and two are needed, since a link "
            "compares runs of the same seed"
        )
    return f"{count} of {shared} pairs of the same seed have {quantity}, and two are needed"
