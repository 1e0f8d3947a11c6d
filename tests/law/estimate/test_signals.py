"""Signals beside the law: silent groups, what was so at the onset, the probe, the noise of H."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.law.analysis import analyse
from harness.law.estimate import identifiability, onset, regime, signals
from harness.law.estimate.signals import Ceiling
from harness.law.io.clean import Points
from harness.law.io.columns import ColumnSeries
from harness.law.results import BoundedEstimate, RunResult
from harness.testing import run_folders, synthetic
from harness.testing.synthetic import HIGH, LOW, Noise, SyntheticRun
from tests.present import present

STILL = Noise(0.5, 0.05, 0.0)


def analysed(folder: Path, log: SyntheticRun, **columns: Any) -> RunResult:
    """A run of ours with more columns, each a number or one value a row."""
    rows = synthetic.rows(log)
    for name, values in columns.items():
        for row, value in zip(rows, np.broadcast_to(values, len(rows)), strict=True):
            row[name.replace("__", "/")] = float(value) if np.isfinite(value) else None
    (run,) = analyse([run_folders.write_run(folder, rows)]).runs
    return run


@pytest.mark.parametrize(("n", "rho"), [(20, 0.0), (60, 0.5), (300, 0.5), (300, 0.9)])
def test_the_interval_of_the_silent_share_holds_the_truth(n: int, rho: float) -> None:
    truth = 0.6 + 0.2 * np.exp(-np.arange(n) / n / 0.25)
    held = []
    for seed in range(100):
        noise = 0.05 * synthetic.ar1(np.random.default_rng(seed), n, rho)
        found = regime.silent_share([ColumnSeries(np.arange(1.0, n + 1), truth + noise)])
        assert found is not None
        held.append(found.low <= truth.mean() <= found.high)
    assert np.mean(held) >= 0.9


def test_the_silent_share_is_of_the_larger_column_and_stays_a_share() -> None:
    steps = np.arange(1.0, 41)
    shares = [ColumnSeries(steps, np.full(40, 0.25)), ColumnSeries(steps, np.r_[np.ones(39), 0.9])]
    found = regime.silent_share(shares)
    assert found is not None
    assert found.value == pytest.approx(0.9975)
    assert found.high == 1.0
    assert regime.silent_share([ColumnSeries(steps[:15], np.ones(15))]) is None
    assert regime.silent_share([ColumnSeries(steps, np.full(40, 3.0))]) is None


def test_a_run_starves_when_the_interval_of_silent_groups_lies_above_a_half(tmp_path: Path) -> None:
    flat = synthetic.flat(1, 200, LOW)
    noise = 0.1 * np.random.default_rng(1).normal(size=200)
    regimes = {
        mean: analysed(tmp_path / str(mean), flat, groups__below_floor=mean + noise).regime
        for mean in (0.7, 0.505, 0.3)
    }
    assert regimes == {0.7: "starved", 0.505: "drifting", 0.3: "drifting"}


def test_a_run_that_loses_entropy_or_gains_reward_does_not_starve(tmp_path: Path) -> None:
    lawful = synthetic.lawful(1, 200, LOW, synthetic.exponential(0.5))
    run = analysed(tmp_path, lawful, frac_reward_zero_std=0.9)
    assert run.regime == "learning"
    assert run.silent_share is not None
    assert run.silent_share.value == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("at", "n", "noise"), [(0.3, 300, LOW), (0.6, 300, LOW), (0.3, 1500, HIGH)]
)
def test_the_reward_plateau_is_where_the_ramp_ends(at: float, n: int, noise: Noise) -> None:
    found = [regime.reward_plateau(ramp(seed, n, noise, at)) for seed in range(40)]
    errors = [abs(step / n - at) for step in found if step is not None]
    assert len(errors) >= 0.9 * 40
    assert np.median(errors) < 0.04


@pytest.mark.parametrize("noise", [LOW, HIGH])
def test_a_reward_that_never_rises_or_never_stops_has_no_plateau(noise: Noise) -> None:
    rising = [regime.reward_plateau(ramp(seed, 300, noise, 1.0)) for seed in range(40)]
    flat = [regime.reward_plateau(ramp(seed, 300, noise, 1.0, 0.0)) for seed in range(40)]
    assert sum(step is not None for step in rising + flat) <= 1


def ramp(seed: int, n: int, noise: Noise, at: float, height: float = 0.4) -> Points:
    """R rises in a line until the share `at` of the run, then stays."""
    u = np.arange(n) / n
    mean = 0.3 + height * np.minimum(u, at) / at
    log = synthetic._log(np.random.default_rng(seed), np.ones(n), mean, noise)
    return Points(log.steps, log.entropy, log.reward)


def test_the_reward_left_at_the_onset_is_what_the_law_had_yet_to_give() -> None:
    held, errors = [], []
    for seed in range(40):
        log = synthetic.kink(seed, 1500, STILL)
        assert log.onset is not None
        at = (log.onset - 1) / 1500
        truth = synthetic.TRUE_CEILING - synthetic.law(np.exp(np.array(-0.8 * at)))
        left = reward_left(log)
        errors.append(left.value - truth)
        if left.low is not None and left.high is not None:
            held.append(left.low <= truth <= left.high)
    assert abs(np.mean(errors)) < 0.02
    assert len(held) > 10
    assert np.mean(held) >= 0.9


def reward_left(log: SyntheticRun) -> BoundedEstimate:
    points = Points(log.steps, log.entropy, log.reward)
    course = onset.bin_entropy(log.steps, log.entropy)
    assert course is not None
    found = onset.find_onset(course, points)
    assert found is not None
    law = identifiability.fit(points.where(points.steps < found.step))
    assert law.spread is not None
    ceiling = Ceiling(law.spread.ceiling, identifiability.judge_identifiability(law).ceiling)
    about = signals.at_onset(found, points, ceiling, {})
    assert about is not None
    assert about.reward_left is not None
    return about.reward_left


def test_the_columns_at_the_onset_are_their_means_around_it(tmp_path: Path) -> None:
    log = synthetic.kink(2, 300, LOW)
    assert log.onset is not None
    before = log.steps < log.onset
    run = analysed(
        tmp_path, log,
        distinct_2=np.where(before, 0.6, 0.2),
        frac_reward_zero_std=np.where(log.steps % 2 == 0, np.nan, 0.3),
    )  # fmt: skip
    assert run.at_onset is not None
    columns = run.at_onset.columns
    assert list(columns) == ["frac_reward_zero_std", "distinct_2", "strategy/entropy"]
    assert columns["frac_reward_zero_std"] == pytest.approx(0.3)
    assert 0.2 < present(columns["distinct_2"]) < 0.6
    assert columns["strategy/entropy"] is None


def test_the_ceiling_at_the_onset_is_that_of_the_law_before_it(tmp_path: Path) -> None:
    log = synthetic.kink(3, 1500, STILL)
    run = analysed(tmp_path, log)
    assert run.verdict == "holds_until_onset"
    assert run.ceiling is not None
    assert run.onset is not None
    assert run.at_onset is not None
    assert run.at_onset.reward_left is not None
    near = np.abs(log.steps - run.onset.step) <= 37
    there = log.reward[near].mean()
    left = run.ceiling.value - there
    assert run.at_onset.reward_left.value == pytest.approx(left, abs=0.01)


def test_without_an_onset_nothing_is_at_it(tmp_path: Path) -> None:
    run = analysed(tmp_path, synthetic.lawful(1, 200, LOW, synthetic.exponential(0.5)))
    assert (run.onset, run.at_onset, run.onset_probe) == (None, None, None)


def test_a_fall_on_the_states_visited_alone_is_not_on_the_probe(tmp_path: Path) -> None:
    log = synthetic.kink(2, 600, LOW)
    kept = synthetic.flat(3, 600, LOW).entropy
    due = log.steps % 10 == 1
    falls = analysed(tmp_path / "policy", log, entropy__probe=np.where(due, log.entropy, np.nan))
    stays = analysed(tmp_path / "contexts", log, entropy__probe=np.where(due, kept, np.nan))
    assert log.onset is not None
    assert falls.onset_probe is not None
    assert abs(falls.onset_probe.step - log.onset) < 40
    assert stays.onset is not None
    assert stays.onset_probe is None


def test_the_standard_error_of_h_tells_what_least_squares_keeps_of_a(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    steps = np.arange(1.0, 2001)
    h = np.exp(-steps / 700)
    log = SyntheticRun(steps, h + 0.08 * rng.normal(size=2000), synthetic.law(h))
    run = analysed(tmp_path, log, entropy_se=0.08)
    assert run.reliability_from_se == pytest.approx(0.92, abs=0.04)
    assert run.reliability == pytest.approx(run.reliability_from_se, abs=0.02)
