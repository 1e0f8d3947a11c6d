"""Statistics of repeated conversations with the same users.

These are pure functions of outcomes, shape (users, repeats), each 0 to 1, nan for lost
conversations. A user has the same persona in every repeat, with other random numbers. Users with no
or too few known conversations are left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.train.policy_gradient.advantages import FloatArray

SUCCESS = 1.0
"""The outcome of a successful conversation, in which the user's emotion reached 100."""


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """Two variance components of outcomes, and the standard error of their mean; nan if unknown."""

    within_sd: float
    """Standard deviation of conversations with one user."""
    between_sd: float
    """Standard deviation of the users' expected outcomes."""
    se: float
    """Standard error of the mean over all conversations, with users as the sampling units."""


def variance_components(outcomes: FloatArray) -> VarianceComponents:
    """Estimate the components of the one-way random model, outcome = mean + user + conversation.

    The estimates come from expected mean squares. With k repeats each, within^2 is the variance
    about the users' means; between^2 = variance of the users' means - within^2 / k, at least 0;
    se^2 = between^2 / users + within^2 / (users k). With different numbers n of known
    conversations, N in total: between^2 = (mean square between - within^2) / n0, where
    n0 = (N - sum n^2 / N) / (users - 1), and se^2 = between^2 sum (n / N)^2 + within^2 / N (Searle,
    Linear Models, section 10.2). With one repeat the components are unknown, and se is that of
    independent values.
    """
    is_known = np.isfinite(outcomes)
    has_known = is_known.any(axis=1)
    values, is_known = np.where(is_known, outcomes, 0.0)[has_known], is_known[has_known]
    counts = is_known.sum(axis=1)
    users, total = len(counts), int(counts.sum())
    if users < 2:
        return VarianceComponents(math.nan, math.nan, math.nan)
    means = values.sum(axis=1) / counts
    mean_square = float((counts * (means - values.sum() / total) ** 2).sum()) / (users - 1)
    if total == users:
        return VarianceComponents(math.nan, math.nan, float(means.std(ddof=1)) / math.sqrt(users))
    within = float((is_known * (values - means[:, None]) ** 2).sum()) / (total - users)
    typical_count = (total - float((counts**2).sum()) / total) / (users - 1)
    between = max(0.0, (mean_square - within) / typical_count)
    variance = between * float(((counts / total) ** 2).sum()) + within / total
    return VarianceComponents(math.sqrt(within), math.sqrt(between), math.sqrt(variance))


def best_of(outcomes: FloatArray, k: int) -> float:
    """Return the expected best of k conversations with a user, averaged over users.

    nan if no user has k known conversations. The estimate from r >= k of them is unbiased: the
    order statistics x(1) <= ... <= x(r) are weighted by the probability that x(i) is the largest of
    k drawn without replacement, C(i - 1, k - 1) / C(r, k).
    """

    def best(values: FloatArray) -> float:
        r = len(values)
        chances = [math.comb(i - 1, k - 1) / math.comb(r, k) for i in range(1, r + 1)]
        return float(np.sort(values) @ np.array(chances))

    return _mean_over_users(outcomes, k, best)


def success_any(outcomes: FloatArray, k: int) -> float:
    """Return the probability that at least one of k conversations with a user succeeds, averaged
    over users; nan if no user has k known conversations.

    Unbiased from c successes of r: 1 - C(r - c, k) / C(r, k) (pass@k, arXiv 2107.03374).
    """

    def chance(values: FloatArray) -> float:
        missed = int((values < SUCCESS).sum())
        return 1 - math.comb(missed, k) / math.comb(len(values), k)

    return _mean_over_users(outcomes, k, chance)


def success_all(outcomes: FloatArray, k: int) -> float:
    """Return the probability that all of k conversations with a user succeed, averaged over users;
    nan if no user has k known conversations.

    Unbiased from c successes of r: C(c, k) / C(r, k) (pass^k, arXiv 2406.12045).
    """

    def chance(values: FloatArray) -> float:
        return math.comb(int((values >= SUCCESS).sum()), k) / math.comb(len(values), k)

    return _mean_over_users(outcomes, k, chance)


def _mean_over_users(outcomes: FloatArray, k: int, measure: Callable[[FloatArray], float]) -> float:
    by_user = [row[np.isfinite(row)] for row in outcomes]
    values = [measure(user_outcomes) for user_outcomes in by_user if len(user_outcomes) >= k]
    return float(np.mean(values)) if values else math.nan
