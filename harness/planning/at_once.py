"""Apply `task.DecisionRule` to many studies at once, for quantities with unweighted runs.

These are the same tests, vectorised: Welch's for two levels, moderated variances and Holm's
correction for more, and the paired test over seeds. tests/planning/test_power.py compares both
implementations study by study.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from harness.law.compare import claims, moderation
from harness.law.compare.random_effects import FEWEST_SEEDS
from harness.law.results import Floats
from harness.planning.task import DecisionRule

Flags = NDArray[np.bool_]
NEWTON_STEPS = 50
SMALLEST = float(np.finfo(float).tiny)


@dataclass(frozen=True)
class GroupMoments:
    """Means and variances over seeds, each of shape (studies, levels)."""

    mean: Floats
    variance: Floats
    n: Floats
    """The number of runs with the quantity."""

    @property
    def df(self) -> Floats:
        result: Floats = self.n - 1
        return result

    @property
    def enough(self) -> Flags:
        """Whether the level has enough runs for a standard error."""
        result: Flags = self.n >= FEWEST_SEEDS
        return result


def group_moments(values: Floats, counts: Flags) -> GroupMoments:
    """Return means and variances of values of shape (studies, levels, seeds) where `counts`."""
    n = counts.sum(axis=2).astype(float)
    mean = np.where(counts, values, 0.0).sum(axis=2) / np.maximum(n, 1)
    deviations = np.where(counts, values - mean[:, :, None], 0.0)
    variance: Floats = (deviations**2).sum(axis=2) / np.maximum(n - 1, 1)
    return GroupMoments(mean, variance, n)


def is_decided(rule: DecisionRule, moments: GroupMoments, index: int) -> Flags:
    """Return whether pair number `index` is decided to differ, with the later level higher.

    For a paired rule the groups are the differences of each pair.
    """
    if rule.paired:
        p, value = _paired_p_and_value(moments, index)
        result: Flags = (p < claims.LEVEL) & (value > 0)
        return result
    df = np.where(_compared_levels(rule, moments), moments.df, 0.0)
    prior = _prior(moments.variance, df)
    p = np.stack([_p_differs(moments, df, prior, pair) for pair in rule.pairs], axis=1)
    later, baseline = rule.pairs[index]
    share = len(rule.pairs) / rule.comparisons
    higher = moments.mean[:, later] > moments.mean[:, baseline]
    decided: Flags = (_holm(p)[:, index] < claims.LEVEL * share) & higher
    return decided


def _paired_p_and_value(moments: GroupMoments, index: int) -> tuple[Floats, Floats]:
    square = moments.variance[:, index] / np.maximum(moments.n[:, index], 1)
    tested = moments.enough[:, index] & (square > 0)
    return _p(moments.mean[:, index], square, moments.df[:, index], tested), moments.mean[:, index]


def _p(value: Floats, square: Floats, df: Floats, tested: Flags) -> Floats:
    """Return the two-sided p, given the squared error; infinite where nothing is tested."""
    error = np.sqrt(np.where(tested, square, 1.0))
    p = 2 * special.stdtr(np.where(tested, df, 1.0), -np.abs(value) / error)
    result: Floats = np.where(tested, p, np.inf)
    return result


def _holm(p: Floats) -> Floats:
    """Apply claims.holm to the tests of each study, ignoring infinite p."""
    order = np.argsort(p, axis=1, kind="stable")
    tests = np.isfinite(p).sum(axis=1, keepdims=True)
    ranked = np.take_along_axis(p, order, axis=1) * np.maximum(tests - np.arange(p.shape[1]), 1)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, np.maximum.accumulate(ranked, axis=1), axis=1)
    return adjusted


def _p_differs(
    moments: GroupMoments, df: Floats, prior: tuple[Floats, Floats], levels: tuple[int, int]
) -> Floats:
    """Return claims.p_differs of moderation.Prior.difference for one pair in each study.

    `df` is 0 for levels that are not in the prior.
    """
    pair = list(levels)
    total_df, own_df = df.sum(axis=1), df[:, pair].sum(axis=1)
    variance, weight = prior
    weight = np.minimum(weight, moderation.BORROWED * (total_df - own_df))
    posterior_df = np.maximum(weight[:, None] + df, 1)
    moderated = (weight[:, None] * variance[:, None] + df * moments.variance) / posterior_df
    terms = moderated / np.maximum(moments.n, 1)
    square = terms[:, pair].sum(axis=1)
    shares = np.zeros_like(df)
    for level in pair:
        own_part = df[:, level] / posterior_df[:, level]
        borrowed = (1 - own_part)[:, None] * df / np.maximum(total_df, 1)[:, None]
        borrowed[:, level] += own_part
        shares += borrowed * moderated / np.maximum(moments.n[:, [level]], 1)
    tested = moments.enough[:, pair].all(axis=1) & (moments.variance[:, pair].sum(axis=1) > 0)
    total = np.where(tested, shares.sum(axis=1), 1.0)
    parts = (shares / total[:, None]) ** 2 / np.maximum(df, 1)
    sum_df = np.minimum(1 / np.where(tested, parts.sum(axis=1), 1.0), total_df)
    return _p(moments.mean[:, pair[0]] - moments.mean[:, pair[1]], square, sum_df, tested)


def _compared_levels(rule: DecisionRule, moments: GroupMoments) -> Flags:
    """Return a mask of the levels that are in at least one tested pair."""
    is_compared = np.zeros(moments.n.shape, dtype=bool)
    for pair in map(list, rule.pairs):
        have_enough = moments.enough[:, pair].all(axis=1)
        is_compared[:, pair] |= np.expand_dims(have_enough, 1)
    return is_compared


def _prior(variances: Floats, df: Floats) -> tuple[Floats, Floats]:
    """Return s0^2 and d0 of moderation.prior for the levels of each study whose df is not 0."""
    has_df = df > 0
    count = np.maximum(has_df.sum(axis=1), 2)
    safe_df = np.where(has_df, df, 1.0)
    least = np.maximum(moderation.LEAST * _median(variances, has_df), SMALLEST)[:, None]
    logs = np.log(np.where(has_df, np.maximum(variances, least), 1.0))
    logs = np.where(has_df, logs - special.digamma(safe_df / 2) + np.log(safe_df / 2), 0.0)
    mean = logs.sum(axis=1) / count
    spread = np.where(has_df, logs - mean[:, None], 0.0)
    noise = np.where(has_df, special.polygamma(1, safe_df / 2), 0.0).sum(axis=1) / count
    excess = (spread**2).sum(axis=1) / (count - 1) - noise
    is_alike = excess <= 0
    weight = 2 * _trigamma_inverse(np.where(is_alike, 1.0, excess))
    unlike_variance = np.exp(mean + special.digamma(weight / 2) - np.log(weight / 2))
    pooled = (df * variances).sum(axis=1) / np.maximum(df.sum(axis=1), 1)
    is_few = has_df.sum(axis=1) < 2
    variance = np.where(is_few, 0.0, np.where(is_alike, pooled, unlike_variance))
    return variance, np.where(is_few, 0.0, np.where(is_alike, np.inf, weight))


def _median(values: Floats, mask: Flags) -> Floats:
    """Return the median of each row inside the mask; 1 if it is empty. Faster than np.nanmedian."""
    ranked = np.sort(np.where(mask, values, np.inf), axis=1)
    count = np.maximum(mask.sum(axis=1, keepdims=True), 1)
    middle_values = [
        np.take_along_axis(ranked, middle, axis=1)[:, 0]
        for middle in ((count - 1) // 2, count // 2)
    ]
    return np.where(mask.any(axis=1), (middle_values[0] + middle_values[1]) / 2, 1.0)


def _trigamma_inverse(value: Floats) -> Floats:
    """Apply moderation.trigamma_inverse to each element."""
    x: Floats = 0.5 + 1 / value
    for _ in range(NEWTON_STEPS):
        trigamma = special.polygamma(1, x)
        step = trigamma * (1 - trigamma / value) / special.polygamma(2, x)
        x = x + step
        if (-step / x < 1e-8).all():
            break
    return x
