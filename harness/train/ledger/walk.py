"""The random walk beneath Adam's momentum, on the weights that learn as one vector.

Momentum hands each gradient out over many steps, so that the weights' moves are no independent
draws, and H at the weights lags what the batches have decided. Where the weights would be once
momentum had handed out all that it holds,

    y_t = theta_t - rate a_t P_{t-1} m_{t-1},

moves by one batch at a time (for SGD this is the known equivalence of momentum and averaging:
Defazio, arXiv 2010.00406). With c_t = 1 / (1 - beta1^t) Adam's correction of the mean, m and P its
mean and its scaling, a_t = sum_j beta1^(j + 1) c_{t+j} and w_t = (1 - beta1) a_t / beta1,

    y_{t+1} - y_t = -rate [w_t P_t g_t + a_t (P_t - P_{t-1}) m_{t-1}],

exactly. w_t goes to 1; early gradients count for more, up to threefold by the first of 0.9, since
the correction lets them be handed out in full again and again. The last term is what a change of
the scaling does to gradients that are still on their way.
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
"""Share of a gradient that may still be on its way when its weight is summed."""


@dataclass(frozen=True, slots=True)
class Walk:
    """Adam before an update, without weight decay."""

    config: AlgorithmConfig
    step: int
    """Number of the update to come, from 1."""
    mean: Tensor
    """Adam's first moment, m_{t-1}, shape (weights,), as all others."""
    square: Tensor
    """Its second moment."""

    @property
    def weight(self) -> float:
        """w_t of the gradient to come."""
        return weight(self.step, self.config.adam_beta1)

    @property
    def _ahead(self) -> float:
        """a_t: how often the mean will still be handed out."""
        beta = self.config.adam_beta1
        return self.weight * beta / (1 - beta)

    def offset(self) -> Tensor:
        """y_t - theta_t: what momentum has yet to hand out."""
        if self.step == 1:
            return torch.zeros_like(self.mean)
        return self.mean * self._scale_before() * (-self.config.learning_rate * self._ahead)

    def move(self, gradient: Tensor) -> Tensor:
        """The move of y by a gradient, clipped already, of weight 1."""
        return gradient * self._scale_after(gradient) * -self.config.learning_rate

    def rescaling(self, gradient: Tensor) -> Tensor:
        """The move of y because this gradient changes the scaling of those before it."""
        if self.step == 1:
            return torch.zeros_like(self.mean)
        change = self._scale_after(gradient) - self._scale_before()
        return change * self.mean * (-self.config.learning_rate * self._ahead)

    def clipped(self, gradient: Tensor) -> Tensor:
        """The gradient as the optimiser is given it."""
        most = self.config.max_grad_norm
        return gradient * min(1.0, most / (float(gradient.norm()) + 1e-6)) if most else gradient

    def _scale_before(self) -> Tensor:
        return self._scale(self.square, self.step - 1)

    def _scale_after(self, gradient: Tensor) -> Tensor:
        beta = self.config.adam_beta2
        return self._scale(beta * self.square + (1 - beta) * gradient.square(), self.step)

    def _scale(self, square: Tensor, step: int) -> Tensor:
        corrected = square / (1 - self.config.adam_beta2**step)
        return 1 / (corrected.sqrt() + self.config.adam_epsilon)


def weight(step: int, beta: float) -> float:
    """w_t: how often Adam with this beta1 hands out the gradient of update `step` in all."""
    if beta == 0:
        return 1.0
    many = np.arange(math.ceil(math.log(NEGLIGIBLE) / math.log(beta)))
    return float(((1 - beta) * beta**many / (1 - beta ** (step + many))).sum())


def before_update(optimiser: Any, weights: Sequence[Tensor], config: AlgorithmConfig) -> Walk:
    """The walk of the weights of torch's Adam, as its state says."""
    states = [optimiser.state.get(weight, {}) for weight in weights]
    steps = [int(state["step"]) for state in states if "step" in state]

    def moments(name: str) -> Tensor:
        pairs = zip(weights, states, strict=True)
        return flat([state.get(name, torch.zeros_like(weight)) for weight, state in pairs])

    return Walk(config, max(steps, default=0) + 1, moments("exp_avg"), moments("exp_avg_sq"))


def flat(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors as one vector."""
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])


def contrasts(units: int, most: int) -> FloatArray:
    """Factors of the units' gradients whose sums draw a batch's noise, shape (draws, units).

    Units are independent and alike. Each row sums to 0, so that their mean cancels, and has squares
    that sum to `units`, so that the covariance is that of the sum of all units. Rows are
    orthogonal: normal draws are independent, and all units - 1 of them have the trace of the
    covariance as the usual estimate has it.
    """
    rows: FloatArray = dct(np.eye(units), type=2, norm="ortho", axis=0)[1 : most + 1]
    return rows * math.sqrt(units)


def summed(rows: FloatArray, unit_gradient: Callable[[int], Tensor]) -> list[Tensor]:
    """The sum of the units' gradients by each row of factors; each gradient is asked for once."""
    sums: list[Tensor] = []
    for unit in range(rows.shape[1]):
        gradient = unit_gradient(unit)
        sums = sums or [torch.zeros_like(gradient) for _ in rows]
        for total, factor in zip(sums, rows[:, unit], strict=True):
            total.add_(gradient, alpha=float(factor))
    return sums
