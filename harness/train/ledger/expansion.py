"""The change of H that one batch's updates make, to fourth order, split by what made it.

They move the logits of the probe's prefixes by d = sum_k d_k, of which group k of the batch gave
d_k. With H the mean entropy on the prefixes and b, C, T its first three derivatives there,

    H(z + d) - H(z) = b(d) + C(d, d) / 2 + T(d, d, d) / 6 + F(d) + O(d^5),

F being the even orders from the fourth on, which H(z + d) and H(z - d) give.

The groups are independent draws. So with m the mean of d over batches and S its covariance, the
expected change is b(m) + C(m, m) / 2, which is the signal, + tr(C S) / 2, which is the noise. Of
one batch the noise is estimated by the spread of the groups about their mean,
G/(G-1) sum_k C(e_k, e_k) / 2 with e_k = d_k - d/G, and the signal by b(d) and the products of
different groups, in which no group's noise meets itself. Both are unbiased, but for what the groups
share by a common denominator. T(d, e_k, e_k) is how the noise's part changes as the signal moves
the policy, and goes to the noise; the rest of the third order goes to the signal. F goes to the
noise: it is of a size only where the noise drives H.
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
    before = taken if plain is None else plain
    slopes, products = derivatives(log_p, before)
    between = len(before) / (len(before) - 1)
    spread = np.diag(products) - 2 * products.mean(axis=0) + products.mean()
    spread = spread + third(log_p, before.sum(axis=0)[None], before - before.mean(axis=0))
    rest = _even_rest(log_p, before, products)
    noise = Part(float(between * spread.sum() / 2 + rest), _spread_variance(between * spread / 2))
    whole = _change(log_p, before, slopes, products)
    others = slopes + between * (products.sum(axis=1) - np.diag(products))
    signal = Part(whole - noise.value, _variance(others))
    if plain is None:
        return Increment(signal, noise, NOTHING.remedy)
    taken_slopes, taken_products = derivatives(log_p, taken)
    by_group = taken_slopes + taken_products.sum(axis=1) - slopes - products.sum(axis=1)
    treated = _change(log_p, taken, taken_slopes, taken_products)
    return Increment(signal, noise, Part(treated - whole, _variance(by_group)))


def derivatives(log_p: FloatArray, moves: FloatArray) -> tuple[FloatArray, FloatArray]:
    """First derivative of the mean entropy along each move, shape (moves,), and second derivative
    along each two, shape (moves, moves); arguments as in `increment`.

    With l = log p + H, and u less its mean over p, the first along u is -E[l u], and the second
    along u and v is -E[(1 + l) u v].
    """
    weight, above, centred = _centred(log_p, moves)
    flat = centred.reshape(len(moves), -1)
    slopes: FloatArray = -flat @ (weight * above).ravel()
    products: FloatArray = -(flat * (weight * (1 + above)).ravel()) @ flat.T
    return slopes, products


def third(log_p: FloatArray, one: FloatArray, twice: FloatArray) -> FloatArray:
    """Third derivative of the mean entropy along `one` once and along `twice` two times.

    Shapes (moves or 1, prefixes, choices), to (moves,). Along u, v and w it is the sum over
    prefixes of -E[(2 + l) u v w] + E[l u] E[v w] + E[l v] E[u w] + E[l w] E[u v].
    """
    weight, above, u = _centred(log_p, one)
    v = _centred(log_p, twice)[2]
    count = len(log_p)
    of_u, of_v = ((weight * above * x).sum(axis=2) * count for x in (u, v))
    uv, vv = ((weight * x * v).sum(axis=2) for x in (u, v))
    cubic = (weight * (2 + above) * u * v * v).sum(axis=2)
    along: FloatArray = (of_u * vv + 2 * of_v * uv - cubic).sum(axis=1)
    return along


def _centred(log_p: FloatArray, moves: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """p / prefixes; log p + H; the moves less their mean over p."""
    p = np.exp(log_p)
    above = log_p - (p * log_p).sum(axis=1, keepdims=True)
    return p / len(log_p), above, moves - (p * moves).sum(axis=2, keepdims=True)


def _change(
    log_p: FloatArray, moves: FloatArray, slopes: FloatArray, products: FloatArray
) -> float:
    """The change of H by all moves together; `slopes`, `products`: their derivatives."""
    whole = moves.sum(axis=0)[None]
    odd = slopes.sum() + third(log_p, whole, whole)[0] / 6
    return float(odd + products.sum() / 2 + _even_rest(log_p, moves, products))


def _even_rest(log_p: FloatArray, moves: FloatArray, products: FloatArray) -> float:
    """The even orders from the fourth on, of all moves together: H there and at the opposite."""
    whole = moves.sum(axis=0)
    sides = (_entropy(log_p + whole) + _entropy(log_p - whole)) / 2
    return float(sides - _entropy(log_p) - products.sum() / 2)


def _entropy(logits: FloatArray) -> float:
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_p = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return float(-(np.exp(log_p) * log_p).sum() / len(log_p))


def _variance(by_group: FloatArray) -> float:
    """Variance of a sum of independent terms, from their spread."""
    return float(len(by_group) * by_group.var(ddof=1))


def _spread_variance(by_group: FloatArray) -> float:
    """The same of terms that are quadratic in deviations from the groups' own mean; nan of 2.

    Such deviations add up to 0, so the terms are not independent: of normal ones, their spread
    says (G - 2) / (G - 1) of the variance of the sum.
    """
    groups = len(by_group)
    return _variance(by_group) * (groups - 1) / (groups - 2) if groups > 2 else math.nan
