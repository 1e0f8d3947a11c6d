"""Components of variance by expected mean squares, with generalised confidence intervals.

The crossed model of one arm: outcome of seed s with user u in conversation r =
    mean + seed_s + user_u + repeat_r(u) + (seed x user)_su + rest_sr(u)
since every run meets the same users, each conversation with the same draws (Searle, Casella and
McCulloch, Variance Components, 1992, chapter 4). Intervals: each mean square times its degrees of
freedom over chi-squared of as many is drawn, and the component computed of the draws (Weerahandi
1993; Burdick, Borror and Montgomery 2005). No component is below 0.

Components of several arms are means over them, weighted by the degrees of freedom of their seeds.
Mean squares are pooled before anything is drawn or held at 0: what is skewed or cut off would not
average out. Those of users and repeats are drawn once for all arms, which meet the same users with
the same draws, so that what one arm's is off by is no error independent of the others'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from harness.law.results import Floats, Interval

SEED, USER, REPEAT, SEED_USER, REST = "seed", "user", "repeat", "seed_user", "rest"
SHARED = (USER, REPEAT)
"""Mean squares of what all arms meet: the held-out users, and the draws of each conversation."""
SQUARES = (SEED, USER, SEED_USER, REPEAT, REST)
DRAWS = 10_000
GRID = 400
"""Quantiles of a noncentral F that are computed: each takes .2 ms."""
STREAM = 20_260_103
"""Seed of the draws: the same data give the same interval."""


@dataclass(frozen=True)
class MeanSquare:
    """A mean square and its degrees of freedom."""

    value: float
    df: float

    def drawn(self, quantiles: Floats) -> Floats:
        """Draws of its expectation, by quantiles of its chi-squared."""
        by_chance = special.chdtri(self.df, quantiles)
        return np.asarray(self.value * self.df / by_chance, float)

    def __mul__(self, factor: float) -> MeanSquare:
        return MeanSquare(self.value * factor, self.df)


@dataclass(frozen=True)
class Squares:
    """The mean squares of an arm, by what they are of."""

    weight: float
    """Of the arm in means over arms."""
    squares: Mapping[str, MeanSquare]
    factors: Mapping[str, Mapping[str, float]]
    """Component -> mean square -> its factor in the component."""


@dataclass(frozen=True)
class Component:
    """A variance: its estimate, at least 0, and draws of it, shape (DRAWS,)."""

    value: float
    draws: Floats

    def interval(self) -> Interval:
        return interval(self.value, self.draws)


def interval(value: float, draws: Floats) -> Interval:
    low, high = np.quantile(draws, (0.025, 0.975))
    return Interval(value, float(min(low, value)), float(max(high, value)))


def of_squares(arms: Sequence[Squares]) -> dict[str, Component]:
    """The components that some arm has, each over the arms that have it."""
    quantiles = {
        name: np.random.default_rng([STREAM, number, 2]).uniform(size=DRAWS)
        for number, name in enumerate(SQUARES)
    }
    components = {}
    for component in dict.fromkeys(name for arm in arms for name in arm.factors):
        value, draws = 0.0, np.zeros(DRAWS)
        for name, terms in _terms(arms, component).items():
            value += sum(term.value for term in terms)
            for term in terms if name in SHARED else [_joined(terms)]:
                draws += term.drawn(quantiles[name])
        components[component] = Component(max(0.0, value), np.maximum(0.0, draws))
    return components


def _terms(arms: Sequence[Squares], component: str) -> dict[str, list[MeanSquare]]:
    """Mean square -> what it adds to the component's mean over arms, in each."""
    having = [arm for arm in arms if component in arm.factors]
    total = sum(arm.weight for arm in having)
    terms: dict[str, list[MeanSquare]] = {}
    for arm in having:
        for name, factor in arm.factors[component].items():
            terms.setdefault(name, []).append(arm.squares[name] * (factor * arm.weight / total))
    return terms


def _joined(terms: Sequence[MeanSquare]) -> MeanSquare:
    """The sum of independent mean squares; degrees of freedom by Satterthwaite 1946."""
    value, spread = sum(t.value for t in terms), sum(t.value**2 / t.df for t in terms)
    return MeanSquare(value, value**2 / spread if spread > 0 else sum(t.df for t in terms))


