"""The clipped loss against finite differences and by hand."""

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from harness.train.losses import clipped_loss

VALUES = st.floats(-2, 2, allow_nan=False, width=32)


def tokens(count: int = 6) -> st.SearchStrategy[np.ndarray]:
    return arrays(np.float64, count, elements=VALUES)


def test_on_policy_the_gradient_is_minus_the_advantage() -> None:
    logp, advantage = np.array([-1.0, -2.0]), np.array([0.5, -1.5])
    loss = clipped_loss(logp, logp, advantage, 0.2, 0.2)
    assert loss.value == 0.5
    np.testing.assert_allclose(loss.gradient, -advantage / 2)
    assert (loss.low_share, loss.high_share) == (0, 0)


def test_what_is_clipped_by_hand() -> None:
    ratio = np.array([1.5, 0.5, 1.5, 0.5])
    advantage = np.array([1.0, -1.0, -1.0, 1.0])
    loss = clipped_loss(np.log(ratio), np.zeros(4), advantage, 0.2, 0.28)
    # min(rA, clip(r)A): 1.28, -0.8, -1.5, 0.5
    np.testing.assert_allclose(loss.value, -(1.28 - 0.8 - 1.5 + 0.5) / 4)
    np.testing.assert_allclose(loss.gradient, [0, 0, 1.5 / 4, -0.5 / 4])
    assert (loss.low_share, loss.high_share) == (0.25, 0.25)


@given(tokens(), tokens(), tokens())
def test_gradient_is_that_of_the_value(
    logp: np.ndarray, old: np.ndarray, advantage: np.ndarray
) -> None:
    ratio = np.exp(logp - old)
    assume((np.abs(ratio - 0.8) > 1e-4).all() and (np.abs(ratio - 1.2) > 1e-4).all())
    loss = clipped_loss(logp, old, advantage, 0.2, 0.2)
    step = 1e-6
    for i in range(len(logp)):
        shift = step * (np.arange(len(logp)) == i)
        up = clipped_loss(logp + shift, old, advantage, 0.2, 0.2).value
        down = clipped_loss(logp - shift, old, advantage, 0.2, 0.2).value
        np.testing.assert_allclose(loss.gradient[i], (up - down) / (2 * step), atol=1e-6, rtol=1e-5)
