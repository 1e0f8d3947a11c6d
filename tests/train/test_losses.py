"""The clipped loss by hand and against finite differences."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from harness.train.policy_gradient.losses import clipped_loss

VALUES = st.floats(-2, 2, allow_nan=False, width=32)


def tokens(count: int = 6) -> st.SearchStrategy[np.ndarray]:
    return arrays(np.float64, count, elements=VALUES)


def test_on_policy_the_slope_is_minus_the_advantage() -> None:
    logp, advantage = np.array([-1.0, -2.0]), np.array([0.5, -1.5])
    loss = clipped_loss(logp, logp, advantage, 0.2, 0.2)
    assert loss.value.tolist() == [-0.5, 1.5]
    np.testing.assert_allclose(loss.slope, -advantage)
    assert not (loss.low | loss.high).any()


def test_clipped_tokens_equal_those_worked_out_by_hand() -> None:
    ratio = np.array([1.5, 0.5, 1.5, 0.5])
    advantage = np.array([1.0, -1.0, -1.0, 1.0])
    loss = clipped_loss(np.log(ratio), np.zeros(4), advantage, 0.2, 0.28)
    # -min(rA, clip(r)A)
    np.testing.assert_allclose(loss.value, [-1.28, 0.8, 1.5, -0.5])
    np.testing.assert_allclose(loss.slope, [0, 0, 1.5, -0.5])
    assert loss.low.tolist() == [False, True, False, False]
    assert loss.high.tolist() == [True, False, False, False]


@given(tokens(), tokens(), tokens())
def test_the_slope_is_that_of_the_value(
    logp: np.ndarray, old: np.ndarray, advantage: np.ndarray
) -> None:
    ratio = np.exp(logp - old)
    assume((np.abs(ratio - 0.8) > 1e-4).all() and (np.abs(ratio - 1.2) > 1e-4).all())
    up = clipped_loss(logp + 1e-6, old, advantage, 0.2, 0.2).value
    down = clipped_loss(logp - 1e-6, old, advantage, 0.2, 0.2).value
    slope = clipped_loss(logp, old, advantage, 0.2, 0.2).slope
    np.testing.assert_allclose(slope, (up - down) / 2e-6, atol=1e-6, rtol=1e-5)
