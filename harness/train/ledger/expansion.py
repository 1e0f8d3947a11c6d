"""The change of H by one batch's updates, to third order, split by cause.

The updates move the logits of the probe's prefixes by d = sum_k d_k, where d_k is the part of group
k of the batch. With H the mean entropy on the prefixes and b, C, T its first three derivatives,

    H(z + d) - H(z) = b(d) + C(d, d) / 2 + T(d, d, d) / 6 + O(d^4).

The groups are independent draws. With m the mean of d over batches and S its covariance, the
expected change is the signal b(m) + C(m, m) / 2 plus the noise tr(C S) / 2. For one batch the noise
is estimated from the spread of the groups about their mean,
G/(G-1) sum_k C(e_k, e_k) / 2 with e_k = d_k - d/G, and the signal from b(d) and the products of
different groups, whose noise is independent. Both are unbiased, except that groups share a common
denominator. T(d, e_k, e_k) is the change of the noise as the signal moves the policy, and counts as
noise; the rest of the third order counts as signal.

Each part has its own formula, so their sum differs from the change of H by the expansion's error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from harness.train.policy_gradient.advantages import FloatArray


@dataclass(frozen=True, slots=True)
class EntropyComponent:
    """A part of the change of H, in nats."""

    value: float
    variance: float
    """Variance of the estimate, in nats squared."""

    @classmethod
    def of_mean(cls, values: FloatArray) -> EntropyComponent:
        """Return the mean of independent values. The variance of a single one is unknown: nan."""
        many = len(values) > 1
        return cls(
            float(values.mean()), float(values.var(ddof=1) / len(values)) if many else math.nan
        )

    def __add__(self, other: EntropyComponent) -> EntropyComponent:
        """Return the sum of independent parts."""
        return EntropyComponent(self.value + other.value, self.variance + other.variance)


@dataclass(frozen=True, slots=True)
class EntropyIncrement:
    """The effect of one batch's updates on H on the probe."""

    signal: EntropyComponent
    noise: EntropyComponent
    remedy: EntropyComponent

    def __add__(self, other: EntropyIncrement) -> EntropyIncrement:
        return EntropyIncrement(
            self.signal + other.signal, self.noise + other.noise, self.remedy + other.remedy
        )


NOTHING = EntropyIncrement(
    EntropyComponent(0.0, 0.0), EntropyComponent(0.0, 0.0), EntropyComponent(0.0, 0.0)
)


def increment(
    log_p: FloatArray, taken: FloatArray, plain: FloatArray | None = None
) -> EntropyIncrement:
    """Split the change of H by a batch into signal, noise and remedy.

    `log_p`: log-probabilities at the prefixes before the update, shape (prefixes, choices);
    `taken`: change of the logits by each group's part of the update, up to a constant per prefix,
    shape (groups, prefixes, choices) with at least 2 groups; `plain`: the same for the algorithm
    without remedies, or None if there are no remedies.
    """
    changes = taken if plain is None else plain
    slopes, products = derivatives(log_p, changes)
    total, correction = changes.sum(axis=0)[None], len(changes) / (len(changes) - 1)
    bend = third(log_p, total, changes - changes.mean(axis=0))
    spread = np.diag(products) - 2 * products.mean(axis=0) + products.mean()
    spread_effect = correction * (spread + bend) / 2
    cross_terms = correction * (products.sum(axis=1) - np.diag(products)) / 2
    third_order = third(log_p, total, total)[0] / 6 - correction * bend.sum() / 2
    signal = EntropyComponent(
        float(slopes.sum() + cross_terms.sum() + third_order), _variance(slopes + 2 * cross_terms)
    )
    noise = EntropyComponent(float(spread_effect.sum()), _spread_variance(spread_effect))
    if plain is None:
        return EntropyIncrement(signal, noise, NOTHING.remedy)
    first, second, cubic = _orders(log_p, taken) - _orders(log_p, plain)
    value, slope = first + second / 2 + cubic / 6, first + second + cubic / 2
    return EntropyIncrement(signal, noise, EntropyComponent(float(value.sum()), _variance(slope)))


def derivatives(log_p: FloatArray, moves: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the first derivatives of the mean entropy along the moves, shape (moves,), and the
    second derivatives along all pairs, shape (moves, moves).

    `log_p` and `moves` as in `increment`. With l = log p + H and moves u and v centred over p, the
    first along u is -E[l u] and the second along u and v is -E[(1 + l) u v].
    """
    weight, above, centred = _centre(log_p, moves)
    flat = centred.reshape(len(moves), -1)
    slopes: FloatArray = -flat @ (weight * above).ravel()
    products: FloatArray = -(flat * (weight * (1 + above)).ravel()) @ flat.T
    return slopes, products


def third(log_p: FloatArray, one: FloatArray, twice: FloatArray) -> FloatArray:
    """Return the third derivative of the mean entropy along `one` once and `twice` two times.

    Shapes (moves or 1, prefixes, choices) to (moves,). Along u, v and w it is the sum over
    prefixes of -E[(2 + l) u v w] + E[l u] E[v w] + E[l v] E[u w] + E[l w] E[u v].
    """
    weight, above, u = _centre(log_p, one)
    v = _centre(log_p, twice)[2]
    count = len(log_p)
    l_u, l_v = ((weight * above * x).sum(axis=2) * count for x in (u, v))
    uv, vv = ((weight * x * v).sum(axis=2) for x in (u, v))
    cubic = (weight * (2 + above) * u * v * v).sum(axis=2)
    along: FloatArray = (l_u * vv + 2 * l_v * uv - cubic).sum(axis=1)
    return along


def _centre(log_p: FloatArray, moves: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return p / (number of prefixes), log p + H, and the moves minus their mean over p."""
    p = np.exp(log_p)
    above = log_p - (p * log_p).sum(axis=1, keepdims=True)
    return p / len(log_p), above, moves - (p * moves).sum(axis=2, keepdims=True)


def _orders(log_p: FloatArray, moves: FloatArray) -> FloatArray:
    """Return b(d_k), C(d_k, d) and T(d_k, d, d) of each group k, shape (3, groups)."""
    slopes, products = derivatives(log_p, moves)
    total = moves.sum(axis=0)[None]
    return np.stack([slopes, products.sum(axis=1), third(log_p, moves, total)])


def _variance(by_group: FloatArray) -> float:
    """Return the variance of a sum of independent terms, estimated from their spread."""
    return float(len(by_group) * by_group.var(ddof=1))


def _spread_variance(by_group: FloatArray) -> float:
    """Return the variance of a sum of terms that are quadratic in deviations from the groups' mean.

    The deviations sum to 0, so the terms are not independent: for normal deviations, the spread of
    the terms gives (G - 2) / (G - 1) of the variance. nan for 2 groups.
    """
    groups = len(by_group)
    return _variance(by_group) * (groups - 1) / (groups - 2) if groups > 2 else math.nan
