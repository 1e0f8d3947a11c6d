"""The log-normal onset: Student and chi-squared where they are exact, scipy's fit where it is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from harness.law.population import log_normal
from harness.law.population.log_normal import LogNormal
from harness.law.results import Floats
from tests.present import present

NONE = np.empty(0)
ONSETS = st.lists(st.integers(10, 300), min_size=2, max_size=12)


def fitted(onsets: list[float] | Floats, free_until: list[float] | Floats = NONE) -> LogNormal:
    return present(log_normal.fit(np.array(onsets, float), np.array(free_until, float)))


@pytest.mark.parametrize("seeds", [2, 3, 5, 10, 100])
def test_without_censoring_the_intervals_are_the_exact_ones(seeds: int) -> None:
    onsets = np.exp(np.random.default_rng(seeds).normal(5, 0.3, seeds))
    logs, found = np.log(onsets), fitted(onsets)
    median, spread = found.median(), found.spread()
    exact = (
        logs.mean() + stats.t(seeds - 1).ppf([0.5, 0.025, 0.975]) * logs.std(ddof=1) / seeds**0.5
    )
    near = (0.05 if seeds == 2 else 0.02) * (exact[2] - exact[0])
    assert np.log([median.value, median.low, median.high]) == pytest.approx(exact, abs=near)
    squares = seeds * logs.var()
    bounds = (squares / stats.chi2(seeds - 1).ppf([0.5, 0.975, 0.025])) ** 0.5
    assert [spread.value, spread.low, spread.high] == pytest.approx(tuple(bounds), rel=0.01)


def test_of_many_censored_runs_it_is_the_fit_of_scipy() -> None:
    drawn = np.exp(np.random.default_rng(1).normal(5.5, 0.4, 600))
    seen = drawn <= 280
    steps = np.minimum(drawn, 280)
    shape, _, scale = stats.lognorm.fit(stats.CensoredData.right_censored(steps, ~seen), floc=0)
    found = fitted(steps[seen], steps[~seen])
    assert found.median().value == pytest.approx(scale, rel=0.01)
    assert found.spread().value == pytest.approx(shape, rel=0.02)


@pytest.mark.parametrize("onsets", [[], [200.0], [200.0, 200.0]])
def test_no_spread_no_fit(onsets: list[float]) -> None:
    assert log_normal.fit(np.array(onsets), np.array([300.0])) is None


@pytest.mark.parametrize("onsets", [[1.0, 600.0], [1.0, 5.0]])
def test_few_early_onsets_among_many_runs_bound_no_median(onsets: list[float]) -> None:
    median = fitted(onsets, [600.0] * 50).median()
    assert median.value > 600
    assert median.high == np.inf


def test_a_run_that_ended_before_it_had_begun_says_nothing() -> None:
    assert fitted([150, 200, 260], [0]).median() == fitted([150, 200, 260]).median()


@given(ONSETS, st.integers(0, 6), st.floats(0.01, 1000))
def test_the_median_scales_with_the_steps(onsets: list[int], free: int, by: float) -> None:
    assume(len(set(onsets)) > 1)
    last = [300.0] * free
    found = fitted([float(step) for step in onsets], last)
    scaled = fitted([by * step for step in onsets], [by * step for step in last])
    one, other = found.median(), scaled.median()
    ends = [by * one.value, by * one.low, by * one.high]
    assert [other.value, other.low, other.high] == pytest.approx(ends, rel=1e-5)
    assert scaled.spread().value == pytest.approx(found.spread().value, rel=1e-5)


@given(ONSETS, st.integers(0, 6))
def test_intervals_hold_their_estimates_whatever_the_order(onsets: list[int], free: int) -> None:
    assume(len(set(onsets)) > 1)
    found = fitted([float(step) for step in onsets], [300.0] * free)
    for interval in (found.median(), found.spread()):
        assert interval.low <= interval.value <= interval.high
    assert found.spread().low > 0
    other = fitted([float(step) for step in reversed(onsets)], [300.0] * free)
    assert other.median().value == pytest.approx(found.median().value)
