"""Runs that turn: where an H that fell first explodes, how sure a fall is, when a reward dies."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.law.estimate import onset, regime
from harness.law.results import Onset
from harness.testing import cells, synthetic, turning
from harness.testing.cells import points_of
from harness.testing.synthetic import HIGH, LOW, Noise, SyntheticRun

RUNS = 40


def find(log: SyntheticRun) -> Onset | None:
    course = onset.bin_entropy(log.steps, log.entropy)
    assert course is not None
    return onset.find_onset(course, points_of(log))


@pytest.mark.parametrize("noise", [LOW, HIGH])
@pytest.mark.parametrize("shape", turning.RISES)
def test_an_entropy_that_fell_first_explodes_after_its_trough(shape: str, noise: Noise) -> None:
    runs = [turning.rising_run(shape, seed, 300, noise) for seed in range(RUNS)]
    found = [(run, at) for run in runs if (at := find(run.log)) is not None]
    assert len(found) >= 0.95 * RUNS
    assert {at.kind for _, at in found} == {"explosion"}
    early = [at.step < run.trough - 30 for run, at in found]
    assert np.mean(early) <= 0.08
    held = [at.low <= (run.log.onset or 0) <= at.high for run, at in found]
    assert np.mean(held) >= 0.9
    assert all(at.low <= at.step <= at.high for _, at in found)


def test_a_leap_half_way_is_not_put_at_the_first_steps() -> None:
    """The course of a public run: H sinks for half of the run, leaps, and stays up."""
    u = np.arange(300) / 300
    course = np.exp(
        -1.2 * np.minimum(u / 0.4, 1) + 2.0 * np.minimum(np.maximum(u - 0.5, 0) / 0.02, 1)
    )
    for seed in range(RUNS):
        at = find(synthetic.lawful(seed, 300, LOW, lambda _: course))
        assert at is not None
        assert at.kind == "explosion"
        assert abs(at.step - 151) < 12
        assert at.low <= 151 <= at.high


@pytest.mark.parametrize(("n", "width"), [(60, 0.45), (300, 0.2), (1500, 0.12)])
def test_the_interval_of_a_sharp_fall_is_narrow_and_holds(n: int, width: float) -> None:
    for noise in (LOW, HIGH):
        logs = [cells.REGIMES["kink_flat"](seed, n, noise) for seed in range(RUNS)]
        found = [(log.onset or 0.0, at) for log in logs if (at := find(log)) is not None]
        assert np.percentile([(at.high - at.low) / n for _, at in found], 90) <= width
        assert np.mean([at.low <= truth <= at.high for truth, at in found]) >= 0.95


@pytest.mark.parametrize("death", turning.DEATHS)
@pytest.mark.parametrize(("n", "noise"), [(60, LOW), (300, LOW), (300, HIGH)])
def test_a_reward_that_dies_does_so_at_its_step(death: str, n: int, noise: Noise) -> None:
    logs = [turning.dying_run(death, seed, n, noise) for seed in range(RUNS)]
    right = [regime.reward_died(points_of(log)) == log.onset for log in logs]
    assert np.mean(right) >= 0.9


@pytest.mark.parametrize("name", ["law", "kink_fall", "hack", "wrong_sign", "unrelated", "starved"])
def test_a_reward_that_only_falls_or_never_rose_is_not_dead(name: str) -> None:
    logs = [cells.REGIMES[name](seed, 300, noise) for seed in range(RUNS) for noise in (LOW, HIGH)]
    assert sum(regime.reward_died(points_of(log)) is not None for log in logs) <= 2


def test_a_dead_reward_that_comes_back_or_was_never_alive_is_not_dead() -> None:
    log = turning.dying_run("0", 1, 300, LOW)
    back = log.reward.copy()
    back[-3:] = 0.6
    assert regime.reward_died(points_of(replace(log, reward=back))) is None
    assert regime.reward_died(points_of(replace(log, reward=np.zeros(300)))) is None
    rare = np.where(np.arange(300) % 30 == 7, 1.0, 0.0)
    assert regime.reward_died(points_of(replace(log, reward=rare))) is None


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([0.125, 0.5, 8.0, 64.0]), st.integers(-8, 8))
def test_in_any_unit_a_reward_dies_at_one_step(seed: int, scale: float, shift: int) -> None:
    log = turning.dying_run("0.02 with noise", seed, 120, LOW)
    other = replace(log, reward=scale * log.reward + shift)
    assert regime.reward_died(points_of(other)) == regime.reward_died(points_of(log))


def test_a_verdict_says_that_the_reward_died() -> None:
    judged = cells.judge_run(turning.dying_run("0", 2, 300, LOW))
    assert "reward_died" in judged.reasons
    assert judged.word != "holds"
    assert "reward_died" not in cells.judge_run(synthetic.lawful(2, 300, LOW)).reasons
