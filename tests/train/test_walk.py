"""The walk beneath Adam's momentum: exact moves, draws of noise, and planted noise on a known H."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from harness.config.run import AlgorithmConfig
from harness.train.ledger import walk
from harness.train.ledger.walk import AdamWalk
from harness.train.policy_gradient.advantages import FloatArray

WEIGHTS, UNITS = 10, 8


def adam(**settings: Any) -> AlgorithmConfig:
    return AlgorithmConfig(**({"learning_rate": 0.05, "max_grad_norm": 0.0} | settings))


class Descent:
    """torch's AdamW on a vector, in double precision, with the walk beneath it."""

    def __init__(self, config: AlgorithmConfig) -> None:
        self.weight = torch.nn.Parameter(torch.zeros(WEIGHTS, dtype=torch.float64))
        self._config = config
        betas = config.adam_beta1, config.adam_beta2
        self._optimiser = torch.optim.AdamW(
            [self.weight], config.learning_rate, betas, config.adam_epsilon, weight_decay=0.0
        )

    @property
    def walk(self) -> AdamWalk:
        return walk.before_update(self._optimiser, [self.weight], self._config)

    def place(self) -> Tensor:
        return self.weight.detach() + self.walk.offset()

    def update(self, gradient: Tensor) -> None:
        self.weight.grad = gradient
        self._optimiser.step()


