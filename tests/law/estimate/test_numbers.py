"""The quick means, medians and quantiles are numpy's and scipy's to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import signal, stats

from harness.law.estimate import bins, numbers, spikes
from harness.law.results import Floats

FINITE = st.floats(-1e6, 1e6)
VALUES = arrays(np.float64, st.integers(1, 300), elements=FINITE)


@given(VALUES)
def test_mean_and_median(values: Floats) -> None:
    assert numbers.mean(values) == values.mean()
    assert numbers.median(values) == np.median(values)
    np.testing.assert_array_equal(numbers.centred(values), values - values.mean())


@pytest.mark.parametrize("window", [5, 7])
@given(arrays(np.float64, st.integers(7, 60), elements=FINITE))
def test_running_median(window: int, values: Floats) -> None:
    around = np.lib.stride_tricks.sliding_window_view(values, window)
    np.testing.assert_array_equal(numbers.running_median(values, window), np.median(around, axis=1))


@given(arrays(np.float64, st.integers(7, 60), elements=FINITE))
def test_values_mirrored_through_the_ends(values: Floats) -> None:
    padded = np.pad(values, 3, mode="reflect", reflect_type="odd")
    np.testing.assert_array_equal(spikes.mirror_ends(values, 3), padded)


@given(st.floats(1, 1e5), st.sampled_from([0.9, 0.95, 0.975, 0.995]))
def test_quantiles_of_students_t(freedom: float, probability: float) -> None:
    assert numbers.t_quantile(probability, freedom) == stats.t.ppf(probability, freedom)


@given(st.floats(1, 1e5), st.floats(-50, 50))
def test_tails_of_students_t(freedom: float, t: float) -> None:
    assert numbers.t_tail(t, freedom) == stats.t.sf(t, freedom)


@given(arrays(np.float64, st.tuples(st.just(2), st.integers(1, 60)), elements=FINITE))
def test_what_an_autoregression_carries_on(pair: Floats) -> None:
    for share in (0.0, 0.3, 0.98):
        carried = signal.lfilter([1.0], [1.0, -share], pair, axis=1)
        least = 1e-14 * float(np.abs(pair).max()) / (1 - share) + 1e-300  # subnormals round
        np.testing.assert_allclose(numbers.filter_ar1(pair, share), carried, 1e-14, least)


def test_shared_arrays_cannot_be_written_to() -> None:
    for shared in (bins.equal_bins(100, 8).starts, bins.equal_bins(100, 8).counts):
        with pytest.raises(ValueError, match="read-only"):
            shared[0] = 1
