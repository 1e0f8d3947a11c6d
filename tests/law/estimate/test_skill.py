"""Out-of-time skill: what a long run must show before its law is said to hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from harness.law.estimate import forecast
from harness.law.io.clean import Points
from harness.testing import cells, synthetic
from harness.testing.promises import HOLDS
from harness.testing.synthetic import HIGH, LOW, Noise, SyntheticRun

RUNS = 20


def skill_of(points: Points) -> float | None:
    return forecast.out_of_time(points.x, points.reward)


def test_a_perfect_law_has_skill_of_one_and_a_useless_one_none() -> None:
    n = 400
    h = np.linspace(1.0, 0.2, n)
    steps = np.arange(1.0, n + 1)
    assert skill_of(Points(steps, h, synthetic.law(h))) == pytest.approx(1.0)
    still = np.where(steps < 100, synthetic.law(h), synthetic.law(h)[99])
    found = skill_of(Points(steps, h, still + 0.001 * np.sin(steps)))
    assert found is not None
    assert found < 0


def test_fewer_than_16_points_and_a_constant_have_no_skill() -> None:
    points = cells.points_of(synthetic.lawful(1, 15, LOW))
    assert skill_of(points) is None
    flat = Points(np.arange(40.0), np.full(40, 0.5), np.linspace(0, 1, 40))
    assert skill_of(flat) is None


def test_an_early_fall_is_validated_where_it_happens() -> None:
    """Nothing is left to predict in the second half; the second half of the fall is predicted."""
    made = [
        synthetic.lawful(s, 1500, LOW, lambda u: 0.05 + 0.95 * np.exp(-u / 0.08))
        for s in range(RUNS)
    ]
    found = [skill_of(cells.points_of(log)) for log in made]
    assert sum(s is not None and s > 0 for s in found) >= 0.95 * RUNS


@pytest.mark.parametrize(("noise", "share"), [(LOW, 0.95), (HIGH, 0.85)])
def test_long_lawful_runs_still_hold(noise: Noise, share: float) -> None:
    words = [cells.judge_run(synthetic.lawful(s, 1500, noise)).word for s in range(RUNS)]
    assert sum(word in HOLDS for word in words) >= share * RUNS


@pytest.mark.parametrize("seed", [1, 71, 77])
def test_from_1000_steps_on_chance_does_not_hold(seed: int) -> None:
    """Random walks whose interval of a lies above 0: a run of 300 steps, and the same points
    as evaluations of one of 1,000.
    """
    short = synthetic.random_walk(seed, 300, LOW)
    long = replace(short, steps=1 + (short.steps - 1) * 999 / 299)
    for log, word in ((short, "holds_form_open"), (long, "undetermined")):
        found = cells.judge_run(log)
        assert found.skill is not None
        assert found.skill <= 0
        assert found.word == word
        assert found.reasons == ("not_validated_out_of_time",)


def test_skill_is_asked_of_nothing_but_holds() -> None:
    log: SyntheticRun = synthetic.wrong_sign(1, 1500, LOW)
    found = cells.judge_run(log)
    assert found.word == "fails"
    assert "not_validated_out_of_time" not in found.reasons
