"""The probability that a difference is decided: by made studies, and in closed form for a search.

A made study draws a value for each run around the level's mean, with a variance that the pilot
allows, and asks `decision.Rule`. The closed form is Welch's test with the strictest step of Holm's
correction, by the shifted t that claims.seeds_needed uses; benchmarks/plan.md compares both.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from harness.law.compare import claims
from harness.law.results import Floats, Interval
from harness.planning.decision import Rule

STREAM = 20_261_123
"""Seed of the made studies: the same pilot gives the same plan."""
FEWEST, MOST = 3, 200
"""Seeds a level that a plan asks for: two are decided on, but with an interval five times wider
than their spread."""
STUDIES = 1000
"""Made studies: the power is known to 2.5 points."""
SHUFFLE = 83
"""Coprime to the draws, which are in order: studies take them from all over."""
GROWTH = 1.15
"""From one number of seeds to the next that is tried."""


@dataclass(frozen=True)
class Drawn:
    """One pair in one design: its difference, and what the variances of all levels may be."""

    at: int
    """Number of the pair."""
    difference: float
    variances: tuple[Floats, ...]
    """Of each level, shape (DRAWS,); of a paired rule, of each pair."""
    telling: tuple[float, ...]
    least: float = 0.0
    """The variance of a run by its own interval: a mean of weighed runs is no surer than that."""


def closed(rule: Rule, pair: Drawn, seeds: Floats) -> Floats:
    """Power for each draw and each number of seeds, shape (DRAWS, sizes)."""
    if rule.paired:
        places: tuple[int, ...] = (pair.at,)
    else:
        places = rule.pairs[pair.at]
    terms, squares = [], []
    for place in places:
        n = np.maximum(seeds * pair.telling[place], 2.0)
        term = np.maximum(pair.variances[place], pair.least)[:, None] / n[None, :]
        terms.append(term)
        squares.append(term**2 / (n - 1)[None, :])
    total = np.sum(terms, axis=0)
    free = total**2 / np.sum(squares, axis=0)
    critical = special.stdtrit(free, 1 - claims.LEVEL / rule.comparisons / 2)
    result: Floats = special.stdtr(free, pair.difference / np.sqrt(total) - critical)
    return result


def size(rule: Rule, pair: Drawn, wanted: float) -> int | None:
    """The fewest seeds whose mean power over the draws is `wanted`; None beyond MOST."""
    low, high = FEWEST, MOST
    if _mean(rule, pair, high) < wanted:
        return None
    while low < high:
        middle = (low + high) // 2
        if _mean(rule, pair, middle) >= wanted:
            high = middle
        else:
            low = middle + 1
    return high


def _mean(rule: Rule, pair: Drawn, seeds: int) -> float:
    return float(closed(rule, pair, np.array([float(seeds)])).mean())


def sizes(rule: Rule, pair: Drawn, wanted: float) -> tuple[int | None, int | None]:
    """The seeds it would take at the small and at the large end of what the spread may be: the 2.5
    and 97.5 percent quantiles over the draws; None beyond MOST.
    """
    every = np.arange(FEWEST, MOST + 1, dtype=float)
    enough = closed(rule, pair, every) >= wanted
    needed = np.where(enough.any(axis=1), every[enough.argmax(axis=1)], np.inf)
    low, high = np.quantile(needed, (0.025, 0.975), method="inverted_cdf")
    return tuple(int(end) if np.isfinite(end) else None for end in (low, high))  # type: ignore[return-value]


@dataclass(frozen=True)
class Power:
    """The share of made studies that decided the difference, with its 95% interval (Wilson)."""

    value: float
    low: float
    high: float


class MadeStudies:
    """Studies with the same chance in every design, so that more seeds never look worse by luck."""

    def __init__(
        self, rule: Rule, levels: int, errors: Sequence[Floats] = (), studies: int = STUDIES
    ) -> None:
        self.rule = rule
        self.studies = studies
        self.units = len(rule.pairs) if rule.paired else levels
        self.errors = errors
        """Of each level the half-widths of runs' own intervals, where they are weighed."""

    @functools.cached_property
    def normal(self) -> Floats:
        """Each run's place in its level."""
        shape = (self.studies, self.units, MOST)
        return np.random.default_rng([STREAM, 1]).standard_normal(shape)

    @functools.cached_property
    def uniform(self) -> Floats:
        """Below the level's share of runs that tell: whether a run does, and by which error."""
        return np.random.default_rng([STREAM, 2]).random((self.studies, self.units, MOST))

    def power(self, pair: Drawn, seeds: int) -> Power:
        """Of `seeds` a level."""
        decided = sum(self._decided(pair, seeds, number) for number in range(self.studies))
        interval = stats.binomtest(decided, self.studies).proportion_ci(method="wilson")
        return Power(decided / self.studies, float(interval.low), float(interval.high))

    def _decided(self, pair: Drawn, seeds: int, number: int) -> bool:
        later, baseline = self.rule.pairs[pair.at]
        if self.rule.paired:
            gaps = self._values(pair, seeds, number, pair.at, pair.difference)
            ends: list[list[Interval]] = [[] for _ in range(max(later, baseline) + 1)]
            ends[later] = gaps
            ends[baseline] = [Interval(0.0, 0.0, 0.0)] * len(gaps)
            return self.rule.decided(ends, pair.at) == 1
        # the levels beside the pair lie in its middle, where they help least
        means = [0.0] * self.units
        means[later], means[baseline] = pair.difference / 2, -pair.difference / 2
        runs = [self._values(pair, seeds, number, at, mean) for at, mean in enumerate(means)]
        return self.rule.decided(runs, pair.at) == 1

    def _values(
        self, pair: Drawn, seeds: int, number: int, place: int, mean: float
    ) -> list[Interval]:
        variances = pair.variances[place]
        spread = float(variances[SHUFFLE * number % len(variances)]) ** 0.5
        values = mean + spread * self.normal[number, place, :seeds]
        if pair.telling[place] < 1:
            values = values[self.uniform[number, place, :seeds] < pair.telling[place]]
        if not len(self.errors):
            return [Interval(float(v), -np.inf, np.inf) for v in values]
        own = self.errors[place]
        halves = own[
            (self.uniform[number, place, :seeds][::-1][: len(values)] * len(own)).astype(int)
        ]
        return [
            Interval(float(v), float(v - half), float(v + half))
            for v, half in zip(values, halves, strict=True)
        ]

    def settled(self, pair: Drawn, start: int, wanted: float) -> tuple[int | None, Power]:
        """The fewest seeds with which the made studies reach `wanted`, and their power; None
        beyond MOST. `start` is where the closed form sees them.
        """
        seeds, power = start, self.power(pair, start)
        short = FEWEST - 1
        while power.value < wanted:
            if seeds == MOST:
                return None, power
            short, seeds = seeds, min(MOST, max(seeds + 1, round(seeds * GROWTH)))
            power = self.power(pair, seeds)
        step = 1
        while short < seeds - step:
            fewer = self.power(pair, seeds - step)
            if fewer.value < wanted:
                short, step = seeds - step, 1
                continue
            seeds, power = seeds - step, fewer
            step = max(1, (seeds - short) // 2) if short >= FEWEST else max(1, seeds // 10)
        return seeds, power
