"""Find the seeds, users and repeats that give a stated half-width at the lowest cost.

The variance of an arm's mean over n seeds, m users and k conversations with each is
    seed / n + user / m + repeat / (m k) + (seed x user) / (n m) + rest / (n m k).
Two arms with the same users and random draws share the second and third term, which cancel in
their difference; the other terms count twice.

With very few seeds a half-width can grow with the number of users, because the term of the users,
which shrinks, contributes degrees of freedom. Plans avoid this: each also holds with more users.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from harness.law.results import Floats
from harness.law.variance.components import REPEAT, REST, SEED, SEED_USER, USER

MOST_SEEDS, MOST_USERS = 300, 100_000
REPEATS = (1, 2, 3, 4, 6, 8, 12, 16)
MEAN, DIFFERENCE = "mean", "difference"


@dataclass(frozen=True)
class Cost:
    """The cost of runs, in seconds of one worker."""

    training: float
    """Seconds per run, without its evaluations."""
    conversation: float
    """Seconds per conversation of an evaluation."""
    evaluations: int
    """Evaluations per run."""
    levels: int
    """Levels per evaluation."""

    def arm_seconds(self, seeds: Floats, users: Floats, repeats: float) -> Floats:
        """Return the cost of an arm in seconds."""
        conversations = self.evaluations * self.levels * users * repeats
        total: Floats = seeds * (self.training + conversations * self.conversation)
        return total


@dataclass(frozen=True)
class SizePlan:
    """A plan with its half-width and cost."""

    target: str
    """`mean` of an arm, or `difference` of two arms."""
    seeds: int
    users: int
    repeats: int
    half_width: float
    seconds: float
    """Cost of an arm."""
    most: float | None = None
    """97.5% quantile of the half-width over the uncertainty of the components."""


def half_width(
    target: str,
    variances: Mapping[str, float] | Mapping[str, Floats],
    seeds: Floats,
    users: Floats,
    repeats: float,
) -> Floats:
    """Return the half-width of the 95% t interval for a plan of these sizes.

    Degrees of freedom: Satterthwaite 1946. Components missing in `variances` count as 0.
    """
    seed, user, crossed, repeat, rest = (
        np.asarray(variances.get(name, 0.0)) for name in (SEED, USER, SEED_USER, REPEAT, REST)
    )
    terms = [
        (seed / seeds, seeds - 1),
        ((crossed + rest / repeats) / (seeds * users), (seeds - 1) * (users - 1)),
    ]
    if target == MEAN:
        terms.append(((user + repeat / repeats) / users, users - 1))
    total: Floats = np.asarray(sum(term for term, _ in terms), float)
    spread: Floats = np.asarray(sum(term**2 / df for term, df in terms), float)
    with np.errstate(divide="ignore", invalid="ignore"):
        degrees = np.where(spread > 0, total**2 / spread, np.inf)
    if target == DIFFERENCE:
        degrees = degrees * 2  # two arms with independent errors
    t = special.stdtrit(np.minimum(degrees, 1e9), 0.975)
    return np.asarray(t * np.sqrt((2 if target == DIFFERENCE else 1) * total), float)


def cheapest(
    target: str, variances: Mapping[str, float], wanted: float, cost: Cost
) -> SizePlan | None:
    """Return the plan with the lowest cost; None if no plan reaches the half-width `wanted`."""
    seeds = np.arange(2, MOST_SEEDS + 1, dtype=float)
    best: SizePlan | None = None
    for repeats in REPEATS:
        users = _fewest_users(target, variances, wanted, seeds, repeats)
        reached = np.isfinite(users)
        if not reached.any():
            continue
        n, m = seeds[reached], users[reached]
        seconds = cost.arm_seconds(n, m, repeats)
        index = int(np.argmin(seconds))
        if best is None or seconds[index] < best.seconds:
            half = float(half_width(target, variances, n[[index]], m[[index]], repeats)[0])
            best = SizePlan(
                target, int(n[index]), int(m[index]), repeats, half, float(seconds[index])
            )
    return best


def with_upper_half_width(plan: SizePlan, draws: Mapping[str, Floats]) -> SizePlan:
    """Return the plan with `most` filled in. `draws`: component -> draws, all of equal number."""
    sizes = np.array([plan.seeds], float), np.array([plan.users], float)
    half_widths = half_width(plan.target, draws, *sizes, plan.repeats)
    return replace(plan, most=float(np.quantile(half_widths, 0.975)))


def _fewest_users(
    target: str, variances: Mapping[str, float], wanted: float, seeds: Floats, repeats: int
) -> Floats:
    """Return the smallest number of users for each number of seeds; inf if none suffices."""
    low, high = np.full(len(seeds), 2.0), np.full(len(seeds), float(MOST_USERS))
    out_of_reach = half_width(target, variances, seeds, high, repeats) > wanted
    while (high - low > 0.5).any():
        middle = np.floor((low + high) / 2)
        enough = half_width(target, variances, seeds, middle, repeats) <= wanted
        high = np.where(enough, middle, high)
        low = np.where(enough, low, middle + 1)
        low = np.minimum(low, high)
    return np.where(out_of_reach, np.inf, high)
