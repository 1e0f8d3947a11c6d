"""Moderate variances over seeds across the groups of an analysis (Smyth 2004, as in limma).

The variance of three seeds is often off by a factor of four, which the t distribution with two
degrees of freedom must allow for. The groups of one analysis inform each other: if s^2 of a group
(d degrees of freedom) is drawn around sigma^2, and 1 / sigma^2 ~ chi^2(d0) / (d0 s0^2), the
moderated variance is

    (d0 s0^2 + d s^2) / (d0 + d)

d0 and s0^2 match the mean and the variance of log s^2 over the groups (section 6.2).

Two things differ from limma. With few groups, differences between their variances are hard to
detect, so a pair borrows at most BORROWED times the degrees of freedom of the other groups: two
groups alone get Welch's test. The degrees of freedom of a difference are Satterthwaite's over all
groups whose variances enter, because both groups of a pair borrow the same number.

Smyth, Statistical Applications in Genetics and Molecular Biology 3(1), 2004, article 3.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from harness.law.compare.random_effects import Estimate, MeanDifference
from harness.law.results import Floats

BORROWED = 2.0
"""Chosen on simulated sweeps (benchmarks/contrasts.md)."""
LEAST = 1e-5
"""Lower limit of a variance in the fit of the prior, as a share of the median variance. A smaller
one would dominate the mean of the logarithms (as in limma)."""


@dataclass(frozen=True)
class GroupMean:
    """The mean over the seeds of a group."""

    place: int
    """Index of the group in the analysis."""
    estimate: Estimate
    seeds: int

    @property
    def variance(self) -> float:
        """The variance over seeds that corresponds to the error of the mean."""
        return self.estimate.error**2 * self.seeds


@dataclass(frozen=True)
class Prior:
    """The prior distribution of the variances over seeds in an analysis."""

    variances: Mapping[int, float]
    """Index of a group -> its own variance."""
    df: Mapping[int, float]
    variance: float
    """s0^2"""
    weight: float
    """d0, the degrees of freedom of s0^2. Infinite if the variances of the groups differ no more
    than by chance, 0 if there is nothing to estimate it from."""

    def moderated(self, variance: float, df: float, limit: float) -> float:
        """Return the moderated variance of a group, with d0 limited to `limit`."""
        weight = min(self.weight, limit)
        return (weight * self.variance + df * variance) / (weight + df)

    def difference(self, later: GroupMean, baseline: GroupMean) -> MeanDifference | None:
        """Return the mean of `later` minus that of `baseline`; None if both variances are 0."""
        means = (later, baseline)
        if not sum(mean.variance for mean in means) > 0:
            return None
        variances, df = self.used(means)
        total = sum(variances[mean.place] / mean.seeds for mean in means)
        return MeanDifference(
            later.estimate.value - baseline.estimate.value,
            math.sqrt(total),
            df,
            (math.sqrt(variances[later.place]), math.sqrt(variances[baseline.place])),
        )

    def used(self, means: Sequence[GroupMean]) -> tuple[dict[int, float], float]:
        """Return index of a group -> moderated variance for a comparison of `means`, and the
        degrees of freedom of the error of their sum or difference. One variance must exceed 0.
        """
        df = {**self.df, **{mean.place: mean.estimate.df for mean in means}}
        variances = {**self.variances, **{mean.place: mean.variance for mean in means}}
        limit = BORROWED * (sum(df.values()) - sum(mean.estimate.df for mean in means))
        used = {
            index: self.moderated(variance, df[index], limit)
            for index, variance in variances.items()
        }
        shares = self._shares(means, used, df, min(self.weight, limit))
        error_df = 1 / sum(share**2 / df[index] for index, share in shares.items())
        return used, min(error_df, sum(df.values()))

    def _shares(
        self,
        means: Iterable[GroupMean],
        used: Mapping[int, float],
        df: Mapping[int, float],
        weight: float,
    ) -> dict[int, float]:
        """Return the share of each group's variance in the squared error of a difference."""
        total_df, shares = sum(df.values()), dict.fromkeys(df, 0.0)
        for mean in means:
            own = df[mean.place] / (weight + df[mean.place])
            for index in shares:
                borrowed = (1 - own) * df[index] / total_df
                part = borrowed + own * (index == mean.place)
                shares[index] += part * used[index] / mean.seeds
        total = sum(shares.values())
        return {index: share / total for index, share in shares.items()}


def prior(means: Iterable[GroupMean]) -> Prior:
    """Return the prior of one quantity, from the means of the groups in all pairs.

    The variance of a group differs between its pairs, because each pair has its own common range of
    H or horizon. The prior uses their mean.
    """
    by_group: dict[int, list[GroupMean]] = {}
    for mean in means:
        by_group.setdefault(mean.place, []).append(mean)
    variances = {
        index: float(np.mean([mean.variance for mean in group_means]))
        for index, group_means in by_group.items()
    }
    df = {
        index: float(np.mean([mean.estimate.df for mean in group_means]))
        for index, group_means in by_group.items()
    }
    return Prior(
        variances, df, *_fit_prior(np.array([*variances.values()]), np.array([*df.values()]))
    )


def _fit_prior(variances: Floats, df: Floats) -> tuple[float, float]:
    """Return s0^2 and d0 from the moments of log s^2."""
    if len(variances) < 2 or not variances.max() > 0:
        return 0.0, 0.0
    typical = float(np.median(variances)) or float(variances.mean())
    logs = np.log(np.maximum(variances, LEAST * typical))
    logs = logs - special.digamma(df / 2) + np.log(df / 2)
    excess = float(logs.var(ddof=1) - special.polygamma(1, df / 2).mean())
    if excess <= 0:
        return float(df @ variances / df.sum()), math.inf
    weight = 2 * trigamma_inverse(excess)
    half = weight / 2
    return float(np.exp(logs.mean() + special.digamma(half) - np.log(half))), weight


def trigamma_inverse(value: float) -> float:
    """Return the x > 0 with trigamma(x) = `value` > 0 (Smyth 2004, appendix)."""
    x = 0.5 + 1 / value
    for _ in range(50):
        trigamma = float(special.polygamma(1, x))
        step = trigamma * (1 - trigamma / value) / float(special.polygamma(2, x))
        x += step
        if -step / x < 1e-8:
            break
    return x
