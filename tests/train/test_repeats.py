"""Estimators over several conversations with each user, against known answers."""

import math
from itertools import combinations

import numpy as np
import pytest

from harness.train.metrics import repeats


def test_users_who_always_fare_alike_have_no_spread_within() -> None:
    same = np.repeat(np.array([[0.2], [0.5], [1.0], [0.1]]), 16, axis=1)
    found = repeats.variance_components(same)
    assert found.within_sd == pytest.approx(0, abs=1e-12)
    assert found.between_sd == pytest.approx(np.std([0.2, 0.5, 1.0, 0.1], ddof=1))
    assert found.se == pytest.approx(found.between_sd / 2)


def test_the_components_of_planted_users_are_found() -> None:
    """sd .17 between and .32 within users, 64 x 16. What is within is found to 15% in all draws.

    What is between 64 users has a standard error of 11% itself, (1 + .32^2 / 16 / .17^2) divided
    by sqrt(2 * 63), so 15% holds in four of five draws and 25% in 95 of 100.
    """
    rng = np.random.default_rng(1)
    draws = 200
    users = rng.normal(0, 0.17, (draws, 64, 1))
    found = [repeats.variance_components(u + rng.normal(0, 0.32, (64, 16))) for u in users]
    within = np.array([f.within_sd for f in found])
    between = np.array([f.between_sd for f in found])
    assert np.mean(np.abs(within / 0.32 - 1) < 0.15) == 1
    assert np.mean(np.abs(between / 0.17 - 1) < 0.15) >= 0.8
    assert np.mean(np.abs(between / 0.17 - 1) < 0.25) >= 0.95
    assert np.mean(between**2) == pytest.approx(0.17**2, rel=0.03)


@pytest.mark.parametrize(("users", "times"), [(64, 1), (64, 16), (8, 4)])
def test_the_error_is_that_of_the_mean_over_new_users(users: int, times: int) -> None:
    rng = np.random.default_rng(2)
    drawn = [
        rng.normal(0, 0.3, (users, 1)) + rng.normal(0, 0.2, (users, times)) for _ in range(400)
    ]
    errors = np.array([repeats.variance_components(outcomes).se for outcomes in drawn])
    true = math.sqrt(0.3**2 / users + 0.2**2 / (users * times))
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(true, rel=0.04)
    assert np.std([o.mean() for o in drawn]) == pytest.approx(true, rel=0.1)


def test_lost_conversations_leave_the_components_unbiased() -> None:
    rng = np.random.default_rng(3)
    found = []
    for _ in range(200):
        outcomes = rng.normal(0, 0.3, (32, 1)) + rng.normal(0, 0.2, (32, 6))
        outcomes[rng.random(outcomes.shape) < 0.3] = np.nan
        outcomes[0] = np.nan
        found.append(repeats.variance_components(outcomes))
    assert np.mean([f.within_sd**2 for f in found]) == pytest.approx(0.2**2, rel=0.03)
    assert np.mean([f.between_sd**2 for f in found]) == pytest.approx(0.3**2, rel=0.05)


def test_a_spread_that_cannot_be_known_is_nan() -> None:
    once = repeats.variance_components(np.array([[0.1], [0.4], [0.7]]))
    assert math.isnan(once.within_sd)
    assert math.isnan(once.between_sd)
    assert once.se == pytest.approx(np.std([0.1, 0.4, 0.7], ddof=1) / math.sqrt(3))
    alone = repeats.variance_components(np.array([[0.1, 0.4], [np.nan, np.nan]]))
    assert math.isnan(alone.se)


def test_no_variance_between_users_is_not_below_zero() -> None:
    found = repeats.variance_components(np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]))
    assert found.between_sd == 0
    assert found.se == pytest.approx(found.within_sd / math.sqrt(6))


def test_the_best_of_one_is_the_mean() -> None:
    outcomes = np.random.default_rng(4).random((64, 16))
    assert repeats.best_of(outcomes, 1) == pytest.approx(outcomes.mean(), abs=1e-12)
    assert repeats.best_of(outcomes, 16) == pytest.approx(outcomes.max(axis=1).mean(), abs=1e-12)


@pytest.mark.parametrize("k", [1, 2, 4, 6])
def test_best_and_success_are_the_means_over_all_subsets(k: int) -> None:
    rng = np.random.default_rng(5)
    outcomes = np.round(rng.random((5, 6)) * 1.4, 1).clip(0, 1)
    drawn = np.array([[list(s) for s in combinations(row, k)] for row in outcomes.tolist()])
    assert (outcomes == 1).any(axis=1).sum() > 1
    assert repeats.best_of(outcomes, k) == pytest.approx(drawn.max(axis=2).mean())
    won = drawn == 1
    assert repeats.success_any(outcomes, k) == pytest.approx(won.any(axis=2).mean())
    assert repeats.success_all(outcomes, k) == pytest.approx(won.all(axis=2).mean())


def test_users_with_fewer_conversations_are_left_out() -> None:
    outcomes = np.array([[1.0, 0.5, 0.0, 1.0], [1.0, 1.0, np.nan, np.nan]])
    assert repeats.success_all(outcomes, 2) == pytest.approx((1 / 6 + 1) / 2)
    assert repeats.best_of(outcomes, 4) == 1
    assert repeats.success_any(outcomes, 3) == 1
    for measure in (repeats.best_of, repeats.success_any, repeats.success_all):
        assert math.isnan(measure(outcomes, 5))
