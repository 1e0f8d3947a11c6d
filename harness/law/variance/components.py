"""Estimate variance components by expected mean squares, with generalised confidence intervals.

The crossed model of one arm: outcome of seed s with user u in conversation r =
    mean + seed_s + user_u + repeat_r(u) + (seed x user)_su + rest_sr(u)
because all runs use the same users, and each conversation the same random draws (Searle, Casella
and McCulloch, Variance Components, 1992, chapter 4). Intervals: each mean square is drawn as its
value times its degrees of freedom over a chi-squared variable, and the component is computed from
the draws (Weerahandi 1993; Burdick, Borror and Montgomery 2005). Components are at least 0.

Components of several arms are means over the arms, weighted by the degrees of freedom of seeds.
Mean squares are pooled before they are drawn or clipped at 0, because skewed or clipped values
would not average out. Those of users and repeats are drawn once for all arms, because arms share
users and random draws, so their errors are not independent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from harness.law.results import Floats, Interval

SEED, USER, REPEAT, SEED_USER, REST = "seed", "user", "repeat", "seed_user", "rest"
SHARED = (USER, REPEAT)
"""Mean squares shared by all arms: the held-out users, and the draws of each conversation."""
SQUARES = (SEED, USER, SEED_USER, REPEAT, REST)
DRAWS = 10_000
GRID = 400
"""Number of quantiles of a noncentral F that are computed, at .2 ms each."""
LARGEST_NONCENTRALITY = 9_999.0
"""scipy searches noncentralities up to 10,000, and returns that or a wrong one beyond."""
STREAM = 20_260_103
"""Seed of the draws, fixed so that the same data give the same interval."""


@dataclass(frozen=True)
class MeanSquare:
    """A mean square and its degrees of freedom."""

    value: float
    df: float

    def draw(self, quantiles: Floats) -> Floats:
        """Return draws of the expected mean square at these quantiles of chi-squared."""
        chi_squared = special.chdtri(self.df, quantiles)
        return np.asarray(self.value * self.df / chi_squared, float)

    def __mul__(self, factor: float) -> MeanSquare:
        return MeanSquare(self.value * factor, self.df)


@dataclass(frozen=True)
class ArmMeanSquares:
    """The mean squares of an arm, by source of variation."""

    weight: float
    """Weight of the arm in means over arms."""
    squares: Mapping[str, MeanSquare]
    factors: Mapping[str, Mapping[str, float]]
    """Component -> mean square -> its factor in the component."""


@dataclass(frozen=True)
class ComponentDraws:
    """A variance: its estimate, at least 0, and draws for its interval, shape (DRAWS,)."""

    value: float
    draws: Floats

    def interval(self) -> Interval:
        return interval(self.value, self.draws)


def interval(value: float, draws: Floats) -> Interval:
    low, high = np.quantile(draws, (0.025, 0.975))
    return Interval(value, float(min(low, value)), float(max(high, value)))


def from_mean_squares(arms: Sequence[ArmMeanSquares]) -> dict[str, ComponentDraws]:
    """Return the components that at least one arm has, averaged over the arms with each."""
    quantiles = {
        name: np.random.default_rng([STREAM, number, 2]).uniform(size=DRAWS)
        for number, name in enumerate(SQUARES)
    }
    components = {}
    for component in dict.fromkeys(name for arm in arms for name in arm.factors):
        value, draws = 0.0, np.zeros(DRAWS)
        for name, terms in _terms(arms, component).items():
            value += sum(term.value for term in terms)
            for term in terms if name in SHARED else [_sum_terms(terms)]:
                draws += term.draw(quantiles[name])
        components[component] = ComponentDraws(max(0.0, value), np.maximum(0.0, draws))
    return components


def _terms(arms: Sequence[ArmMeanSquares], component: str) -> dict[str, list[MeanSquare]]:
    """Return mean square -> its contributions to the component's mean over arms, one per arm."""
    with_component = [arm for arm in arms if component in arm.factors]
    total = sum(arm.weight for arm in with_component)
    terms: dict[str, list[MeanSquare]] = {}
    for arm in with_component:
        for name, factor in arm.factors[component].items():
            terms.setdefault(name, []).append(arm.squares[name] * (factor * arm.weight / total))
    return terms


def _sum_terms(terms: Sequence[MeanSquare]) -> MeanSquare:
    """Return the sum of independent mean squares; degrees of freedom by Satterthwaite 1946."""
    value, spread = (
        sum(term.value for term in terms),
        sum(term.value**2 / term.df for term in terms),
    )
    return MeanSquare(value, value**2 / spread if spread > 0 else sum(term.df for term in terms))


def from_crossed_outcomes(*arms: Floats) -> dict[str, ComponentDraws]:
    """Return the components of outcomes of shape (seeds, users, repeats), one array per arm.

    With one repeat, `user` includes the component of repeats and `seed_user` the rest, so either
    all arms must have one repeat or none. Raise ValueError for fewer than 2 seeds or users, and for
    values that are not finite.
    """
    for outcomes in arms:
        seeds, users, repeats = outcomes.shape
        if seeds < 2 or users < 2 or not repeats or not np.isfinite(outcomes).all():
            raise ValueError(f"two seeds and users at least, all finite, got {outcomes.shape}")
    return from_mean_squares(
        [ArmMeanSquares(len(arm) - 1, mean_squares(arm), weights_of(*arm.shape)) for arm in arms]
    )


