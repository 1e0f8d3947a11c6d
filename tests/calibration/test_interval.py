"""Intervals that cover what they say, on data with known answers."""

import numpy as np
import pytest

from harness.calibration import interval
from harness.calibration.interval import ConfidenceInterval


def known(estimate: ConfidenceInterval | None) -> ConfidenceInterval:
    assert estimate is not None
    return estimate


def test_the_mean_of_independent_values_is_covered() -> None:
    rng = np.random.default_rng(0)
    means = [known(interval.mean(rng.normal(3, 2, 12))) for _ in range(2000)]
    assert np.mean([i.low <= 3 <= i.high for i in means]) == pytest.approx(0.95, abs=0.015)


@pytest.mark.parametrize("share", [0.02, 0.3, 0.97])
def test_a_share_is_covered_at_the_ends_too(share: float) -> None:
    rng = np.random.default_rng(1)
    shares = [known(interval.share(rng.random(100) < share)) for _ in range(2000)]
    assert np.mean([i.low <= share <= i.high for i in shares]) > 0.92


def test_a_share_of_none_has_width() -> None:
    none = known(interval.share([False] * 100))
    assert (none.value, none.low) == (0, 0)
    assert 0.03 < none.high < 0.05


def test_values_that_depend_on_each_other_are_not_taken_for_independent() -> None:
    rng = np.random.default_rng(2)
    clusters = np.repeat(np.arange(30), 10)
    covered = {"clustered": 0, "mean": 0}
    for _ in range(500):
        values = rng.normal(0, 1, 30)[clusters] + rng.normal(0, 0.3, 300)
        for name, estimate in (
            ("clustered", known(interval.clustered_mean(values, clusters))),
            ("mean", known(interval.mean(values))),
        ):
            covered[name] += estimate.low <= 0 <= estimate.high
    assert covered["clustered"] / 500 > 0.92
    assert covered["mean"] / 500 < 0.6


def test_missing_values_are_left_out_of_clusters() -> None:
    values, clusters = [1.0, 3.0, np.nan, 5.0, 7.0], [0, 0, 1, 2, 2]
    assert interval.clustered_mean(values, clusters) == interval.clustered_mean(
        [1, 3, 5, 7], [0, 0, 2, 2]
    )


def test_a_correlation_of_known_strength_is_covered() -> None:
    rng = np.random.default_rng(3)
    covered = 0
    for _ in range(100):
        x = rng.normal(size=(60, 5))
        y = 0.6 * x + 0.8 * rng.normal(size=(60, 5))
        estimate = known(interval.correlation(list(zip(x, y, strict=True))))
        covered += estimate.low <= 0.6 <= estimate.high
    assert covered >= 88


def test_too_little_has_no_interval() -> None:
    assert interval.mean([1.0]) is None
    assert interval.share([]) is None
    assert interval.clustered_mean([1.0, 2.0], [7, 7]) is None
    assert interval.correlation([(np.ones(3), np.ones(3))] * 2) is None
