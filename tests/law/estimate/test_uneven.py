"""Rows at uneven steps: time is what the steps say, and not the count of rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from harness.law.estimate import bins, breaks, onset, regime
from harness.law.io.clean import Points
from harness.testing import cells, synthetic, uneven
from harness.testing.promises import HOLDS
from harness.testing.synthetic import LOW, Noise

RUNS = 20
UNEVEN = [rows for rows in uneven.ROWS if rows != "all"]


def test_even_steps_are_left_as_they_are_to_the_last_bit() -> None:
    tenths = np.arange(200) / 10
    for steps in (np.arange(0.0, 2000, 10), tenths):
        values = np.random.default_rng(1).random(200)
        even, same = bins.resample_evenly(steps, values)
        assert even is steps
        assert same is values


def test_uneven_steps_become_as_many_even_ones_with_the_series_in_between() -> None:
    steps = np.array([0.0, 1, 2, 3, 8])
    even, line, square = bins.resample_evenly(steps, 5 - 2 * steps, steps**2)
    assert even == pytest.approx([0, 2, 4, 6, 8])
    assert line == pytest.approx([5, 1, -3, -7, -11])
    assert square == pytest.approx([0, 4, 20, 42, 64])


@pytest.mark.parametrize("rows", UNEVEN)
def test_an_even_course_of_entropy_has_no_fall_where_the_logging_changes(rows: str) -> None:
    looks = [cells.look(uneven.thin_log(uneven.spending(s, 1500, LOW), rows)) for s in range(RUNS)]
    kinds = [look.onset.kind if look.onset else "none" for look in looks]
    assert kinds.count("terminal_fall") <= 1
    assert kinds.count("budget_spent") >= 0.8 * RUNS
    assert sum(look.verdict.word in HOLDS for look in looks) >= 0.9 * RUNS


def test_an_exact_course_keeps_its_landmarks_whatever_rows_were_logged() -> None:
    """In a gap they are on the line across it, which lies above an exponential."""
    steps = np.arange(1.0, 1001)
    log = synthetic.SyntheticRun(steps, np.exp(-3 * steps / 1000), steps)
    for rows in UNEVEN[:-1]:
        some = uneven.thin_log(log, rows)
        course = onset.bin_entropy(some.steps, some.entropy)
        marks = regime.landmarks(course, None, None)
        for percent in (50, 20, 10):
            exact = -1000 * np.log(percent / 100) / 3
            assert marks[f"entropy_{percent}"] == pytest.approx(exact, abs=35)


@pytest.mark.parametrize("n", [300, 1500])
def test_a_hacked_reward_is_seen_where_few_rows_tell_of_its_fall(n: int) -> None:
    logs = [synthetic.hack(s, n, LOW) for s in range(RUNS)]
    found = [cells.judge_run(uneven.thin_log(log, "first tenth, then every 10th")) for log in logs]
    assert sum(verdict.word == "fails" for verdict in found) >= 0.9 * RUNS


def test_a_reward_that_rises_in_a_line_has_no_plateau_where_logging_becomes_dense() -> None:
    steps = np.arange(1.0, 301)
    for seed in range(RUNS):
        noise = 0.05 * synthetic.ar1(np.random.default_rng(seed), 300, 0.5)
        reward = 0.3 + 0.4 * steps / 300 + noise
        kept = (steps > 150) | (steps % 4 == 1)
        points = Points(steps[kept], np.ones(kept.sum()), reward[kept])
        assert regime.reward_plateau(points) is None


def test_a_plateau_is_found_at_its_step_when_the_ramp_before_it_was_logged_densely() -> None:
    found = [regime.reward_plateau(ramp(seed, Noise(0.5, 0.0))) for seed in range(RUNS)]
    at = [step for step in found if step is not None]
    assert len(at) == RUNS
    assert np.median(np.abs(np.array(at) - 900)) < 45


def ramp(seed: int, noise: Noise) -> Points:
    """R rises until step 900 of 1,500; from step 150 on every tenth step is logged."""
    u = np.arange(1500) / 1500
    wobble = 0.05 * synthetic.ar1(np.random.default_rng(seed), 1500, noise.rho)
    log = synthetic.SyntheticRun(
        1500 * u, np.ones(1500), 0.3 + 0.4 * np.minimum(u, 0.6) / 0.6 + wobble
    )
    some = uneven.thin_log(log, "first tenth, then every 10th")
    return Points(some.steps, some.entropy, some.reward)


def test_reward_stays_a_line_in_exp_h_between_rows() -> None:
    """So that a gap is no break of a law that is exact."""
    points = cells.points_of(synthetic.lawful(1, 300, Noise(0.0, 0.0, 0.0)))
    exact = replace(points, reward=synthetic.law(points.entropy))
    some = exact.where((exact.steps < 60) | (exact.steps > 200))
    shape = breaks.bin_run(some)
    assert shape.reward == pytest.approx(synthetic.TRUE_B - synthetic.TRUE_A * shape.x)
