"""Bins of equal counts, against their definition written out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.law.estimate import bins
from harness.law.estimate.bins import Bins
from harness.law.results import Floats

SIZES = st.integers(1, 120).flatmap(lambda n: st.tuples(st.just(n), st.integers(1, n)))


@given(SIZES, st.integers(0, 2**32 - 1))
def test_means_and_medians_of_the_points_that_share_a_label(
    size: tuple[int, int], seed: int
) -> None:
    n, count = size
    binned, values = bins.equal_bins(n, count), np.random.default_rng(seed).normal(size=n)
    label = np.array([i * count // n for i in range(n)])
    shares = [values[label == k] for k in range(count)]
    np.testing.assert_allclose(binned.means(values), [np.mean(s) for s in shares], atol=1e-14)
    np.testing.assert_array_equal(binned.medians(values), [np.median(s) for s in shares])
    np.testing.assert_array_equal(binned.spread_out(np.arange(float(count))), label)


@given(SIZES)
def test_counts_differ_by_at_most_one(size: tuple[int, int]) -> None:
    counts = bins.equal_bins(*size).counts
    assert counts.sum() == size[0]
    assert counts.min() >= 1
    assert np.ptp(counts) <= 1


@given(st.integers(4, 200), st.floats(-5, 5), st.floats(-5, 5))
def test_a_line_is_read_off_its_neighbours_whole(n: int, slope: float, start: float) -> None:
    binned = bins.for_fit(n)
    if len(binned) < 2:
        return
    line: Floats = start + slope * np.arange(float(n))
    np.testing.assert_allclose(binned.between_neighbours(binned.means(line)), line, atol=1e-9)


@pytest.mark.parametrize(
    ("made", "n", "count"),
    [
        (bins.for_fit, 2, 1),
        (bins.for_fit, 16, 8),
        (bins.for_fit, 400, 20),
        (bins.for_fit, 9999, 40),
        (bins.for_onset, 12, 12),
        (bins.for_onset, 16, 16),
        (bins.for_onset, 5000, 100),
    ],
)
def test_how_many(made: Callable[[int], Bins], n: int, count: int) -> None:
    assert len(made(n)) == count
