"""The error that looks share: no more than stated, and most of it at the first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.law.compare import looks
from tests.present import present

SIZES = st.sets(st.integers(2, 40), min_size=1, max_size=5).map(lambda s: tuple(sorted(s)))
MOST = st.none() | st.integers(40, 60)
ALPHA = 0.025


def pairs(count: int, first: int = 1) -> looks.Pairs:
    return frozenset(str(seed) for seed in range(first, first + count))


@settings(max_examples=40, deadline=None)
@given(SIZES, MOST)
def test_the_error_spent_grows_and_never_passes_one_looks(
    sizes: tuple[int, ...], most: int | None
) -> None:
    shares = [looks.error_spent(sizes[: k + 1], most) for k in range(len(sizes))]
    assert shares == sorted(shares)
    assert shares[0] > 0
    assert shares[-1] <= (1.1 if most is None else 1)
    last = looks.one_sided_level(sizes, ALPHA, most)
    before = shares[-2] if len(shares) > 1 else 0.0
    assert ALPHA * (shares[-1] - before) - 1e-6 <= last <= ALPHA * shares[-1] + 1e-6


@settings(max_examples=20, deadline=None)
@given(SIZES, st.integers(2, 30))
def test_p_costs_more_where_more_links_are_compared(sizes: tuple[int, ...], links: int) -> None:
    earlier = [pairs(size) for size in sizes[:-1]]
    alone = present(looks.p_factor(earlier, pairs(sizes[-1]), 1))
    assert 1 <= alone <= present(looks.p_factor(earlier, pairs(sizes[-1]), links)) * 1.001


@pytest.mark.parametrize("most", [None, 15])
@pytest.mark.parametrize("sizes", [(5,), (5, 15), (3, 6, 9, 12, 15)])
def test_sums_of_normal_numbers_pass_a_boundary_as_often_as_is_spent(
    sizes: tuple[int, ...], most: int | None
) -> None:
    """40,000 paths; the bound is four standard errors."""
    drawn = np.random.default_rng(1).standard_normal((40_000, sizes[-1])).cumsum(axis=1)
    passed = np.zeros(len(drawn), dtype=bool)
    for place, size in enumerate(sizes):
        boundary = stats.norm.isf(looks.one_sided_level(sizes[: place + 1], ALPHA, most))
        passed |= drawn[:, size - 1] > boundary * size**0.5
    expected = ALPHA * looks.error_spent(sizes, most)
    assert passed.mean() == pytest.approx(expected, abs=4 * (expected / len(drawn)) ** 0.5)


def test_a_first_look_pays_nothing_and_neither_does_a_last_one_that_was_stated() -> None:
    assert looks.p_factor((), pairs(5), 1) == pytest.approx(1.0)
    assert looks.p_factor((), pairs(5), 1, most_pairs=5) == pytest.approx(1.0)
    assert looks.one_sided_level((5, 10, 15), ALPHA, 15) == pytest.approx(0.0223, abs=2e-4)
    assert looks.one_sided_level((5, 15), ALPHA) == pytest.approx(0.0035, abs=5e-4)


def test_the_same_pairs_again_are_the_same_look_whatever_came_after_it() -> None:
    first = looks.p_factor((), pairs(5), 1)
    assert looks.p_factor([pairs(5)], pairs(5), 1) == first
    assert looks.p_factor([pairs(5), pairs(9)], pairs(5), 1) == first
    assert looks.pairs_per_look([pairs(5), pairs(9)], pairs(9)) == (5, 9)


def test_known_pairs_that_are_picked_or_left_out_cost_more() -> None:
    """A part of what was judged has no error left; others in the place of some have an added
    look's own share and no credit for what they have in common.
    """
    assert looks.p_factor([pairs(9)], pairs(5), 1) is None
    assert looks.p_factor([pairs(9), pairs(5)], pairs(5), 1) is None
    assert looks.p_factor([pairs(3), pairs(3, first=4)], pairs(6), 1) is None
    added = present(looks.p_factor([pairs(9)], pairs(10), 1))
    assert present(looks.p_factor([pairs(9)], pairs(9, first=2), 1)) > added
    assert looks.p_factor([pairs(9)], pairs(12), 1, most_pairs=9) is None


def test_the_next_look_needs_more_pairs_than_a_first_one_and_fewer_where_it_was_stated() -> None:
    first = present(looks.pairs_needed(0.06, 0.05, 1))
    second = present(looks.pairs_needed(0.06, 0.05, 1, (5,)))
    stated = present(looks.pairs_needed(0.06, 0.05, 1, (5,), 20))
    assert first < stated < second
    assert looks.pairs_needed(0.06, 0.05, 1, (5,), 10) is None
    assert looks.pairs_needed(0.0, 0.05, 1, (5,)) == 5
