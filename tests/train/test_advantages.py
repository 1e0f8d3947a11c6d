"""Advantages: hand-computed values, then what must hold of any rewards."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from harness.train.policy_gradient.advantages import (
    group_relative,
    group_stds,
    permuted_within_groups,
)

LATTICE = st.integers(0, 20).map(lambda n: n / 20)
NAN = float("nan")


def rewards(groups: int = 5, size: int = 4) -> st.SearchStrategy[np.ndarray]:
    return arrays(np.float64, groups * size, elements=st.one_of(LATTICE, st.just(NAN)))


def test_advantages_of_two_groups_equal_those_worked_out_by_hand() -> None:
    two_groups = np.array([0.2, 0.4, 0.6, 0.8, 0.5, 0.5, 0.55, 0.45])
    advantages = group_relative(two_groups, 4, 0.10)
    # std of the first is sqrt(0.05) = 0.2236; of the second sqrt(0.00125) = 0.0354, so the floor
    first = np.array([-0.3, -0.1, 0.1, 0.3]) / np.sqrt(0.05)
    second = np.array([0, 0, 0.05, -0.05]) / 0.10
    np.testing.assert_allclose(advantages, np.concatenate([first, second]), atol=1e-12)


def test_plain_division_gives_a_small_difference_the_full_size() -> None:
    advantages = group_relative(np.array([0.50, 0.50, 0.50, 0.55]), 4, 0)
    np.testing.assert_allclose(advantages, [-1 / np.sqrt(3)] * 3 + [np.sqrt(3)], rtol=1e-3)


def test_without_a_floor_differences_from_the_mean_are_not_divided() -> None:
    advantages = group_relative(np.array([0.0, 1.0, 0.5, 0.5]), 4, None)
    np.testing.assert_allclose(advantages, [-0.5, 0.5, 0, 0], atol=1e-15)


def test_a_missing_reward_is_left_out_of_the_baseline() -> None:
    advantages = group_relative(np.array([0.0, 1.0, NAN, 0.5]), 4, None)
    np.testing.assert_allclose(advantages, [-0.5, 0.5, 0, 0], atol=1e-15)


@pytest.mark.parametrize("floor", [0.10, 0, None])
@pytest.mark.parametrize(
    "group", [[0.1] * 4, [NAN] * 4, [NAN, NAN, NAN, 0.3], [0.7, NAN, 0.7, 0.7]]
)
def test_no_signal_gives_exactly_zero(group: list[float], floor: float | None) -> None:
    assert group_relative(np.array(group), 4, floor).tolist() == [0.0] * 4


def test_std_of_equal_rewards_is_exactly_zero_and_of_none_is_missing() -> None:
    stds = group_stds(np.array([0.1] * 7 + [NAN] * 7), 7)
    assert stds[0] == 0
    assert np.isnan(stds[1])


@given(rewards(), st.sampled_from([0.10, 0.02, 0, None]))
def test_advantages_of_a_group_sum_to_zero_and_keep_the_order(
    values: np.ndarray, floor: float | None
) -> None:
    advantages = group_relative(values, 4, floor).reshape(-1, 4)
    assert np.isfinite(advantages).all()
    np.testing.assert_allclose(advantages.sum(axis=1), 0, atol=1e-9)
    for group, advantage in zip(values.reshape(-1, 4), advantages, strict=True):
        rewarded = np.isfinite(group)
        assert (advantage[~rewarded] == 0).all()
        order = np.argsort(group[rewarded], kind="stable")
        assert (np.diff(advantage[rewarded][order]) >= -1e-12).all()


@given(rewards())
def test_the_floor_only_shrinks(values: np.ndarray) -> None:
    floored = np.abs(group_relative(values, 4, 0.10))
    assert (floored <= np.abs(group_relative(values, 4, 0)) * (1 + 1e-3) + 1e-12).all()


@given(rewards(), st.integers(0, 1000))
def test_null_control_keeps_each_groups_magnitudes(values: np.ndarray, seed: int) -> None:
    real = np.repeat(group_relative(values, 4, 0.10)[:, None], 3, axis=1)
    rewarded = np.isfinite(values)
    null = permuted_within_groups(real, rewarded, 4, np.random.default_rng(seed))
    assert (null == null[:, :1]).all()
    assert not null[~rewarded].any()
    for before, after in zip(real[:, 0].reshape(-1, 4), null[:, 0].reshape(-1, 4), strict=True):
        assert sorted(before) == sorted(after)


def test_null_control_carries_no_signal() -> None:
    real = group_relative(np.tile([0.0, 0.0, 0.0, 1.0], 2000), 4, 0.10)[:, None]
    null = permuted_within_groups(real, np.ones(8000, bool), 4, np.random.default_rng(0))
    best = null.reshape(-1, 4)[:, 3]
    assert abs(best.mean()) < 4 / np.sqrt(2000)  # unit variance, four standard errors