@pytest.mark.parametrize("beta1", [0.0, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("epsilon", [1e-8, 1e-3])
def test_each_gradient_moves_the_walk_once_and_what_it_moves_is_known_beforehand(
    beta1: float, epsilon: float
) -> None:
    torch.manual_seed(1)
    descent = Descent(adam(adam_beta1=beta1, adam_epsilon=epsilon))
    for _ in range(40):
        gradient = torch.randn(WEIGHTS, dtype=torch.float64) * 1e-3
        before, step = descent.place(), descent.walk
        known = step.weight * step.move(gradient) + step.rescaling(gradient)
        descent.update(gradient)
        torch.testing.assert_close(descent.place() - before, known, atol=1e-10, rtol=1e-9)


def test_without_momentum_the_walk_is_where_the_weights_are() -> None:
    descent = Descent(adam(adam_beta1=0.0))
    descent.update(torch.ones(WEIGHTS, dtype=torch.float64))
    assert torch.equal(descent.place(), descent.weight.detach())
    assert walk.weight(1, 0.0) == 1.0


def test_early_gradients_count_for_more() -> None:
    weights = [walk.weight(step, 0.9) for step in (1, 2, 10, 500)]
    assert weights == sorted(weights, reverse=True)
    # by Lambert: sum of b^k / (1 - b^k) is the sum of b^k times the number of divisors of k
    divisors = [sum(k % d == 0 for d in range(1, k + 1)) for k in range(1, 400)]
    lambert = sum(count * 0.9**k for k, count in enumerate(divisors, 1))
    assert weights[0] == pytest.approx(lambert / 9, rel=1e-9)
    assert weights[-1] == pytest.approx(1, abs=1e-9)


def test_a_gradient_is_clipped_as_torch_clips_it() -> None:
    gradient, step = torch.arange(1.0, 5.0), Descent(adam(max_grad_norm=0.5)).walk
    weight = torch.nn.Parameter(torch.zeros(4))
    weight.grad = gradient.clone()
    torch.nn.utils.clip_grad_norm_([weight], 0.5)
    torch.testing.assert_close(step.clip(gradient), weight.grad)
    assert torch.equal(step.clip(gradient * 1e-3), gradient * 1e-3)
    assert torch.equal(Descent(adam()).walk.clip(gradient), gradient)


@pytest.mark.parametrize("units", [2, 3, 8, 13])
def test_contrasts_cancel_the_mean_and_have_the_trace_of_the_covariance(units: int) -> None:
    gradients = np.random.default_rng(units).normal(size=(units, WEIGHTS)) + 5.0
    draws = walk.contrasts(units, units) @ gradients
    assert draws.shape == (units - 1, WEIGHTS)
    covariance = units * np.cov(gradients.T)
    np.testing.assert_allclose(draws.T @ draws / len(draws), covariance, atol=1e-9)
    some = walk.contrasts(units, 1)
    np.testing.assert_allclose(some, walk.contrasts(units, units)[:1])
    np.testing.assert_allclose((some**2).sum(axis=1), units)


def test_sums_of_units_ask_for_each_gradient_once() -> None:
    gradients, asked = torch.arange(12.0).reshape(4, 3), list[int]()

    def gradient(unit: int) -> Tensor:
        asked.append(unit)
        return gradients[unit]

    rows = np.array([[1.0, 1, 1, 1], [1, -1, 1, -1]])
    whole, difference = walk.weighted_sums(rows, gradient)
    assert asked == [0, 1, 2, 3]
    torch.testing.assert_close(whole, gradients.sum(dim=0))
    torch.testing.assert_close(difference, torch.full((3,), -6.0))


def booked(seed: int, steps: int, curvature: Tensor, slope: Tensor, mean: float) -> FloatArray:
    """Change of H = x A x / 2 + c x from 0 in a run with planted noise; its first order, noise,
    momentum; and the variance of the first order as the draws tell it.
    """
    rng, descent = torch.Generator().manual_seed(seed), Descent(adam())
    scales = torch.linspace(0.002, 0.03, WEIGHTS, dtype=torch.float64)

    contrasts = torch.from_numpy(walk.contrasts(UNITS, UNITS))

    def h(x: Tensor) -> float:
        return float(x @ curvature @ x / 2 + slope @ x)

    first = noise = rescaled = spread = 0.0
    for _ in range(steps):
        normal = torch.randn(UNITS, WEIGHTS, generator=rng, dtype=torch.float64)
        units, step = scales * (normal / UNITS**0.5 + mean / UNITS), descent.walk
        gradient, b = units.sum(dim=0), curvature @ descent.place() + slope
        draws = step.move(contrasts @ units)
        first += step.weight * float(b @ step.move(gradient))
        rescaled += float(b @ step.rescaling(gradient))
        noise += step.weight**2 * float(((draws @ curvature) * draws).sum() / 2 / len(draws))
        spread += step.weight**2 * float((draws @ b).square().mean())
        descent.update(gradient)
    weight = descent.weight.detach()
    momentum = h(weight) - h(descent.place()) + rescaled
    return np.array([h(weight), first, noise, momentum, spread])


def quadratic(curved: bool) -> tuple[Tensor, Tensor]:
    rng = torch.Generator().manual_seed(5)
    square = torch.randn(WEIGHTS, WEIGHTS, generator=rng, dtype=torch.float64)
    slope = 0.3 * torch.randn(WEIGHTS, generator=rng, dtype=torch.float64)
    return -square @ square.T / WEIGHTS * curved, slope


def test_of_a_linear_h_first_order_and_momentum_are_the_whole_change() -> None:
    curvature, slope = quadratic(curved=False)
    total, first, noise, momentum, _ = booked(1, 30, curvature, slope, 0.5)
    assert total == pytest.approx(first + momentum, abs=1e-12)
    assert noise == 0
    assert abs(momentum) > 0.01


def test_planted_noise_is_found_and_pushes_h_to_no_side_to_first_order() -> None:
    """100 runs of 25 steps: their mean fall is the noise, and the error covers the walk."""
    curvature, slope = quadratic(curved=True)
    runs = np.array([booked(seed, 25, curvature, slope, 0.0) for seed in range(100)])
    total, first, noise, momentum, spread = runs.T
    error = first.std(ddof=1) / len(runs) ** 0.5
    assert abs(first.mean()) < 3 * error
    fell = total - momentum - first
    assert noise.mean() == pytest.approx(fell.mean(), rel=0.1)
    assert noise.mean() < -10 * fell.std(ddof=1) / len(runs) ** 0.5
    assert np.sqrt((first**2 / spread).mean()) == pytest.approx(1, abs=0.2)
