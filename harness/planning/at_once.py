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
    left = np.where(counts, values - mean[:, :, None], 0.0)
    variance: Floats = (left**2).sum(axis=2) / np.maximum(n - 1, 1)
    return GroupMoments(mean, variance, n)


def is_decided(rule: DecisionRule, found: GroupMoments, at: int) -> Flags:
    """Return whether pair number `at` is decided to differ, with the later level higher.

    For a paired rule the groups are the differences of each pair.
    """
    if rule.paired:
        p, value = _of_pairs(found, at)
        result: Flags = (p < claims.LEVEL) & (value > 0)
        return result
    df = np.where(_with_prior(rule, found), found.df, 0.0)
    prior = _prior(found.variance, df)
    p = np.stack([_p_differs(found, df, prior, pair) for pair in rule.pairs], axis=1)
    later, baseline = rule.pairs[at]
    share = len(rule.pairs) / rule.comparisons
    higher = found.mean[:, later] > found.mean[:, baseline]
    said: Flags = (_holm(p)[:, at] < claims.LEVEL * share) & higher
    return said


def _of_pairs(found: GroupMoments, at: int) -> tuple[Floats, Floats]:
    square = found.variance[:, at] / np.maximum(found.n[:, at], 1)
    tested = found.enough[:, at] & (square > 0)
    return _p(found.mean[:, at], square, found.df[:, at], tested), found.mean[:, at]


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
    found: GroupMoments, df: Floats, prior: tuple[Floats, Floats], places: tuple[int, int]
) -> Floats:
    """Return claims.p_differs of moderation.Prior.difference for one pair in each study.

    `df` is 0 for levels that are not in the prior.
    """
    pair = list(places)
    together, own = df.sum(axis=1), df[:, pair].sum(axis=1)
    variance, weight = prior
    weight = np.minimum(weight, moderation.BORROWED * (together - own))
    held = np.maximum(weight[:, None] + df, 1)
    used = (weight[:, None] * variance[:, None] + df * found.variance) / held
    terms = used / np.maximum(found.n, 1)
    square = terms[:, pair].sum(axis=1)
    shares = np.zeros_like(df)
    for place in pair:
        own_part = df[:, place] / held[:, place]
        borrowed = (1 - own_part)[:, None] * df / np.maximum(together, 1)[:, None]
        borrowed[:, place] += own_part
        shares += borrowed * used / np.maximum(found.n[:, [place]], 1)
    tested = found.enough[:, pair].all(axis=1) & (found.variance[:, pair].sum(axis=1) > 0)
    whole = np.where(tested, shares.sum(axis=1), 1.0)
    parts = (shares / whole[:, None]) ** 2 / np.maximum(df, 1)
    free = np.minimum(1 / np.where(tested, parts.sum(axis=1), 1.0), together)
    return _p(found.mean[:, pair[0]] - found.mean[:, pair[1]], square, free, tested)


def _with_prior(rule: DecisionRule, found: GroupMoments) -> Flags:
    """Return a mask of the levels that are in at least one tested pair."""
    inside = np.zeros(found.n.shape, dtype=bool)
    for pair in map(list, rule.pairs):
        both = found.enough[:, pair].all(axis=1)
        inside[:, pair] |= np.expand_dims(both, 1)
    return inside


def _prior(variances: Floats, df: Floats) -> tuple[Floats, Floats]:
    """Return s0^2 and d0 of moderation.prior for the levels of each study whose df is not 0."""
    inside = df > 0
    count = np.maximum(inside.sum(axis=1), 2)
    free = np.where(inside, df, 1.0)
    least = np.maximum(moderation.LEAST * _median(variances, inside), SMALLEST)[:, None]
    logs = np.log(np.where(inside, np.maximum(variances, least), 1.0))
    logs = np.where(inside, logs - special.digamma(free / 2) + np.log(free / 2), 0.0)
    mean = logs.sum(axis=1) / count
    spread = np.where(inside, logs - mean[:, None], 0.0)
    noise = np.where(inside, special.polygamma(1, free / 2), 0.0).sum(axis=1) / count
    beyond = (spread**2).sum(axis=1) / (count - 1) - noise
    alike = beyond <= 0
    weight = 2 * _trigamma_inverse(np.where(alike, 1.0, beyond))
    unlike_variance = np.exp(mean + special.digamma(weight / 2) - np.log(weight / 2))
    pooled = (df * variances).sum(axis=1) / np.maximum(df.sum(axis=1), 1)
    few = inside.sum(axis=1) < 2
    variance = np.where(few, 0.0, np.where(alike, pooled, unlike_variance))
    return variance, np.where(few, 0.0, np.where(alike, np.inf, weight))


def _median(values: Floats, inside: Flags) -> Floats:
    """Return the median of each row inside the mask; 1 if it is empty. Faster than np.nanmedian."""
    ranked = np.sort(np.where(inside, values, np.inf), axis=1)
    count = np.maximum(inside.sum(axis=1, keepdims=True), 1)
    both = [np.take_along_axis(ranked, at, axis=1)[:, 0] for at in ((count - 1) // 2, count // 2)]
    return np.where(inside.any(axis=1), (both[0] + both[1]) / 2, 1.0)


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
