"""Kaplan-Meier over seeds: a textbook's example, exact limits, and what holds of any runs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.law.population import survival
from harness.law.population.survival import OnsetTimes

REMISSIONS = "6 6 6 6+ 7 9+ 10 10+ 11+ 13 16 17+ 19+ 20+ 22 23 25+ 32+ 32+ 34+ 35+"
"""Weeks until relapse under 6-MP (Freireich and others 1963): Kleinbaum and Klein, Survival
Analysis, chapter 2. A + is a patient who had not relapsed when last seen."""
SURVIVING = {6: 0.857, 7: 0.807, 10: 0.753, 13: 0.690, 16: 0.627, 22: 0.538, 23: 0.448}


def times(text: str) -> OnsetTimes:
    words = text.split()
    return OnsetTimes(
        np.array([float(word.rstrip("+")) for word in words]),
        np.array([not word.endswith("+") for word in words]),
    )


RUNS = st.lists(st.tuples(st.integers(1, 40), st.booleans()), min_size=1, max_size=30)


def made(runs: list[tuple[int, bool]]) -> OnsetTimes:
    return OnsetTimes(
        np.array([float(step) for step, _ in runs]), np.array([seen for _, seen in runs])
    )


def test_the_estimate_is_that_of_the_textbook() -> None:
    found = {point.step: 1 - point.value for point in survival.incidence(times(REMISSIONS))}
    assert {step: round(found[step], 3) for step in SURVIVING} == SURVIVING


def test_the_estimate_is_that_of_scipy() -> None:
    runs = times(REMISSIONS)
    data = stats.CensoredData.right_censored(runs.steps, ~runs.collapsed)
    theirs = stats.ecdf(data).cdf
    points = survival.incidence(runs)[1:]
    assert [p.value for p in points] == pytest.approx(theirs.evaluate([p.step for p in points]))


@pytest.mark.parametrize("seeds", [3, 5, 10])
def test_without_censoring_the_limits_are_clopper_and_pearsons(seeds: int) -> None:
    runs = OnsetTimes(np.arange(1.0, seeds + 1), np.ones(seeds, dtype=bool))
    for collapsed, point in enumerate(survival.incidence(runs)):
        exact = stats.binomtest(collapsed, seeds).proportion_ci(0.95, "exact")
        assert (point.low, point.high) == pytest.approx((exact.low, exact.high), abs=1e-9)


def test_runs_that_all_reach_the_end_without_an_onset_bound_the_share() -> None:
    start, end = survival.incidence(times("300+ 300+ 300+ 300+ 300+"))
    assert (start.step, end.step, end.value, end.low) == (0, 300, 0, 0)
    assert end.high == pytest.approx(1 - 0.025 ** (1 / 5))


def test_a_run_lost_half_way_widens_what_comes_after_it() -> None:
    whole = survival.incidence(times("100 300+ 300+ 300+"))[-1]
    lost = survival.incidence(times("100 200+ 300+ 300+"))[-1]
    assert lost.value == pytest.approx(whole.value) == pytest.approx(0.25)
    assert lost.high > whole.high


@given(RUNS)
def test_it_never_falls_and_its_limits_hold_it(runs: list[tuple[int, bool]]) -> None:
    points = survival.incidence(made(runs))
    for name in ("step", "value", "low", "high"):
        assert all(np.diff([getattr(point, name) for point in points]) >= 0)
    for point in points:
        assert 0 <= point.low <= point.value <= point.high <= 1


@given(RUNS, st.randoms())
def test_the_order_of_runs_does_not_matter(runs: list[tuple[int, bool]], dice: object) -> None:
    mixed = sorted(runs, key=lambda _: dice.random())  # type: ignore[attr-defined]
    assert survival.incidence(made(runs)) == survival.incidence(made(mixed))
