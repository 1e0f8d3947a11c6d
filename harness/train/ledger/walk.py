"""The random walk beneath Adam's momentum, on the trainable weights as one vector.

Momentum spreads each gradient over many steps. The moves of the weights theta are therefore not
independent draws, and H at theta lags the gradients. The weights y that theta would reach without
further gradients,

    y_t = theta_t - rate a_t P_{t-1} m_{t-1},

move by one batch at a time (for SGD this is the known equivalence of momentum and averaging:
Defazio, arXiv 2010.00406). With c_t = 1 / (1 - beta1^t) Adam's bias correction of the mean, m and P
its mean and its scaling, a_t = sum_j beta1^(j + 1) c_{t+j} and w_t = (1 - beta1) a_t / beta1,

    y_{t+1} - y_t = -rate [w_t P_t g_t + a_t (P_t - P_{t-1}) m_{t-1}],

exactly. w_t tends to 1. Early gradients count more, the first up to threefold at beta1 = 0.9, since
the bias correction enlarges them at every step. The last term is the effect of a change of the
scaling on gradients that momentum has not fully applied yet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.fft import dct
from torch import Tensor

from harness.config.run import AlgorithmConfig
from harness.train.policy_gradient.advantages import FloatArray

NEGLIGIBLE = 1e-12
"""Share of a gradient that the sum for its weight may neglect."""


@dataclass(frozen=True, slots=True)
class AdamWalk:
    """Adam before an update, without weight decay."""

    config: AlgorithmConfig
    step: int
    """Number t of the next update, from 1."""
    mean: Tensor
    """Adam's first moment m_{t-1}, shape (weights,)."""
    square: Tensor
    """Adam's second moment, shape (weights,)."""

    @property
    def weight(self) -> float:
        """w_t of the next gradient."""
        return weight(self.step, self.config.adam_beta1)

    @property
    def _remaining(self) -> float:
        """a_t: the total factor by which momentum will still apply the current mean."""
        beta = self.config.adam_beta1
        return self.weight * beta / (1 - beta)

    def offset(self) -> Tensor:
        """Return y_t - theta_t, the move that momentum has yet to make."""
        if self.step == 1:
            return torch.zeros_like(self.mean)
        return self.mean * self._scale_before() * (-self.config.learning_rate * self._remaining)

    def move(self, gradient: Tensor) -> Tensor:
        """Return the move of y by a clipped gradient of weight 1."""
        return gradient * self._scale_after(gradient) * -self.config.learning_rate

    def rescaling(self, gradient: Tensor) -> Tensor:
        """Return the move of y because `gradient` changes the scaling of earlier gradients."""
        if self.step == 1:
            return torch.zeros_like(self.mean)
        change = self._scale_after(gradient) - self._scale_before()
        return change * self.mean * (-self.config.learning_rate * self._remaining)

    def clip(self, gradient: Tensor) -> Tensor:
        """Return the gradient as clipped for the optimiser."""
        limit = self.config.max_grad_norm
        return gradient * min(1.0, limit / (float(gradient.norm()) + 1e-6)) if limit else gradient

    def _scale_before(self) -> Tensor:
        return self._scale(self.square, self.step - 1)

    def _scale_after(self, gradient: Tensor) -> Tensor:
        beta = self.config.adam_beta2
        return self._scale(beta * self.square + (1 - beta) * gradient.square(), self.step)

    def _scale(self, square: Tensor, step: int) -> Tensor:
        corrected = square / (1 - self.config.adam_beta2**step)
        return 1 / (corrected.sqrt() + self.config.adam_epsilon)


def weight(step: int, beta: float) -> float:
    """Return w_t, the total factor by which Adam applies the gradient of update `step`.

    `beta`: Adam's beta1.
    """
    if beta == 0:
        return 1.0
    exponents = np.arange(math.ceil(math.log(NEGLIGIBLE) / math.log(beta)))
    return float(((1 - beta) * beta**exponents / (1 - beta ** (step + exponents))).sum())


def before_update(optimiser: Any, weights: Sequence[Tensor], config: AlgorithmConfig) -> AdamWalk:
    """Return the walk of `weights` from the state of torch's Adam."""
    states = [optimiser.state.get(weight, {}) for weight in weights]
    steps = [int(state["step"]) for state in states if "step" in state]

    def moments(name: str) -> Tensor:
        pairs = zip(weights, states, strict=True)
        return flat([state.get(name, torch.zeros_like(weight)) for weight, state in pairs])

    return AdamWalk(config, max(steps, default=0) + 1, moments("exp_avg"), moments("exp_avg_sq"))


def flat(tensors: Sequence[Tensor]) -> Tensor:
    """Return the tensors as one vector."""
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])


def contrasts(units: int, limit: int) -> FloatArray:
    """Return factors of the units' gradients whose sums draw a batch's noise, shape (draws, units).

    Units are independent and identically distributed. Each row sums to 0, which cancels their mean,
    and its squares sum to `units`, which gives the covariance of the sum of all units. Rows are
    orthogonal, so draws of normal gradients are independent, and all units - 1 of them give the
    usual estimate of the covariance's trace.
    """
    rows: FloatArray = dct(np.eye(units), type=2, norm="ortho", axis=0)[1 : limit + 1]
    return rows * math.sqrt(units)


def weighted_sums(rows: FloatArray, unit_gradient: Callable[[int], Tensor]) -> list[Tensor]:
    """Return the weighted sum of the units' gradients for each row of factors.

    `unit_gradient` is called once per unit.
    """
    sums: list[Tensor] = []
    for unit in range(rows.shape[1]):
        gradient = unit_gradient(unit)
        sums = sums or [torch.zeros_like(gradient) for _ in rows]
        for total, factor in zip(sums, rows[:, unit], strict=True):
            total.add_(gradient, alpha=float(factor))
    return sums
