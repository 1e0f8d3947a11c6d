"""Simulate studies to find how often the rule decides a difference.

A simulated study draws a value for each run around the level's mean, with a variance that is
compatible with the pilot, and applies `task.DecisionRule`. If runs are unweighted, all studies are
evaluated at once.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from harness.law.results import Floats, Interval
from harness.planning import at_once
from harness.planning.power import FEWEST, MOST, PairDraws
from harness.planning.spread import DRAWS
from harness.planning.task import DecisionRule

STREAM = 20_261_123
"""Seed of the simulation, fixed so that the same pilot gives the same plan."""
STUDIES = 1000
"""Number of studies if runs are weighted. The power is known to 2.5 points."""
PLAIN_STUDIES = 4000
"""Number of studies if they are evaluated at once. The power is known to 1.2 points."""
SHUFFLE = 83
"""Stride through the draws of the variance, which are sorted; coprime to their number."""
GROWTH = 1.15
"""Factor from one number of seeds to the next that is tried."""


@dataclass(frozen=True)
class Power:
    """The share of simulated studies that decided the difference, with its 95% Wilson interval."""

    value: float
    low: float
    high: float


class SimulatedStudies:
    """Simulated studies that use the same random numbers in every design (common random numbers),
    so that designs are compared without additional noise.
    """

    def __init__(
        self,
        rule: DecisionRule,
        levels: int,
        errors: Sequence[Floats] = (),
        studies: int | None = None,
    ) -> None:
        self.rule = rule
        self.units = len(rule.pairs) if rule.paired else levels
        self.errors = errors
        """For each level, the half-widths of runs' own intervals, if runs are weighted."""

        self.studies = studies or (PLAIN_STUDIES if self._is_unweighted else STUDIES)

    @functools.cached_property
    def normal(self) -> Floats:
        """Standard normal draws, one per run."""
        shape = (self.studies, self.units, MOST)
        return np.random.default_rng([STREAM, 1]).standard_normal(shape)

    @functools.cached_property
    def uniform(self) -> Floats:
        """Uniform draws, one per run: they select the runs with the quantity, and their errors."""
        return np.random.default_rng([STREAM, 2]).random((self.studies, self.units, MOST))

    def power(self, pair: PairDraws, seeds: int) -> Power:
        """Return the power with `seeds` seeds per level."""
        if self._is_unweighted:
            decided = int(self._are_decided(pair, seeds).sum())
        else:
            decided = sum(self._is_decided(pair, seeds, number) for number in range(self.studies))
        interval = stats.binomtest(decided, self.studies).proportion_ci(method="wilson")
        return Power(decided / self.studies, float(interval.low), float(interval.high))

    @property
    def _is_unweighted(self) -> bool:
        """Whether runs are unweighted, so that all studies can be evaluated at once."""
        return not len(self.errors)

    def _are_decided(self, pair: PairDraws, seeds: int) -> NDArray[np.bool_]:
        """Return `_is_decided` of all studies, shape (studies,)."""
        indices = SHUFFLE * np.arange(self.studies) % DRAWS
        spread = np.sqrt(np.stack([variances[indices] for variances in pair.variances], axis=1))
        values = self._means(pair)[None, :, None] + spread[:, :, None] * self.normal[:, :, :seeds]
        counts = self.uniform[:, :, :seeds] < np.array(pair.known_shares)[None, :, None]
        return at_once.is_decided(self.rule, at_once.group_moments(values, counts), pair.at)

    def _means(self, pair: PairDraws) -> Floats:
        """Return the true mean of each level, or of the differences of each pair.

        The pair at hand differs by its difference. Other levels are in its middle, the least
        favourable place.
        """
        means = np.zeros(self.units)
        if self.rule.paired:
            means[pair.at] = pair.difference
        else:
            later, baseline = self.rule.pairs[pair.at]
            means[[later, baseline]] = pair.difference / 2, -pair.difference / 2
        return means

    def _is_decided(self, pair: PairDraws, seeds: int, number: int) -> bool:
        later, baseline = self.rule.pairs[pair.at]
        if self.rule.paired:
            gaps = self._values(pair, seeds, number, pair.at, pair.difference)
            ends: list[list[Interval]] = [[] for _ in range(max(later, baseline) + 1)]
            ends[later] = gaps
            ends[baseline] = [Interval(0.0, 0.0, 0.0)] * len(gaps)
            return self.rule.decided(ends, pair.at) == 1
        means = self._means(pair)
        runs = [
            self._values(pair, seeds, number, index, float(mean))
            for index, mean in enumerate(means)
        ]
        return self.rule.decided(runs, pair.at) == 1

    def _values(
        self, pair: PairDraws, seeds: int, number: int, index: int, mean: float
    ) -> list[Interval]:
        variances = pair.variances[index]
        spread = float(variances[SHUFFLE * number % DRAWS]) ** 0.5
        values = mean + spread * self.normal[number, index, :seeds]
        if pair.known_shares[index] < 1:
            values = values[self.uniform[number, index, :seeds] < pair.known_shares[index]]
        if not len(self.errors):
            return [Interval(float(v), -np.inf, np.inf) for v in values]
        half_widths = self.errors[index]
        run_half_widths = half_widths[
            (self.uniform[number, index, :seeds][::-1][: len(values)] * len(half_widths)).astype(
                int
            )
        ]
        return [
            Interval(float(v), float(v - half_width), float(v + half_width))
            for v, half_width in zip(values, run_half_widths, strict=True)
        ]

    def smallest_seeds(
        self, pair: PairDraws, start: int, wanted: float
    ) -> tuple[int | None, Power]:
        """Return the smallest number of seeds with power `wanted`, and their power.

        The search begins at `start`, the result of the closed form. The number is None beyond MOST.
        """
        seeds, power = start, self.power(pair, start)
        insufficient = FEWEST - 1
        while power.value < wanted:
            if seeds == MOST:
                return None, power
            insufficient, seeds = seeds, min(MOST, max(seeds + 1, round(seeds * GROWTH)))
            power = self.power(pair, seeds)
        step = 1
        while insufficient < seeds - step:
            fewer = self.power(pair, seeds - step)
            if fewer.value < wanted:
                insufficient, step = seeds - step, 1
                continue
            seeds, power = seeds - step, fewer
            step = (
                max(1, (seeds - insufficient) // 2)
                if insufficient >= FEWEST
                else max(1, seeds // 10)
            )
        return seeds, power
