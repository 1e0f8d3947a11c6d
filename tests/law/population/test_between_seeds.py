"""The spread of seeds beyond their own errors, and partial pooling."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.law.compare import random_effects
from harness.law.compare.random_effects import Sample
from harness.law.population import between_seeds
from tests.present import present


def sample(values: list[float], errors: list[float]) -> Sample:
    return Sample(np.array(values), np.array(errors))


SEEDS = st.lists(
    st.tuples(st.floats(-1, 1, width=32), st.floats(0.001, 0.5)), min_size=2, max_size=12
)


def test_without_errors_of_their_own_the_limits_are_those_of_a_standard_deviation() -> None:
    values = [0.7, 0.72, 0.76, 0.69, 0.71]
    found = present(between_seeds.spread(sample(values, [1e-9] * 5), float(np.std(values, ddof=1))))
    squares = 5 * np.var(values)
    bounds = (squares / stats.chi2(4).ppf([0.975, 0.025])) ** 0.5
    assert (found.low, found.high) == pytest.approx(tuple(bounds), rel=0.01)


def test_the_limits_solve_the_weighted_sum_of_squares_for_great_and_for_small_errors() -> None:
    seeds = sample([0.5, 0.7, 0.62, 0.9, 0.55, 0.71], [0.02, 0.1, 0.03, 0.2, 0.05, 0.04])
    found = present(between_seeds.spread(seeds, random_effects.between(seeds)))
    limits = ((found.low, 0.975, 2.364624 / 1.959964), (found.high, 0.025, 0.7))
    for t, share, errors in limits:
        weights = 1 / ((errors * seeds.errors) ** 2 + t**2)
        mean = weights @ seeds.values / weights.sum()
        squares = weights @ (seeds.values - mean) ** 2
        assert squares == pytest.approx(stats.chi2(5).ppf(share), rel=0.02)


def test_seeds_no_further_apart_than_their_errors_may_have_no_spread() -> None:
    seeds = sample([0.70, 0.71, 0.69], [0.05, 0.05, 0.05])
    found = present(between_seeds.spread(seeds, random_effects.between(seeds)))
    assert (found.value, found.low) == (0, 0)


def test_one_seed_and_equal_seeds_tell_of_no_spread() -> None:
    assert between_seeds.spread(sample([0.7], [0.1]), 0.0) is None
    assert between_seeds.spread(sample([0.7, 0.7], [0.1, 0.1]), 0.0) is None
    assert between_seeds.spread(sample([0.7, np.nextafter(0.7, 1)], [0.1, 0.1]), 0.0) is None
    assert between_seeds.partially_pool(sample([0.7], [0.1])) == [None]


def test_a_seed_that_hardly_knows_its_number_is_drawn_to_the_others() -> None:
    seeds = sample([0.70, 0.72, 0.68, 0.71, 1.4], [0.01, 0.01, 0.01, 0.01, 0.6])
    own_width = 2 * 2.364624 * 0.6
    *known, vague = (present(one) for one in between_seeds.partially_pool(seeds))
    assert vague.value == pytest.approx(0.70, abs=0.05)
    assert vague.high - vague.low < 0.6 * own_width
    for one, own in zip(known, seeds.values, strict=False):
        assert one.value == pytest.approx(own, abs=0.01)


@given(SEEDS)
def test_a_pooled_number_lies_between_its_own_and_the_others(
    seeds: list[tuple[float, float]],
) -> None:
    made = sample([value for value, _ in seeds], [error for _, error in seeds])
    for one in between_seeds.partially_pool(made):
        if one is not None:
            assert one.low <= one.value <= one.high
            assert made.values.min() - 1e-6 <= one.value <= made.values.max() + 1e-6


@given(SEEDS)
def test_the_interval_of_the_spread_holds_it(seeds: list[tuple[float, float]]) -> None:
    made = sample([value for value, _ in seeds], [error for _, error in seeds])
    found = between_seeds.spread(made, random_effects.between(made))
    if found is not None:
        assert 0 <= found.low <= found.value <= found.high


def test_seeds_that_refute_their_errors_have_no_spread_that_is_known_to_be_0() -> None:
    values = [0.7, 0.701, 0.699, 0.7005]
    found = present(between_seeds.spread(sample(values, [0.2] * 4), 0.0))
    most = (4 * np.var(values) / stats.chi2(3).ppf(0.025)) ** 0.5
    assert (found.value, found.low, found.high) == pytest.approx((0.0, 0.0, float(most)))
