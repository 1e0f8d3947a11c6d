"""Noise does not fill an axis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.report.figures import ranges
from harness.report.figures.ranges import MinimumRange, limits
from tests.report import made
from tests.report.made_figures import drawn

numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20).map(np.array)


@given(numbers, st.floats(0, 1e6))
def test_an_axis_holds_its_data_and_spans_its_least_range(
    values: np.ndarray[tuple[int], np.dtype[np.float64]], span: float
) -> None:
    low, high = limits([values], least=MinimumRange(span))
    assert low <= values.min() <= values.max() <= high
    assert high - low >= span * (1 - 1e-9)


@given(st.lists(st.floats(0, 20), min_size=1, max_size=20).map(np.array))
def test_an_axis_of_entropy_does_not_reach_far_below_0(
    values: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> None:
    low, high = limits([values], least=ranges.entropy([values]))
    assert low >= -0.06 * max(float(values.max()), 1.0) - 1e-9
    assert high - low >= max(0.1, 0.5 * float(values.max())) * (1 - 1e-9)
    assert low <= values.min() <= values.max() <= high


def test_without_data_there_is_an_axis_all_the_same() -> None:
    assert limits([np.array([np.nan])], least=MinimumRange(3.0)) == (0.0, 1.0)


@pytest.mark.parametrize(("known", "span"), [(1.0, 0.2), (None, 0.2 * 40)])
def test_a_reward_of_unknown_range_is_measured_by_its_size(
    known: float | None, span: float
) -> None:
    assert ranges.reward([np.array([-40.0, 3.0])], known).span == pytest.approx(span)


def test_noise_of_a_run_that_does_not_move_stays_flat() -> None:
    """As of starvation: H near 1.9 and R near 0.1, with noise of a hundredth."""
    run, series = made.fitted("r")
    noise = 0.01 * np.sin(np.arange(60))
    still = replace(series, entropy=1.9 + noise, course_entropy=1.9 + noise, reward=0.1 + noise / 2)
    top, bottom = drawn(made.analysis([(run, still)]))["entropy_curves"].figure.axes
    for axes, least in ((top, 0.95), (bottom, 0.2)):
        low, high = axes.get_ylim()
        (line,) = axes.lines
        drawn_span = np.ptp(np.asarray(line.get_ydata(), dtype=float))
        assert high - low >= least
        assert drawn_span < 0.1 * (high - low)
