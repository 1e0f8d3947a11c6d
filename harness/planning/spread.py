"""Predict the variance over seeds in a design, with its uncertainty.

A variance s^2 over seeds was observed with d degrees of freedom. The true variance is drawn from
s^2 d / chi^2(d), its fiducial distribution (for a variance also the posterior under the prior
1 / sigma^2). A plan uses the mean power over these draws, so the power holds on average over
pilots. A plan with s^2 in place of sigma^2 would have too little power: with three seeds s^2 is too
small as often as too large, and loses more power when it is too small.

For two levels the sum of their variances matters, with Satterthwaite's (1946) d, so both are scaled
by one chi^2 draw. Independent draws with their own d would overstate the uncertainty, and the
studies would be too large: with pilots of three seeds, by half (benchmarks/plan.md).

A part of s^2 is due to the evaluation: its users and random draws (`Level.evaluation_variance`).
Only this part decreases with their number.
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
        of_training = np.maximum(self.variance * factors - self.evaluation, 0.0)
        result: Floats = of_training + self.resized
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

    def draw(self, places: Sequence[int]) -> tuple[Floats, ...]:
        """Return draws of each variance, shape (DRAWS,), for a test of the levels `places`."""
        if self.known:
            return tuple(one.draw(np.ones(DRAWS)) for one in self.each)
        each, df = self.moderated(places)
        quantiles = (np.arange(DRAWS) + 0.5) / DRAWS
        factors: Floats = df / np.asarray(special.chdtri(df, 1 - quantiles), dtype=float)
        return tuple(one.draw(factors) for one in each)

    def moderated(self, places: Sequence[int]) -> tuple[tuple[SeedSpread, ...], float]:
        """Return all spreads, moderated for a comparison of `places`, and the degrees of freedom of
        the sum of the latter.
        """
        means = [
            GroupMean(at, Estimate(0.0, one.variance**0.5, one.df * self.independent), 1)
            for at, one in enumerate(self.each)
        ]
        prior = moderation.prior(means)
        used, df = prior.used([means[place] for place in places])
        return tuple(replace(one, variance=used[at]) for at, one in enumerate(self.each)), df


def of_levels(pilot: Pilot, quantity: str, step: int, met: Met) -> SeedSpreads | str:
    """Return the variance over seeds of each level, or the reason if one is not known.

    For a shorter run it is the larger of the variances at `step` and at the end, because a smaller
    one at `step` may be due to chance.
    """
    each = []
    for level in pilot.levels:
        whole, cut = (_sample(level, quantity, at) for at in (level.steps, step))
        if min(len(whole), len(cut)) < 2:
            return _too_few(quantity, len(level.seeds), len(cut))
        variance = max(float(whole.var(ddof=1)), float(cut.var(ddof=1)))
        if variance <= ROUNDING:
            return f"the seeds do not differ in {quantity}, so their spread is not known"
        share = len(whole) / len(level.seeds)
        each.append(
            _spread(variance, len(cut) - 1, share, [level], _resizable(pilot, quantity), met)
        )
    return SeedSpreads(tuple(each))


def of_pairs(
    pilot: Pilot, pairs: Sequence[tuple[int, int]], quantity: str, step: int, met: Met
) -> SeedSpreads | str:
    """Return the variance of each pair's differences over seeds, or the reason if not known."""
    each = []
    for later, baseline in (tuple(pilot.levels[place] for place in pair) for pair in pairs):
        gaps = [_gaps(later, baseline, quantity, at) for at in (later.steps, step)]
        if min(map(len, gaps)) < 2:
            shared = len(set(later.seeds) & set(baseline.seeds))
            return _too_few(quantity, shared, len(gaps[1]))
        variance = max(float(gap.var(ddof=1)) for gap in gaps)
        if variance <= ROUNDING:
            return f"the pairs do not differ in {quantity}, so their spread is not known"
        share = len(gaps[0]) / len(set(later.seeds) & set(baseline.seeds))
        each.append(
            _spread(
                variance,
                len(gaps[1]) - 1,
                share,
                [later, baseline],
                _resizable(pilot, quantity),
                met,
            )
        )
    shared = len(pilot.levels) - 1
    return SeedSpreads(tuple(each), independent=min(1.0, shared / len(pairs)))


def _sample(level: PilotLevel, quantity: str, step: int) -> Floats:
    values = level.at(quantity, step)
    known: Floats = values[np.isfinite(values)]
    return known


def _gaps(later: PilotLevel, baseline: PilotLevel, quantity: str, step: int) -> Floats:
    one, other = (
        dict(zip(level.seeds, level.at(quantity, step), strict=True)) for level in (later, baseline)
    )
    gaps = np.array([one[seed] - other[seed] for seed in one if seed in other], dtype=float)
    known: Floats = gaps[np.isfinite(gaps)]
    return known


OF_EVALUATIONS = ("gain", "final_reward")
"""Quantities that are means of evaluation rewards, and so more precise with larger evaluations."""


def _resizable(pilot: Pilot, quantity: str) -> bool:
    """Return whether the known evaluation variance belongs to the quantity's reward column."""
    return quantity in OF_EVALUATIONS and pilot.column_of(quantity) == pilot.column


def _spread(
    variance: float, df: int, share: float, levels: Sequence[PilotLevel], resizable: bool, met: Met
) -> SeedSpread:
    was = [level.evaluation_variance(level.users, level.repeats) for level in levels]
    now = [level.evaluation_variance(*met) for level in levels]
    if not resizable or None in was or None in now:
        return SeedSpread(variance, df, known_share=share)
    before, after = (sum(v for v in every if v is not None) for every in (was, now))
    part = min(before, variance)
    return SeedSpread(variance, df, part, part * after / before if before else 0.0, share)


def _too_few(quantity: str, seeds: int, known: int) -> str:
    if seeds < 2:
        return "one seed does not show how much seeds differ"
    return f"{known} of {seeds} runs of a level have {quantity}, and two are needed"
