"""The critical batch of entropy of arms, from the ledger columns of their runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from harness.law.results import Interval
from harness.law.variance import measure
from harness.law.variance.measure import ratio_of_means
from harness.law.variance.results import CriticalBatch
from tests.law.variance.made import ledger_run


def of_runs(root: Path) -> CriticalBatch:
    (arm,) = measure.measure([root], "own", 0.05).arms
    assert arm.critical_batch is not None
    return arm.critical_batch


def test_one_run_has_the_batch_and_the_errors_of_its_ledger(tmp_path: Path) -> None:
    ledger_run(tmp_path, 1, signal=(-0.45, 0.02), noise=(-0.15, 0.004))
    needs = of_runs(tmp_path)
    assert (needs.runs, needs.conversations) == (1, 64)
    assert needs.noise_share is not None
    assert needs.noise_share.value == pytest.approx(0.25)
    assert needs.batch is not None
    assert needs.batch.value == pytest.approx(192)
    assert 170 < needs.batch.low < 185 < 200 < needs.batch.high < 220


def test_the_interval_of_several_runs_is_of_what_seeds_differ_by(tmp_path: Path) -> None:
    for seed, noise in enumerate((-0.10, -0.15, -0.20), start=1):
        ledger_run(tmp_path, seed, signal=(-0.45, 0.2), noise=(noise, 0.1))
    needs = of_runs(tmp_path)
    assert needs.runs == 3
    assert needs.batch is not None
    assert needs.batch.value == pytest.approx(192)
    # noise .2, .3 and .4 a run, all else alike: t of 2 degrees of freedom times .1 / 3**.5
    assert needs.batch.high == pytest.approx(192 * (1 + 4.303 * 0.1 / 3**0.5 / 0.3), rel=1e-3)


def test_ratios_of_means_cover_the_truth_though_the_two_move_together() -> None:
    rng, hits, told = np.random.default_rng(20), 0, 0
    for _ in range(1000):
        shared = rng.normal(0, 0.2, 5)
        ratio = ratio_of_means(0.3 - shared + rng.normal(0, 0.02, 5), 0.9 + shared)
        told += ratio is not None
        hits += ratio is not None and ratio.low < 1 / 3 < ratio.high
    assert told > 900
    assert 0.93 < hits / told < 0.97


def test_a_whole_that_may_be_0_gives_no_ratio() -> None:
    assert ratio_of_means(np.array([1.0, 1.1]), np.array([0.1, 0.9])) is None
    assert ratio_of_means(np.array([1.0, 1.1]), np.array([-0.9, -0.9])) is None


def test_there_is_none_where_signal_and_remedy_are_not_sure_to_lower_h(tmp_path: Path) -> None:
    ledger_run(tmp_path, 1, signal=(-0.01, 0.05), noise=(-0.15, 0.004))
    needs = of_runs(tmp_path)
    assert needs.batch is None


def test_noise_that_does_not_lower_h_asks_for_no_batch(tmp_path: Path) -> None:
    ledger_run(tmp_path, 1, signal=(-0.45, 0.02), noise=(0.1, 0.004))
    assert of_runs(tmp_path).batch == Interval(0.0, 0.0, 0.0)


def test_runs_without_a_ledger_take_no_part(tmp_path: Path) -> None:
    ledger_run(tmp_path, 1, signal=(-0.45, 0.02), noise=(-0.15, 0.004))
    ledger_run(tmp_path, 2, kept=False)
    assert of_runs(tmp_path).runs == 1
    ledger_run(tmp_path / "none", 3, kept=False)
    (arm,) = measure.measure([tmp_path / "none"], "own", 0.05).arms
    assert arm.critical_batch is None