def weights_of(seeds: int, users: int, repeats: int) -> dict[str, dict[str, float]]:
    """Return component -> mean square -> its factor, from the expected mean squares:

    seed          rest + repeats seed_user + users repeats seed
    user          rest + repeats seed_user + seeds repeat + seeds repeats user
    seed x user   rest + repeats seed_user
    repeat        rest + seeds repeat
    """
    weights: dict[str, dict[str, float]] = {
        SEED: {SEED: 1 / (users * repeats), SEED_USER: -1 / (users * repeats)},
        USER: {USER: 1 / (seeds * repeats), SEED_USER: -1 / (seeds * repeats)},
        SEED_USER: {SEED_USER: 1 / repeats},
    }
    if repeats > 1:
        weights[USER] |= {REPEAT: -1 / (seeds * repeats), REST: 1 / (seeds * repeats)}
        weights[SEED_USER] |= {REST: -1 / repeats}
        weights[REPEAT] = {REPEAT: 1 / seeds, REST: -1 / seeds}
        weights[REST] = {REST: 1.0}
    return weights


def mean_squares(outcomes: Floats) -> dict[str, MeanSquare]:
    """Return the mean squares of outcomes of shape (seeds, users, repeats), by source.

    All except that of seeds are means over users, and users near a bound of the reward spread less.
    So the degrees of freedom of such a mean square are limited by its own spread over users.
    """
    seeds, users, repeats = outcomes.shape
    mean = outcomes.mean()
    by_seed, by_user = outcomes.mean(axis=(1, 2)), outcomes.mean(axis=(0, 2))
    cells = outcomes.mean(axis=2)
    crossing = cells - by_seed[:, None] - by_user[None, :] + mean
    bessel = users / (users - 1)
    seed_square = users * repeats * float(((by_seed - mean) ** 2).sum()) / (seeds - 1)
    squares = {
        SEED: MeanSquare(seed_square, seeds - 1),
        USER: _mean_over_users(seeds * repeats * (by_user - mean) ** 2 * bessel, users - 1),
        SEED_USER: _mean_over_users(
            repeats * (crossing**2).sum(axis=0) / (seeds - 1) * bessel, (seeds - 1) * (users - 1)
        ),
    }
    if repeats > 1:
        repeat_means, repeat_df = outcomes.mean(axis=0), repeats - 1
        within = repeat_means - by_user[:, None]
        rest = outcomes - repeat_means[None] - cells[:, :, None] + by_user[None, :, None]
        squares[REPEAT] = _mean_over_users(
            seeds * (within**2).sum(axis=1) / repeat_df, users * repeat_df
        )
        squares[REST] = _mean_over_users(
            (rest**2).sum(axis=(0, 2)) / (repeat_df * (seeds - 1)), users * repeat_df * (seeds - 1)
        )
    return squares


def _mean_over_users(per_user: Floats, df: int) -> MeanSquare:
    """Return a mean square as the mean over users of `per_user`.

    `df` are its degrees of freedom if all users spread alike. They are reduced to match the
    variance of the mean over users, as in Satterthwaite 1946.
    """
    value, error = float(per_user.mean()), float(per_user.var(ddof=1)) / len(per_user)
    return MeanSquare(value, min(df, 2 * value**2 / error) if error > 0 else df)


def among_means(
    blocks: Sequence[Sequence[tuple[float, float, int]]], stream: int = 0
) -> ComponentDraws | None:
    """Return the variance of the means of arms that differ in one factor, beyond noise of seeds.

    Each block holds arms that are equal in all other factors, as (mean, standard error over seeds,
    seeds). Arms are fixed: it is their own variance, sum (mean - their mean)^2 / (arms - 1), with
    the interval of a noncentral F. None without a block of two arms with two seeds each.
    """
    blocks = [[arm for arm in block if arm[2] > 1] for block in blocks]
    blocks = [block for block in blocks if len(block) > 1]
    df = sum(len(block) - 1 for block in blocks)
    if not df:
        return None
    total = sum(float(np.var([mean for mean, _, _ in block]) * len(block)) for block in blocks)
    arms = [arm for block in blocks for arm in block]
    noise = float(np.mean([error**2 for _, error, _ in arms]))
    error_df = sum(seeds - 1 for _, _, seeds in arms)
    value = max(0.0, total / df - noise)
    if noise == 0:
        return ComponentDraws(value, np.full(DRAWS, value))
    grid = (np.arange(GRID) + 0.5) / GRID
    variances = _noncentralities(df, error_df, grid, total / df / noise) * noise / df
    quantiles = np.random.default_rng([STREAM, stream, 1]).uniform(size=DRAWS)
    return ComponentDraws(value, np.interp(quantiles, grid, variances))


def _noncentralities(df: int, error_df: int, probabilities: Floats, f: float) -> Floats:
    """Return the noncentralities at which an F variable is below `f` with these probabilities; 0
    where there is none.

    Large ones come from the square root of a noncentral chi-squared variable, which is nearly
    normal with variance 1. They agree with the exact ones within 1%.
    """
    exact = special.ncfdtrinc(df, error_df, probabilities, f)
    noncentralities = np.maximum(0.0, np.nan_to_num(exact, nan=0.0, posinf=np.inf))
    if noncentralities.max() < LARGEST_NONCENTRALITY:
        return noncentralities
    chi_squared = f * df * special.chdtri(error_df, 1 - probabilities) / error_df
    roots = np.sqrt(chi_squared)[:, None] - special.ndtri(probabilities)
    values = np.maximum(0.0, np.maximum(0.0, roots) ** 2 - (df - 1))
    large: Floats = np.quantile(values, 1 - probabilities)
    return large
