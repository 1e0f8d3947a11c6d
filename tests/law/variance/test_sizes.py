"""Plans: they keep what they promise, and no other of the same precision costs less."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from harness.law.variance import sizes
from harness.law.variance.components import REPEAT, REST, SEED, SEED_USER, USER
from harness.law.variance.sizes import DIFFERENCE, MEAN, Cost

VARIANCES = {SEED: 0.05**2, USER: 0.1**2, REPEAT: 0.1**2, SEED_USER: 0.05**2, REST: 0.1**2}
COST = Cost(training=5.0, conversation=0.01, evaluations=10, levels=3)


def test_the_half_width_of_one_component_is_that_of_a_t_interval() -> None:
    half = sizes.half_width(MEAN, {SEED: 0.04}, np.array([5.0]), np.array([64.0]), 1)
    assert half[0] == pytest.approx(stats.t.ppf(0.975, 4) * 0.2 / 5**0.5)
    half = sizes.half_width(DIFFERENCE, {SEED: 0.04}, np.array([5.0]), np.array([64.0]), 1)
    assert half[0] == pytest.approx(stats.t.ppf(0.975, 8) * 0.2 * (2 / 5) ** 0.5)


def test_what_arms_share_is_no_part_of_their_difference() -> None:
    of_users = {USER: 1.0, REPEAT: 1.0}
    assert sizes.half_width(DIFFERENCE, of_users, np.array([5.0]), np.array([9.0]), 1)[0] == 0


@pytest.mark.parametrize("target", [MEAN, DIFFERENCE])
def test_no_other_plan_costs_less(target: str) -> None:
    plan = sizes.cheapest(target, VARIANCES, 0.08, COST)
    assert plan is not None
    assert plan.half_width <= 0.08
    seeds, users = (axis.ravel() for axis in np.meshgrid(np.arange(2.0, 30), np.arange(2.0, 120)))
    costs = [
        COST.arm_seconds(seeds, users, k)[
            sizes.half_width(target, VARIANCES, seeds, users, k) <= 0.08
        ]
        for k in sizes.REPEATS[:4]
    ]
    assert plan.seconds == pytest.approx(min(np.concatenate(costs)))


def test_a_plan_holds_with_more_users_too() -> None:
    """Two seeds reach .1 with 65 users by degrees of freedom that the users lend, not with more."""
    of_few_seeds = {SEED: 0.032**2, USER: 0.263**2, SEED_USER: 0.119**2, REST: 0.26**2}
    users = np.geomspace(2, sizes.MOST_USERS, 500)
    two = sizes.half_width(MEAN, of_few_seeds, np.array([2.0]), users, 1)
    assert two.min() < 0.1 < two[-1]
    plan = sizes.cheapest(MEAN, of_few_seeds, 0.1, Cost(34.0, 0.0034, 10, 3))
    assert plan is not None
    more = users[users >= plan.users]
    each = sizes.half_width(MEAN, of_few_seeds, np.array([float(plan.seeds)]), more, 1)
    assert (each <= 0.1).all()


def test_dear_training_asks_for_fewer_seeds_and_more_users() -> None:
    dear = sizes.cheapest(MEAN, VARIANCES, 0.05, Cost(1000.0, 0.01, 10, 3))
    cheap = sizes.cheapest(MEAN, VARIANCES, 0.05, Cost(1.0, 0.01, 10, 3))
    assert dear is not None
    assert cheap is not None
    assert dear.seeds < cheap.seeds
    assert dear.users > cheap.users


def test_what_is_out_of_reach_has_no_plan() -> None:
    assert sizes.cheapest(MEAN, {SEED: 100.0}, 0.001, COST) is None


def test_the_doubt_of_a_plan_is_that_of_its_components() -> None:
    plan = sizes.cheapest(MEAN, VARIANCES, 0.05, COST)
    assert plan is not None
    exact = sizes.with_upper_half_width(plan, {n: np.full(100, v) for n, v in VARIANCES.items()})
    assert exact.most == pytest.approx(plan.half_width)
    wide = sizes.with_upper_half_width(
        plan, {n: np.linspace(0, 4 * v, 100) for n, v in VARIANCES.items()}
    )
    assert wide.most is not None
    assert wide.most > 1.5 * plan.half_width
