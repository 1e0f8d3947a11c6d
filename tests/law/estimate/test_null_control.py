"""Null controls against pairs of runs whose falls of H are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.law import law_json
from harness.law.analysis import analyse
from harness.law.estimate.null_control import fall
from harness.law.group_results import Analysis
from harness.law.results import RunResult
from harness.testing import run_folders, synthetic
from harness.testing.synthetic import Noise, SyntheticRun

STILL = Noise(0.5, 0.05, 0.0)
"""H as it is meant, without a wander of its own, seen through noise."""


def line(seed: int, end: float, n: int = 200, noise: Noise = STILL) -> SyntheticRun:
    """H falls in a line from 1 to `end`; R follows the law."""
    return synthetic.lawful(seed, n, noise, lambda u: 1 + (end - 1) * u)


def silent(log: SyntheticRun) -> SyntheticRun:
    """The same H with an R that knows nothing of it."""
    rng = np.random.default_rng(9)
    return SyntheticRun(log.steps, log.entropy, 0.3 + 0.01 * rng.normal(size=len(log.steps)))


def pair(folder: Path, real: SyntheticRun, null: SyntheticRun, **more: Any) -> None:
    run_folders.write_run(folder / "real", synthetic.rows(real), seed=1)
    run_folders.write_run(folder / "null", synthetic.rows(null), null_control=True, **more)


def by_name(analysis: Analysis) -> dict[str, RunResult]:
    return {Path(run.run).name: run for run in analysis.runs}


def test_a_null_that_falls_as_far_marks_law_and_onset_as_noise(tmp_path: Path) -> None:
    pair(tmp_path, line(1, 0.3), silent(line(2, 0.35)), seed=1)
    found = by_name(analyse([tmp_path]))
    real, null = found["real"], found["null"]
    assert real.null_share is not None
    assert real.null_share.value == pytest.approx(0.65 / 0.7, abs=0.1)
    assert real.null_share.low < 0.65 / 0.7 < real.null_share.high
    assert real.noise_driven is True
    assert real.reasons is not None
    assert real.reasons[-1] == "noise_driven"
    assert (null.null_share, null.noise_driven, null.net_of_null) == (None, None, None)


def test_a_null_that_keeps_its_entropy_leaves_the_run_its_own(tmp_path: Path) -> None:
    pair(tmp_path, line(1, 0.3), silent(line(2, 0.9)), seed=1)
    real = by_name(analyse([tmp_path]))["real"]
    assert real.null_share is not None
    assert real.null_share.high < 0.5
    assert real.noise_driven is False
    assert real.reasons is not None
    assert "noise_driven" not in real.reasons
    assert real.net_of_null is not None
    net, gain = real.net_of_null.fall, real.net_of_null.gain
    assert net is not None
    assert net.low < 0.7 - 0.1 < net.high
    assert gain is not None
    course = synthetic.law(1 - 0.7 * np.arange(200) / 200)
    assert gain.low < course[-20:].mean() - course[:20].mean() < gain.high
    assert gain.low > 0.2


def test_a_share_above_a_half_by_its_value_alone_marks_nothing(tmp_path: Path) -> None:
    pair(tmp_path, line(1, 0.3), silent(line(2, 0.6)), seed=1)
    real = by_name(analyse([tmp_path]))["real"]
    assert real.null_share is not None
    assert real.null_share.low < 0.5 < real.null_share.value
    assert real.noise_driven is False
    assert "noise_driven" not in (real.reasons or ())


@pytest.mark.parametrize(("n", "noise"), [(60, STILL), (300, STILL), (300, Noise(0.0, 0.05, 0.0))])
def test_the_interval_of_the_share_holds_the_truth(n: int, noise: Noise, tmp_path: Path) -> None:
    u = np.arange(n) / n
    first, last = max(3, n // 50), max(3, n // 10)
    truth = 0.28 * (u[-last:].mean() - u[:first].mean())
    held = []
    for seed in range(60):
        found = fall(line(seed, 0.72, n, noise).entropy)
        assert found is not None
        held.append(found.low <= truth <= found.high)
    assert np.mean(held) >= 0.85


def test_the_null_of_the_same_seed_counts_before_those_of_others(tmp_path: Path) -> None:
    for seed, end in ((1, 0.9), (2, 0.3)):
        run = tmp_path / f"null{seed}"
        run_folders.write_run(run, synthetic.rows(line(9, end)), seed=seed, null_control=True)
    for seed in (1, 2, 3):
        run_folders.write_run(tmp_path / f"s{seed}", synthetic.rows(line(seed, 0.3)), seed=seed)
    found = by_name(analyse([tmp_path]))
    shares = [found[f"s{seed}"].null_share for seed in (1, 2, 3)]
    assert [s.value for s in shares if s] == pytest.approx([1 / 7, 1.0, 4 / 7], abs=0.1)


def test_another_config_or_another_card_is_no_null_control(tmp_path: Path) -> None:
    pair(tmp_path / "level", line(1, 0.3), line(2, 0.4), level="hard")
    pair(tmp_path / "card", line(1, 0.3), line(2, 0.4), measurement={"entropy_over": "acts"})
    assert by_name(analyse([tmp_path / "level"]))["real"].null_share is None
    assert by_name(analyse([tmp_path / "card"]))["real"].null_share is None
    pooled = by_name(analyse([tmp_path / "card"], pool_unlike=True))["real"]
    assert pooled.null_share is not None


def test_a_run_that_lost_nothing_has_no_share_of_a_loss(tmp_path: Path) -> None:
    pair(tmp_path, line(1, 1.0), line(2, 0.4))
    real = by_name(analyse([tmp_path]))["real"]
    assert (real.null_share, real.noise_driven) == (None, None)
    assert real.net_of_null is not None
    assert real.net_of_null.fall is not None


def test_a_null_stopped_half_way_is_compared_over_that_half(tmp_path: Path) -> None:
    half = line(2, 0.6)
    cut = SyntheticRun(half.steps[:100], half.entropy[:100], half.reward[:100])
    pair(tmp_path, line(1, 0.3), cut)
    share = by_name(analyse([tmp_path]))["real"].null_share
    assert share is not None
    assert share.value == pytest.approx(0.4 / 0.7, abs=0.15)


def test_gains_on_different_columns_are_not_subtracted(tmp_path: Path) -> None:
    rows = [{**row, "eval/reward": row["reward"]} for row in synthetic.rows(line(1, 0.3))]
    run_folders.write_run(tmp_path / "real", rows)
    run_folders.write_run(tmp_path / "null", synthetic.rows(line(2, 0.9)), null_control=True)
    real = by_name(analyse([tmp_path]))["real"]
    assert real.net_of_null is not None
    assert real.net_of_null.gain is None
    assert real.net_of_null.fall is not None


def test_a_null_control_changes_no_other_number(tmp_path: Path) -> None:
    pair(tmp_path, line(1, 0.3), line(2, 0.4))
    filled = {"null_share", "noise_driven", "net_of_null", "reasons"}
    alone = law_json.from_run(analyse([tmp_path / "real"]).runs[0])
    beside = law_json.from_run(by_name(analyse([tmp_path]))["real"])
    assert {k for k in alone if alone[k] != beside[k]} == filled


@settings(max_examples=40, deadline=None)
@given(n=st.integers(1, 60), seed=st.integers(0, 999), digits=st.sampled_from([0, 1, 15]))
def test_any_course_has_a_fall_or_none(n: int, seed: int, digits: int) -> None:
    entropy = np.round(np.random.default_rng(seed).uniform(0, 20, n), digits)
    found = fall(entropy)
    assert (found is None) == (n < 16)
    if found is not None:
        assert found.low <= found.value <= found.high
