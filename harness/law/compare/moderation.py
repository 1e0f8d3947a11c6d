"""Variances over seeds, moderated over the groups of an analysis (Smyth 2004, as limma does).

A variance of three seeds is off by a factor of four as often as not, and t with two degrees of
freedom pays for it. But groups of one analysis tell of each other: with s^2 of a group (d degrees
of freedom) drawn around sigma^2, and 1 / sigma^2 ~ chi^2(d0) / (d0 s0^2), the variance to use is

    (d0 s0^2 + d s^2) / (d0 + d)

d0 and s0^2 are those that give log s^2 its mean and its variance over the groups (section 6.2).

Two things differ from limma. Few groups hardly show that they are unlike, so no pair borrows more
than BORROWED times the degrees of freedom of the groups outside of it: two groups alone get Welch's
test. And the
degrees of freedom of a difference are Satterthwaite's over the groups whose variances are in it,
since what two groups both borrow is one number and not two.

Smyth, Statistical Applications in Genetics and Molecular Biology 3(1), 2004, article 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from harness.law.compare.random_effects import Difference, Estimate
from harness.law.results import Floats

BORROWED = 2.0
"""Chosen on made sweeps (benchmarks/contrasts.md)."""
LEAST = 1e-5
"""Share of the median variance: a smaller one counts as this in the prior, whose logarithm it
would settle by itself (as in limma)."""


@dataclass(frozen=True)
class GroupMean:
    """The mean over the seeds of a group."""

    place: int
    """Of the group in the analysis."""
    estimate: Estimate
    seeds: int

    @property
    def variance(self) -> float:
        """The variance over seeds that gives the mean its error."""
        return self.estimate.error**2 * self.seeds


@dataclass(frozen=True)
class Prior:
    """What variances over seeds are like in an analysis."""

    variances: Mapping[int, float]
    """Place of a group -> its own variance."""
    df: Mapping[int, float]
    variance: float
    """s0^2"""
    weight: float
    """d0: how many degrees of freedom s0^2 is worth; infinite where the groups' variances differ
    no more than draws of one would, 0 where there is nothing to learn from."""

    def moderated(self, variance: float, df: float, most: float) -> float:
        """The variance to use for a group; its prior is worth `most` degrees of freedom at most."""
        weight = min(self.weight, most)
        return (weight * self.variance + df * variance) / (weight + df)

    def difference(self, later: GroupMean, baseline: GroupMean) -> Difference | None:
        """The mean of `later` minus that of `baseline`; None where the seeds of neither differ."""
        both = (later, baseline)
        if not sum(mean.variance for mean in both) > 0:
            return None
        used, df = self.used(both)
        total = sum(used[mean.place] / mean.seeds for mean in both)
        return Difference(
            later.estimate.value - baseline.estimate.value,
            math.sqrt(total),
            df,
            (math.sqrt(used[later.place]), math.sqrt(used[baseline.place])),
        )

    def used(self, means: Sequence[GroupMean]) -> tuple[dict[int, float], float]:
        """Place of a group -> the variance to use where `means` are looked at, and the degrees of
        freedom of the squared error of their sum or difference. One of them must have a variance.
        """
        df = {**self.df, **{mean.place: mean.estimate.df for mean in means}}
        variances = {**self.variances, **{mean.place: mean.variance for mean in means}}
        most = BORROWED * (sum(df.values()) - sum(mean.estimate.df for mean in means))
        used = {place: self.moderated(v, df[place], most) for place, v in variances.items()}
        shares = self._shares(means, used, df, min(self.weight, most))
        free = 1 / sum(share**2 / df[place] for place, share in shares.items())
        return used, min(free, sum(df.values()))

    def _shares(
        self,
        means: Iterable[GroupMean],
        used: Mapping[int, float],
        df: Mapping[int, float],
        weight: float,
    ) -> dict[int, float]:
        """The share of the squared error of a difference that each group's variance brings."""
        together, shares = sum(df.values()), dict.fromkeys(df, 0.0)
        for mean in means:
            own = df[mean.place] / (weight + df[mean.place])
            for place in shares:
                borrowed = (1 - own) * df[place] / together
                part = borrowed + own * (place == mean.place)
                shares[place] += part * used[place] / mean.seeds
        whole = sum(shares.values())
        return {place: share / whole for place, share in shares.items()}


def prior(means: Iterable[GroupMean]) -> Prior:
    """The prior of one quantity, from the means of the groups on every footing they were taken on.

    A group that stands in several pairs gives the mean of its variances, since a common range of H
    or a common horizon makes another one of each pair.
    """
    seen: dict[int, list[GroupMean]] = {}
    for mean in means:
        seen.setdefault(mean.place, []).append(mean)
    variances = {place: float(np.mean([m.variance for m in of])) for place, of in seen.items()}
    df = {place: float(np.mean([m.estimate.df for m in of])) for place, of in seen.items()}
    return Prior(variances, df, *_fitted(np.array([*variances.values()]), np.array([*df.values()])))


def _fitted(variances: Floats, df: Floats) -> tuple[float, float]:
    """s0^2 and d0, by the moments of log s^2."""
    if len(variances) < 2 or not variances.max() > 0:
        return 0.0, 0.0
    middle = float(np.median(variances)) or float(variances.mean())
    logs = np.log(np.maximum(variances, LEAST * middle))
    logs = logs - special.digamma(df / 2) + np.log(df / 2)
    beyond = float(logs.var(ddof=1) - special.polygamma(1, df / 2).mean())
    if beyond <= 0:
        return float(df @ variances / df.sum()), math.inf
    weight = 2 * trigamma_inverse(beyond)
    half = weight / 2
    return float(np.exp(logs.mean() + special.digamma(half) - np.log(half))), weight


def trigamma_inverse(value: float) -> float:
    """The x above 0 with trigamma(x) = `value`, above 0 (Smyth 2004, appendix)."""
    x = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(special.polygamma(1, x))
        step = trigamma * (1 - trigamma / value) / float(special.polygamma(2, x))
        x += step
        if -step / x < 1e-8:
            break
    return x
