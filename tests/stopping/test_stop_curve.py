"""The oracle that the stop rule is set beside, against every choice there is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarks.stop_curve import oracle, smoothed
from benchmarks.stop_outcome import BIG_LOSS, Run
from benchmarks.stop_rivals import Seen


def made(seed: int, evaluations: int) -> Run:
    rng = np.random.default_rng(seed)
    steps = np.asarray(10.0 * np.arange(1, evaluations + 1), np.float64)
    reward = np.cumsum(rng.normal(0.02, 0.05, evaluations))
    seen = Seen(steps, np.ones(evaluations), np.ones(evaluations), steps, reward, int(steps[-1]))
    return Run(f"{seed}-easy", "plain", seen)


def best(runs: list[Run], loss: float, big: float) -> float:
    """The most that any choice of an evaluation a run saves within the limits."""
    found = 0.0
    for stops in itertools.product(*(range(1, run.evaluations + 1) for run in runs)):
        lost = np.array([run.gain(n) for run, n in zip(runs, stops, strict=True)])
        if lost.mean() <= loss + 1e-12 and (lost > BIG_LOSS).mean() <= big + 1e-12:
            saved = [r.saved(n) for r, n in zip(runs, stops, strict=True)]
            found = max(found, float(np.mean(saved)))
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("limits", [(0.01, 0.0), (0.01, 0.5), (-0.01, 0.25)])
def test_the_oracle_saves_what_the_best_choice_does_and_at_most_two_runs_more(
    seed: int, limits: tuple[float, float]
) -> None:
    runs = [made(100 * seed + n, 5) for n in range(4)]
    whole, relaxed = best(runs, *limits), oracle(runs, *limits)
    assert whole - 1e-9 <= relaxed <= whole + 2 / len(runs)


def test_an_oracle_without_limits_stops_every_run_at_its_first_evaluation() -> None:
    runs = [made(n, 8) for n in range(5)]
    assert oracle(runs, 10.0, 1.0) == pytest.approx(1 - 1 / 8)


def test_a_smoothed_loss_is_between_means_and_0_of_a_run_that_is_not_stopped() -> None:
    run = made(1, 8)
    reward = run.seen.reward
    assert smoothed(run, 8) == 0
    assert smoothed(run, 5) == pytest.approx(reward[5:].mean() - reward[3:6].mean())
