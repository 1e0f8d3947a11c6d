"""What several conversations with each of several users say of a policy.

Pure functions of outcomes of shape (users, repeats), each 0 to 1, nan where one was lost. A user is
met under the same persona every time, with other draws. A user whom none or too few of the
conversations are known of is left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from harness.train.policy_gradient.advantages import FloatArray

SUCCESS = 1.0
"""The outcome of a conversation that succeeded: the user's emotion reached 100."""


@dataclass(frozen=True, slots=True)
class Spread:
    """Two components of the variance of outcomes, and the error of their mean; nan if unknown."""

    within_sd: float
    """Standard deviation of conversations with one user."""
    between_sd: float
    """Standard deviation of the users' expected outcomes."""
    se: float
    """Standard error of the mean over all conversations, users being what is sampled."""


def spread(outcomes: FloatArray) -> Spread:
    """Expected mean squares of the one-way random model, outcome = mean + user + conversation.

    With k repeats each: within^2 is the variance about the users' means; between^2 = variance
    of the users' means - within^2 / k, at least 0; se^2 = between^2 / users + within^2 / (users k).
    With unlike numbers n of known conversations, N in all: between^2 = (mean square between -
    within^2) / n0, where n0 = (N - sum n^2 / N) / (users - 1), and
    se^2 = between^2 sum (n / N)^2 + within^2 / N (Searle, Linear Models, section 10.2).
    With one repeat the components are unknown, and se is that of independent values.
    """
    known = np.isfinite(outcomes)
    met = known.any(axis=1)
    values, known = np.where(known, outcomes, 0.0)[met], known[met]
    counts = known.sum(axis=1)
    users, total = len(counts), int(counts.sum())
    if users < 2:
        return Spread(math.nan, math.nan, math.nan)
    means = values.sum(axis=1) / counts
    among = float((counts * (means - values.sum() / total) ** 2).sum()) / (users - 1)
    if total == users:
        return Spread(math.nan, math.nan, float(means.std(ddof=1)) / math.sqrt(users))
    within = float((known * (values - means[:, None]) ** 2).sum()) / (total - users)
    typical = (total - float((counts**2).sum()) / total) / (users - 1)
    between = max(0.0, (among - within) / typical)
    variance = between * float(((counts / total) ** 2).sum()) + within / total
    return Spread(math.sqrt(within), math.sqrt(between), math.sqrt(variance))


def best_of(outcomes: FloatArray, k: int) -> float:
    """Expected best of k conversations with one user, mean over users; nan where none has k.

    Unbiased from r >= k known ones: their order statistics x(1) <= ... <= x(r), weighted by the
    chance that x(i) is the largest of k drawn without replacement, C(i - 1, k - 1) / C(r, k).
    """

    def best(known: FloatArray) -> float:
        r = len(known)
        chances = [math.comb(i - 1, k - 1) / math.comb(r, k) for i in range(1, r + 1)]
        return float(np.sort(known) @ np.array(chances))

    return _mean_over_users(outcomes, k, best)


def success_any(outcomes: FloatArray, k: int) -> float:
    """Chance that one of k conversations with a user succeeds, mean over users; nan where none
    has k: 1 - C(r - c, k) / C(r, k) with c successes of r, unbiased (pass@k, arXiv 2107.03374).
    """

    def chance(known: FloatArray) -> float:
        missed = int((known < SUCCESS).sum())
        return 1 - math.comb(missed, k) / math.comb(len(known), k)

    return _mean_over_users(outcomes, k, chance)


def success_all(outcomes: FloatArray, k: int) -> float:
    """Chance that all of k conversations with a user succeed, mean over users; nan where none
    has k: C(c, k) / C(r, k) with c successes of r, unbiased (pass^k, arXiv 2406.12045).
    """

    def chance(known: FloatArray) -> float:
        return math.comb(int((known >= SUCCESS).sum()), k) / math.comb(len(known), k)

    return _mean_over_users(outcomes, k, chance)


def _mean_over_users(outcomes: FloatArray, k: int, measure: Callable[[FloatArray], float]) -> float:
    by_user = [row[np.isfinite(row)] for row in outcomes]
    values = [measure(known) for known in by_user if len(known) >= k]
    return float(np.mean(values)) if values else math.nan
