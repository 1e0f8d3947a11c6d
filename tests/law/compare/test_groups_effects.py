"""Means and differences over seeds: against hand-computed cases, and how often they are wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import Generator
from scipy import stats

from harness.law.compare import claims, quantities, random_effects
from harness.law.compare.random_effects import Estimate, Sample
from harness.law.results import Interval

TRIALS = 400
SEEDS = (3, 5)
SPREADS = (0.0, 0.02, 0.05)
"""Between seeds; 0.02 to 0.05 of reward is what runs of one config show."""


def drawn(rng: Generator, seeds: int, spread: float, truth: float = 0.0) -> Sample:
    """Seeds that differ by `spread`, each known to 0.005 to 0.03, as well as seven blocks tell."""
    errors = rng.uniform(0.005, 0.03, seeds)
    values = truth + rng.normal(0, spread, seeds) + rng.normal(0, errors)
    return Sample(values, errors * np.sqrt(rng.chisquare(6, seeds) / 6))


def share(hits: int) -> float:
    return hits / TRIALS


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("spread", SPREADS)
def test_the_interval_of_a_mean_covers_the_truth(seeds: int, spread: float) -> None:
    rng = np.random.default_rng(int(1000 * spread) + seeds)
    found = [random_effects.mean(drawn(rng, seeds, spread, 0.7)) for _ in range(TRIALS)]
    intervals = [mean.interval() for mean in found if mean is not None]
    assert share(sum(i.low <= 0.7 <= i.high for i in intervals)) >= 0.92


@pytest.mark.parametrize("seeds", SEEDS)
@pytest.mark.parametrize("spread", SPREADS)
def test_no_difference_is_rarely_called_one(seeds: int, spread: float) -> None:
    rng = np.random.default_rng(int(1000 * spread) + seeds)
    found = [
        random_effects.difference(drawn(rng, seeds, spread), drawn(rng, seeds, spread))
        for _ in range(TRIALS)
    ]
    assert share(sum(claims.p_differs(d) < 0.05 for d in found if d is not None)) <= 0.08


@pytest.mark.parametrize("seeds", [(10, 3), (5, 3)])
def test_a_group_of_few_seeds_that_differ_much_makes_no_difference(seeds: tuple[int, int]) -> None:
    rng = np.random.default_rng(9)
    found = [
        random_effects.difference(drawn(rng, seeds[0], 0.012), drawn(rng, seeds[1], 0.045))
        for _ in range(TRIALS)
    ]
    assert share(sum(claims.p_differs(d) < 0.05 for d in found if d is not None)) <= 0.08


def test_errors_of_runs_alone_would_call_most_null_differences_real() -> None:
    """Why seeds are the replicates: the same draws, pooled as if only their own errors counted."""
    rng, wrong = np.random.default_rng(7), 0
    for _ in range(TRIALS):
        one, other = drawn(rng, 3, 0.05), drawn(rng, 3, 0.05)
        weights = [1 / s.errors**2 for s in (one, other)]
        means = [float(w @ s.values / w.sum()) for w, s in zip(weights, (one, other), strict=True)]
        error = sum(1 / w.sum() for w in weights) ** 0.5
        wrong += abs(means[0] - means[1]) > 1.96 * error
    assert share(wrong) > 0.5


@pytest.mark.parametrize("censored", [0.3, 0.5, 0.7])
def test_onsets_that_some_runs_never_reach_make_no_difference_of_their_own(censored: float) -> None:
    rng, wrong = np.random.default_rng(11), 0
    for _ in range(TRIALS):
        shares = np.where(rng.random((2, 3)) < censored, 1.0, rng.normal(0.5, 0.05, (2, 3)))
        one, other = (random_effects.unweighted(list(row)) for row in shares)
        found = random_effects.difference(one, other)
        wrong += found is not None and claims.p_differs(found) < 0.05
    assert share(wrong) <= 0.06


def test_equal_errors_give_students_interval_where_the_seeds_differ_more_than_they_say() -> None:
    found = random_effects.mean(Sample(np.array([1.0, 2.0, 3.0]), np.full(3, 0.1)))
    assert found is not None
    assert found.value == pytest.approx(2.0)
    assert found.error == pytest.approx(1 / 3**0.5)
    assert found.interval().high == pytest.approx(2 + 4.302653 / 3**0.5)


@pytest.mark.parametrize("apart", [0.1, 0.0])
def test_seeds_closer_than_their_errors_by_chance_or_repeated_keep_these_errors(
    apart: float,
) -> None:
    found = random_effects.mean(Sample(1 + apart * np.array([0.0, 1.0, -1.0]), np.full(3, 0.3)))
    assert found is not None
    assert found.error == pytest.approx(0.3 / 3**0.5)


def test_errors_that_the_seeds_refute_are_scaled_to_the_most_that_they_allow() -> None:
    found = random_effects.mean(Sample(np.array([1.0, 1.01, 0.99]), np.full(3, 0.3)))
    assert found is not None
    highest = 2 * 0.01**2 / stats.chi2.ppf(0.1, 2)
    assert found.error == pytest.approx((highest / 3) ** 0.5)


@pytest.mark.parametrize("wide", [1.0, 2.0, 5.0])
@pytest.mark.parametrize("seeds", [2, 3, 5, 10])
def test_the_mean_is_held_however_wide_the_errors_of_runs_are(seeds: int, wide: float) -> None:
    rng, held = np.random.default_rng(13), 0
    for _ in range(TRIALS):
        errors = rng.uniform(0.5, 1.5, seeds)
        found = random_effects.mean(Sample(rng.normal(0, np.hypot(1, errors)), wide * errors))
        assert found is not None
        held += found.interval().low <= 0 <= found.interval().high
    assert share(held) >= 0.93


def test_a_run_that_hardly_knows_its_number_hardly_counts() -> None:
    sample = Sample(np.array([0.60, 0.62, 0.61, 9.0]), np.array([0.01, 0.01, 0.01, 20.0]))
    found = random_effects.mean(sample)
    assert found is not None
    assert found.value == pytest.approx(0.61, abs=0.01)


def test_a_run_without_noise_does_not_count_alone() -> None:
    intervals = [Interval(v, v - w, v + w) for v, w in ((0.6, 1e-14), (0.7, 0.02), (0.8, 0.02))]
    found = random_effects.mean(random_effects.sample(intervals))
    assert found is not None
    assert 0.6 < found.value < 0.8
    assert found.error > 0.01


@pytest.mark.parametrize("quantity", ["ceiling", "gain"])
def test_a_seed_whose_reward_stands_still_is_not_the_mean_by_itself(quantity: str) -> None:
    """Alone it gave 0.0000 [-0.0001, 0.0001]."""
    given = ((0.0, 1e-6), (0.019, 0.06), (0.026, 0.06))
    drawn = [Interval(value, value - half, value + half) for value, half in given]
    found = random_effects.mean(quantities.samples(quantity, [list(drawn)])[0])
    assert found is not None
    interval = found.interval()
    assert interval.low < 0.015 < interval.high
    assert 0.02 < interval.high - interval.low < 0.2


def test_without_errors_the_difference_is_welchs() -> None:
    one, other = [0.31, 0.42, 0.39], [0.5, 0.71, 0.66, 0.9]
    found = random_effects.difference(*map(random_effects.unweighted, (one, other)))
    known = stats.ttest_ind(one, other, equal_var=False)
    assert found is not None
    assert claims.p_differs(found) == pytest.approx(known.pvalue)
    low, high = known.confidence_interval()
    assert found.interval().low == pytest.approx(low)
    assert found.interval().high == pytest.approx(high)


def test_one_seed_or_no_spread_gives_no_estimate() -> None:
    one, three = Sample(np.ones(1), np.ones(1)), Sample(np.ones(3), np.ones(3))
    assert random_effects.mean(one) is None
    assert random_effects.difference(one, three) is None
    same = random_effects.unweighted([1.0, 1.0])
    assert random_effects.difference(same, same) is None


numbers = st.lists(st.tuples(st.floats(-5, 5), st.floats(0.01, 2)), min_size=2, max_size=6).map(
    lambda rows: Sample(np.array([r[0] for r in rows]), np.array([r[1] for r in rows]))
)


@given(numbers, numbers, st.floats(-3, 3))
def test_a_difference_turns_its_sign_and_does_not_hang_on_the_origin(
    one: Sample, other: Sample, shift: float
) -> None:
    found = random_effects.difference(one, other)
    back = random_effects.difference(other, one)
    moved = random_effects.difference(
        Sample(one.values + shift, one.errors), Sample(other.values + shift, other.errors)
    )
    assert found is not None
    assert back is not None
    assert moved is not None
    assert back.value == pytest.approx(-found.value, abs=1e-9)
    assert back.error == pytest.approx(found.error)
    assert moved.value == pytest.approx(found.value, abs=1e-6)
    assert moved.error == pytest.approx(found.error, rel=1e-6)


def test_holm_by_hand() -> None:
    """Sorted .005 .01 .03 .04, times 4 3 2 1, and never below the one before."""
    assert claims.holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert claims.holm([0.7, 0.6]) == [1.0, 1.0]
    assert claims.holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_only_raises_p_and_keeps_their_order(p: list[float]) -> None:
    adjusted = claims.holm(p)
    assert all(a >= min(1.0, raw) for a, raw in zip(adjusted, p, strict=True))
    order = np.argsort(p, kind="stable")
    assert list(np.array(adjusted)[order]) == sorted(adjusted)


def test_equivalence_is_two_one_sided_tests() -> None:
    found = Estimate(0.01, 0.01, 8)
    upper, lower = stats.t.sf((0.05 - 0.01) / 0.01, 8), stats.t.sf((0.05 + 0.01) / 0.01, 8)
    assert claims.p_equivalent(found, 0.05) == pytest.approx(max(upper, lower))
    inside = found.interval(0.90)
    assert (inside.high < 0.05) == (claims.p_equivalent(found, 0.05) < 0.05)
    assert claims.p_equivalent(Estimate(0.2, 0.01, 8), 0.05) > 0.99


@pytest.mark.parametrize(("spreads", "asked"), [((0.02, 0.02), 4), ((0.01, 0.05), 11)])
def test_as_many_seeds_as_are_asked_for_find_the_difference(
    spreads: tuple[float, float], asked: int
) -> None:
    seeds = claims.seeds_needed(spreads, 0.05, comparisons=1)
    assert seeds == asked
    rng = np.random.default_rng(3)
    one, other = (rng.normal(0, spread, (4 * TRIALS, seeds)) for spread in spreads)
    found = stats.ttest_ind(one + 0.05, other, axis=1, equal_var=False).pvalue < 0.05
    assert 0.77 <= found.mean() <= 0.90
    assert (claims.seeds_needed(spreads, 0.05, comparisons=12) or 0) > seeds


def test_no_seeds_are_asked_for_where_they_would_be_too_many_or_none_differs() -> None:
    assert claims.seeds_needed((1.0, 1.0), 0.001, comparisons=1) is None
    assert claims.seeds_needed((0.0, 0.0), 0.05, comparisons=1) == 2


def test_the_minimum_detectable_difference_is_found_four_times_in_five() -> None:
    rng = np.random.default_rng(5)
    error = 0.02 * (2 / 5) ** 0.5
    truth = claims.minimum_detectable(Estimate(0.0, error, 8), comparisons=1)
    one, other = rng.normal(truth, 0.02, (4000, 5)), rng.normal(0, 0.02, (4000, 5))
    assert (stats.ttest_ind(one, other, axis=1).pvalue < 0.05).mean() == pytest.approx(
        0.8, abs=0.03
    )
