"""Remedies that shape the ratio: value and slope against autograd of the written formula."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch import Tensor

from harness.train.policy_gradient.losses import clipped_loss
from harness.train.policy_gradient.remedy_roles import Ratio
from harness.train.remedies.ce_gppo import CeGppo
from harness.train.remedies.clip_cov import ClipCov
from harness.train.remedies.clip_higher import ClipHigher
from harness.train.remedies.gppo import Gppo
from harness.train.remedies.kl_cov import KlCov

VALUES = st.floats(-3, 3, allow_nan=False, width=32)
TOKENS = arrays(np.float64, 8, elements=VALUES)
SHAPES = [ClipHigher(), Gppo(), CeGppo(), ClipCov(), KlCov()]


def dual(loss: Tensor, a: Tensor, most: float) -> Tensor:
    """The authors' code: where A < 0 no loss above most |A|."""
    return torch.where(a < 0, torch.minimum(loss, -a * most), loss)


def clip(r: Tensor, a: Tensor, low: float, high: float) -> Tensor:
    return -torch.minimum(r * a, r.clamp(1 - low, 1 + high) * a)


def gppo(r: Tensor, a: Tensor) -> Tensor:
    """arXiv 2508.07629 as the authors write it, with its stop-gradients."""
    sg = r.detach()
    loss = torch.maximum(-a * r, -a * torch.clamp(r, 0.8 / sg * r, 1.28 / sg * r))
    return dual(loss, a, 3.0)


def ce_gppo(r: Tensor, a: Tensor) -> Tensor:
    """arXiv 2509.20712, case by case."""
    sg = r.detach()
    below, above = (r < 0.8) & (a < 0), (r > 1.2) & (a > 0)
    outside = torch.where(below, 0.5 * 0.8 / sg * r * a, 1.0 * 1.2 / sg * r * a)
    return dual(-torch.where(below | above, outside, r * a), a, 10.0)


FORMULAS: dict[type[Ratio], Callable[[Tensor, Tensor], Tensor]] = {
    ClipHigher: lambda r, a: clip(r, a, 0.2, 0.28),
    Gppo: gppo,
    CeGppo: ce_gppo,
    ClipCov: lambda r, a: clip(r, a, 1.0, 1.0),
    KlCov: lambda r, a: -r * a,
}


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: s.name())
def test_value_and_slope_are_those_of_the_formula(shape: Ratio) -> None:
    rng = np.random.default_rng(1)
    old, logp = rng.normal(-2, 1, 4000), rng.normal(-2, 1, 4000)
    advantage = rng.normal(0, 1, 4000)
    x = torch.tensor(logp, requires_grad=True)
    loss = FORMULAS[type(shape)]((x - torch.tensor(old)).exp(), torch.tensor(advantage))
    (slope,) = torch.autograd.grad(loss.sum(), x)
    shaped = shape.surrogate(logp, old, advantage)
    np.testing.assert_allclose(shaped.value, loss.detach(), rtol=1e-12)
    np.testing.assert_allclose(shaped.slope, slope, rtol=1e-12)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: s.name())
@settings(max_examples=25)
@given(logp=TOKENS, advantage=TOKENS)
def test_on_policy_every_shape_is_the_plain_policy_gradient(
    shape: Ratio, logp: Any, advantage: Any
) -> None:
    shaped = shape.surrogate(logp, logp, advantage)
    np.testing.assert_array_equal(shaped.slope, -advantage)
    np.testing.assert_array_equal(shaped.value, -advantage)


@settings(max_examples=50)
@given(TOKENS, TOKENS, TOKENS)
def test_the_value_of_gppo_is_that_of_clipped_ppo(logp: Any, old: Any, advantage: Any) -> None:
    plain = clipped_loss(logp, old, advantage, 0.2, 0.28)
    shaped = Gppo(dual_clip=1e6).surrogate(logp, old, advantage)
    np.testing.assert_allclose(shaped.value, plain.value, rtol=1e-12)
    beyond = plain.low | plain.high
    assert (shaped.slope[beyond] != 0).all()
    np.testing.assert_array_equal(shaped.slope[~beyond], plain.slope[~beyond])


def test_slopes_beyond_the_clip_equal_those_worked_out_by_hand() -> None:
    ratio, advantage = np.array([1.5, 0.5, 1.5, 0.5]), np.array([1.0, -1.0, -1.0, 1.0])
    for shape, wanted in (
        (ClipHigher(), [0, 0, 1.5, -0.5]),
        (Gppo(), [-1.28, 0.8, 1.5, -0.5]),
        (CeGppo(beta_high=0.9), [-0.9 * 1.2, 0.5 * 0.8, 1.5, -0.5]),
        (KlCov(), [-1.5, 0.5, 1.5, -0.5]),
    ):
        slope = shape.surrogate(np.log(ratio), np.zeros(4), advantage).slope
        np.testing.assert_allclose(slope, wanted)


def test_an_unlikely_word_is_clipped_by_grpo_and_let_grow_by_clip_higher() -> None:
    one, none = np.ones(1), np.zeros(1)
    assert clipped_loss(np.log(1.25 * one), none, one, 0.2, 0.2).slope[0] == 0
    assert ClipHigher().surrogate(np.log(1.25 * one), none, one).slope[0] == -1.25
