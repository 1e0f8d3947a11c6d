"""Intervals over users: known answers, what they do not depend on, and how often they hold."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from harness.probes.over_users import NOT_MEASURED, Parts, change, ratio

PARTS = st.lists(
    st.tuples(st.integers(0, 50).map(float), st.integers(1, 20).map(float)), min_size=3, max_size=30
)


def of_means(values: Sequence[float]) -> Parts:
    return [(value, 1.0) for value in values]


def test_with_one_number_a_user_it_is_students_interval() -> None:
    values = [0.2, 0.5, 0.4, 0.9]
    found = ratio(of_means(values))
    half = t.ppf(0.975, 3) * np.std(values, ddof=1) / math.sqrt(4)
    assert found.value == pytest.approx(0.5)
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half))


def test_a_user_counts_by_what_there_is_of_them() -> None:
    assert ratio([(1.0, 1.0), (0.0, 9.0), (0.0, 0.0), (2.0, 2.0)]).value == pytest.approx(3 / 12)


def test_too_few_users_measure_nothing() -> None:
    assert ratio([(1.0, 1.0), (0.0, 0.0), (2.0, 2.0)]) == NOT_MEASURED
    assert change([(1.0, 1.0)] * 3, [(0.0, 0.0)] * 3) == NOT_MEASURED


def test_users_of_whom_there_is_nothing_make_nothing_surer() -> None:
    few = [(0.1, 1.0), (0.9, 1.0), (0.5, 1.0)]
    silent = [(0.0, 0.0)] * 61
    assert ratio([*few, *silent]) == ratio(few)
    assert change([*few, *silent], [*reversed(few), *silent]) == change(few, [*reversed(few)])


@pytest.mark.parametrize("count", [3, 6])
def test_changes_hold_the_truth_where_one_policy_has_little_to_measure(count: int) -> None:
    """The reference has a number for each of 64 users, the policy for few of them."""
    rng = np.random.default_rng(2_028)
    held = 0
    for _ in range(400):
        before, after = rng.normal(0, 1, (2, 64))
        known = np.arange(64) < count
        parts = [(float(v) * k, float(k)) for v, k in zip(after, known, strict=True)]
        held += change(of_means(before.tolist()), parts).holds(0)
    assert held / 400 > 0.92


def test_changes_hold_the_truth() -> None:
    rng = np.random.default_rng(2_027)
    held = 0
    for _ in range(400):
        chance = rng.beta(2, 3, 64)
        before, after = rng.binomial(8, chance) / 8, rng.binomial(8, 0.5 * chance) / 8
        held += change(of_means(before.tolist()), of_means(after.tolist())).holds(-0.2)
    assert held / 400 > 0.92


def test_the_same_users_differ_less_than_others() -> None:
    before = [float(n) for n in range(10)]
    after = [value + 1 + 0.01 * (-1) ** n for n, value in enumerate(before)]
    found = change(of_means(before), of_means(after))
    assert found.value == pytest.approx(1)
    assert found.low is not None
    assert found.low > 0.98
    assert found.holds(1.0)
    assert not found.holds(0.0)


@given(PARTS, st.floats(0.01, 100), st.randoms())
def test_scale_and_order_of_users_change_nothing(
    parts: Parts, scale: float, random: object
) -> None:
    found = ratio(parts)
    scaled = ratio([(scale * above, below) for above, below in reversed(parts)])
    assert found.value is not None
    assert found.low is not None
    assert found.high is not None
    expected = (scale * found.value, scale * found.low, scale * found.high)
    assert (scaled.value, scaled.low, scaled.high) == pytest.approx(expected, abs=1e-9)


@given(PARTS)
def test_nothing_changes_from_a_policy_to_itself(parts: Parts) -> None:
    found = change(parts, parts)
    assert (found.value, found.low, found.high) == (0, 0, 0)


def test_intervals_hold_the_truth() -> None:
    rng = np.random.default_rng(2_026)
    held = 0
    for _ in range(400):
        chance = rng.beta(2, 3, 64)  # of each user
        replies = rng.integers(4, 25, 64)
        done = rng.binomial(replies, chance)
        held += ratio(list(zip(done.astype(float), replies.astype(float), strict=True))).holds(0.4)
    assert held / 400 > 0.92
