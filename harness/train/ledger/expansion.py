"""The change of H that one update makes, to second order, split by what made it.

An update moves the logits of the probe's prefixes by d = sum_k d_k, of which group k of the batch
gave d_k. With H the mean entropy on the prefixes, b its gradient and C its second derivative there,

    H(z + d) - H(z) = b d + 1/2 d C d + O(d^3).

The groups are independent draws, so with m the mean of d over batches and S its covariance the
expected change is b m + 1/2 m C m (the signal) + 1/2 tr(C S) (the noise). Of one batch the second
is estimated from the spread of the groups about their mean, G/(G-1) sum_k of 1/2 e_k C e_k with
e_k = d_k - d/G, and the first is b d plus the products of different groups, which hold no group's
noise twice. Both are unbiased, but for what the groups share by a common denominator.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.train.policy_gradient.advantages import FloatArray


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the change of H, nats."""

    value: float
    variance: float
    """Of the estimate, nats squared."""

    def __add__(self, other: Part) -> Part:
        """The sum of independent parts."""
        return Part(self.value + other.value, self.variance + other.variance)


@dataclass(frozen=True, slots=True)
class Increment:
    """What one batch's updates did to H on the probe."""

    signal: Part
    noise: Part
    remedy: Part

    def __add__(self, other: Increment) -> Increment:
        return Increment(
            self.signal + other.signal, self.noise + other.noise, self.remedy + other.remedy
        )


NOTHING = Increment(Part(0.0, 0.0), Part(0.0, 0.0), Part(0.0, 0.0))


def increment(log_p: FloatArray, taken: FloatArray, plain: FloatArray | None = None) -> Increment:
    """Split the change of H that a batch makes.

    `log_p`: log-probabilities at the prefixes before it, shape (prefixes, choices); `taken`: change
    of their logits by each group's part of the update, up to a constant a prefix, shape (groups,
    prefixes, choices), 2 groups or more; `plain`: the same of the algorithm without remedies, None
    where there are none.
    """
    groups, before = len(taken), taken if plain is None else plain
    every = taken if plain is None else np.concatenate([plain, taken])
    slopes, products = derivatives(log_p, every)
    own, mine = slopes[:groups], products[:groups, :groups]
    between = groups / (groups - 1)
    spread = np.diag(mine) - 2 * mine.mean(axis=0) + mine.mean()
    others = mine.sum(axis=1) - np.diag(mine)
    signal = Part(float(own.sum() + between * others.sum() / 2), _variance(own + between * others))
    noise = Part(float(between * spread.sum() / 2), _spread_variance(between * spread / 2))
    if before is taken:
        return Increment(signal, noise, NOTHING.remedy)
    whole = slopes[groups:].sum() + products[groups:, groups:].sum() / 2
    without = own.sum() + mine.sum() / 2
    by_group = slopes[groups:] + products[groups:, groups:].sum(axis=1) - own - mine.sum(axis=1)
    return Increment(signal, noise, Part(float(whole - without), _variance(by_group)))


def derivatives(log_p: FloatArray, moves: FloatArray) -> tuple[FloatArray, FloatArray]:
    """First derivative of the mean entropy along each move, shape (moves,), and second derivative
    along each two, shape (moves, moves); arguments as in `increment`.

    Along u, dH/dt = -E[(log p + H) u] and d2H/dt2 = -E[(1 + log p + H) (u - Eu)^2], the mean being
    over p: the first derivative is minus the covariance of log p and u, whose own derivative has a
    third moment and the variance of u.
    """
    p = np.exp(log_p)
    above = log_p - (p * log_p).sum(axis=1, keepdims=True)
    weight = p / len(log_p)
    centred = moves - (p * moves).sum(axis=2, keepdims=True)
    flat = centred.reshape(len(moves), -1)
    slopes: FloatArray = -flat @ (weight * above).ravel()
    products: FloatArray = -(flat * (weight * (1 + above)).ravel()) @ flat.T
    return slopes, products


def _variance(by_group: FloatArray) -> float:
    """Variance of a sum of independent terms, from their spread."""
    return float(len(by_group) * by_group.var(ddof=1))


def _spread_variance(by_group: FloatArray) -> float:
    """The same of terms that are squares of deviations from the groups' own mean; nan of 2 groups.

    Of normal deviations the sum has variance 2 (G - 1) s^4 / G^2 where the spread of the terms
    would say 2 (G - 2) s^4 / G^2, since the deviations add up to 0.
    """
    groups = len(by_group)
    return _variance(by_group) * (groups - 1) / (groups - 2) if groups > 2 else math.nan
