"""Noise around a smooth course: what a fitted course takes of its autocorrelation is given back."""

from __future__ import annotations

import numpy as np
import pytest

from harness.law.estimate import estimate, interval, regime
from harness.law.io.clean import Points
from harness.law.results import Floats
from harness.testing import synthetic

RUNS = 200


def noise(seed: int, n: int, rho: float) -> Floats:
    return synthetic.ar1(np.random.default_rng(seed), n, rho)


@pytest.mark.parametrize(("n", "rho"), [(31, 0.5), (61, 0.8)])
def test_a_cubic_takes_more_of_the_autocorrelation_than_a_mean_does(n: int, rho: float) -> None:
    found = [interval.measure_noise(noise(seed, n, rho)).tau for seed in range(RUNS)]
    mean = np.mean([(tau - 1) / (tau + 1) for tau in found])
    assert mean == pytest.approx(rho, abs=0.09)


def test_the_correction_for_a_mean_is_the_one_there_was() -> None:
    left = noise(1, 31, 0.5)
    centred = left - left.mean()
    raw = float(centred[1:] @ centred[:-1]) / float(centred @ centred)
    assert estimate.lag1(left) == pytest.approx(raw + (1 + 4 * raw) / 31)
    assert estimate.lag1(left, 4) == pytest.approx(raw + (4 + 7 * raw) / 31)


def test_a_reward_that_stands_still_is_seldom_said_to_gain() -> None:
    steps = np.arange(1.0, 32)
    won = [
        regime.gain(Points(steps, np.ones(31), 0.5 + 0.04 * noise(seed, 31, 0.5)))
        for seed in range(RUNS)
    ]
    held = [g is not None and g.low <= 0 <= g.high for g in won]
    assert np.mean(held) >= 0.91