def crossed(*arms: Floats) -> dict[str, Component]:
    """The components of outcomes of shape (seeds, users, repeats), at least 2 seeds and users.

    With one repeat `user` holds the repeats' and `seed_user` the rest; so all arms have one, or all
    have more. Raises ValueError for fewer seeds or users, and for what is not finite.
    """
    for outcomes in arms:
        seeds, users, repeats = outcomes.shape
        if seeds < 2 or users < 2 or not repeats or not np.isfinite(outcomes).all():
            raise ValueError(f"two seeds and users at least, all finite, got {outcomes.shape}")
    return of_squares(
        [Squares(len(arm) - 1, mean_squares(arm), weights_of(*arm.shape)) for arm in arms]
    )


def weights_of(seeds: int, users: int, repeats: int) -> dict[str, dict[str, float]]:
    """Component -> mean square -> its factor, from the expected mean squares:

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
    """Of outcomes of shape (seeds, users, repeats), by what they are of.

    All but that of the seeds are means over users, of which those near a bound of the reward spread
    less: no such mean square counts for more degrees of freedom than its own spread over the users
    shows.
    """
    seeds, users, repeats = outcomes.shape
    mean = outcomes.mean()
    by_seed, by_user = outcomes.mean(axis=(1, 2)), outcomes.mean(axis=(0, 2))
    cells = outcomes.mean(axis=2)
    crossing = cells - by_seed[:, None] - by_user[None, :] + mean
    bessel = users / (users - 1)
    of_seeds = users * repeats * float(((by_seed - mean) ** 2).sum()) / (seeds - 1)
    squares = {
        SEED: MeanSquare(of_seeds, seeds - 1),
        USER: _over_users(seeds * repeats * (by_user - mean) ** 2 * bessel, users - 1),
        SEED_USER: _over_users(
            repeats * (crossing**2).sum(axis=0) / (seeds - 1) * bessel, (seeds - 1) * (users - 1)
        ),
    }
    if repeats > 1:
        of_repeat, free = outcomes.mean(axis=0), repeats - 1
        within = of_repeat - by_user[:, None]
        rest = outcomes - of_repeat[None] - cells[:, :, None] + by_user[None, :, None]
        squares[REPEAT] = _over_users(seeds * (within**2).sum(axis=1) / free, users * free)
        squares[REST] = _over_users(
            (rest**2).sum(axis=(0, 2)) / (free * (seeds - 1)), users * free * (seeds - 1)
        )
    return squares


def _over_users(of_each: Floats, df: int) -> MeanSquare:
    """A mean square as the mean of what each user has of it; `df`: its degrees of freedom if all
    spread alike. Matches the mean's variance over users, as Satterthwaite 1946 does.
    """
    value, error = float(of_each.mean()), float(of_each.var(ddof=1)) / len(of_each)
    return MeanSquare(value, min(df, 2 * value**2 / error) if error > 0 else df)


def among_means(
    blocks: Sequence[Sequence[tuple[float, float, int]]], stream: int = 0
) -> Component | None:
    """The variance of means of arms that differ in one thing only, beyond what seeds leave.

    `blocks`: of arms alike in all else, each as (mean, standard error over seeds, seeds). The arms
    are no sample of more: it is their own variance, sum (mean - their mean)^2 / (arms - 1), and its
    interval is that of a noncentral F. None without a block of two arms with two seeds each.
    """
    blocks = [[arm for arm in block if arm[2] > 1] for block in blocks]
    blocks = [block for block in blocks if len(block) > 1]
    free = sum(len(block) - 1 for block in blocks)
    if not free:
        return None
    total = sum(float(np.var([m for m, _, _ in b]) * len(b)) for b in blocks)
    arms = [arm for block in blocks for arm in block]
    noise = float(np.mean([error**2 for _, error, _ in arms]))
    freedom = sum(seeds - 1 for _, _, seeds in arms)
    value = max(0.0, total / free - noise)
    if noise == 0:
        return Component(value, np.full(DRAWS, value))
    grid = (np.arange(GRID) + 0.5) / GRID
    noncentrality = special.ncfdtrinc(free, freedom, grid, total / free / noise)
    beyond = np.maximum(0.0, np.nan_to_num(noncentrality, nan=0.0, posinf=0.0)) * noise / free
    levels = np.random.default_rng([STREAM, stream, 1]).uniform(size=DRAWS)
    return Component(value, np.interp(levels, grid, beyond))
