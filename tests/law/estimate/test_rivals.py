"""Rivals of the law: the curve that made the points is found, and none is claimed too early."""

from __future__ import annotations

import dataclasses
import json
import time
import warnings
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.law.estimate import rival_forms, rivals
from harness.law.io.clean import LARGEST, Points
from harness.law.result_parts import Rival
from harness.law.results import Floats
from harness.testing import synthetic
from harness.testing.cells import points_of
from harness.testing.synthetic import LOW, NONE, Noise

RUNS = 20
Reward = Callable[[Floats, Floats], Floats]
"""From H and the share of the run that is done."""

TRUTHS: dict[str, Reward] = {
    "law": lambda h, _: synthetic.law(h),
    "linear_in_h": lambda h, _: 0.8 - 0.5 * h,
    "log_1_plus_h": lambda h, _: 0.8 - 0.6 * np.log1p(h),
    "saturating": lambda h, u: 0.3 + 0.45 * (1 - np.exp(-u / 0.2)),
    "sigmoid": lambda h, u: 0.3 + 0.5 / (1 + (0.4 / np.maximum(u, 1e-9)) ** 4),
    "last_value": lambda h, u: np.full_like(u, 0.5),
}


def run_of(truth: Reward, seed: int, n: int, noise: Noise) -> Points:
    """H sinks and wanders; R follows `truth`, with noise on both."""
    rng, u = np.random.default_rng(seed), np.arange(n) / n
    h = synthetic._wander(rng, synthetic.exponential(0.05)(u), noise)
    return points_of(synthetic._log(rng, h, truth(h, u), noise))


def compared(points: Points) -> dict[str, Rival]:
    found = rivals.compare(points)
    assert found is not None
    return found


@pytest.mark.parametrize("name", TRUTHS)
def test_the_curve_that_made_the_points_has_the_lowest_aicc(name: str) -> None:
    best = Counter(
        min(found, key=lambda model: found[model].aicc)
        for found in (compared(run_of(TRUTHS[name], s, 2000, LOW)) for s in range(RUNS))
    )
    assert best[name] >= 0.65 * RUNS, best


def test_models_and_numbers_are_those_of_the_json() -> None:
    found = compared(run_of(TRUTHS["law"], 1, 300, LOW))
    assert list(found) == [
        "law", "linear_in_h", "log_1_plus_h", "saturating", "sigmoid", "last_value"
    ]  # fmt: skip
    assert [field.name for field in dataclasses.fields(Rival)] == [
        "aicc", "delta_aicc", "out_of_time_rmse"
    ]  # fmt: skip
    assert found["law"].delta_aicc == 0
    json.dumps([dataclasses.asdict(rival) for rival in found.values()], allow_nan=False)


def shares(truth: str, n: int, start: float) -> Counter[str | None]:
    """How often law and linear in H are told apart, where H starts at `start`."""
    counts: Counter[str | None] = Counter()
    for seed in range(RUNS):
        rng, u = np.random.default_rng(seed), np.arange(n) / n
        h = synthetic._wander(rng, synthetic.exponential(0.05, start)(u), LOW)
        log = synthetic._log(rng, h, TRUTHS[truth](h, u), LOW)
        counts[rivals.against_linear(rivals.compare(points_of(log)))] += 1
    return counts


def test_where_exp_hardly_bends_law_and_line_are_not_distinguishable() -> None:
    for truth in ("law", "linear_in_h"):
        assert shares(truth, 500, 0.3)["not_distinguishable"] >= 0.9 * RUNS


@pytest.mark.parametrize(
    ("truth", "wrong"), [("law", "linear_better"), ("linear_in_h", "law_better")]
)
def test_a_short_run_seldom_names_the_wrong_curve(truth: str, wrong: str) -> None:
    said = Counter(
        rivals.against_linear(rivals.compare(run_of(TRUTHS[truth], seed, 20, LOW)))
        for seed in range(100)
    )
    assert said[wrong] <= 8
    assert said["not_distinguishable"] >= 60


def test_where_exp_bends_long_runs_tell_law_and_line_apart() -> None:
    assert shares("law", 2000, 1.0)["law_better"] >= 0.9 * RUNS
    line = shares("linear_in_h", 2000, 1.0)
    assert line["linear_better"] >= 0.9 * RUNS
    assert line["law_better"] <= 0.1 * RUNS


def test_the_shape_of_a_curve_in_the_step_is_found() -> None:
    t = (np.arange(40) + 0.5) / 40
    for column, truth in (
        (rival_forms.saturating, 1 - np.exp(-t / 0.37)),
        (rival_forms.sigmoid, 1 / (1 + (0.33 / t) ** 3.3)),
    ):
        for reward in (0.2 + 0.5 * truth, 0.7 - 0.5 * truth):
            assert column(t, reward, 40) == pytest.approx(truth, abs=0.02)
            assert column(t, reward, 26) == pytest.approx(truth, abs=0.03)


def test_out_of_time_is_told_nothing_of_the_last_third() -> None:
    """With the last third lifted by 10, every model is off by 10 more there."""
    before = run_of(TRUTHS["saturating"], 3, 400, NONE)
    late = np.arange(400) * 20 // 400 >= 2 * 20 // 3
    after = Points(before.steps, before.entropy, before.reward + 10.0 * late)
    for name, numbers in compared(after).items():
        was = compared(before)[name].out_of_time_rmse
        assert abs(numbers.out_of_time_rmse - 10.0) <= was + 1e-9


def test_fewer_than_16_points_are_not_compared() -> None:
    points = run_of(TRUTHS["law"], 1, 15, LOW)
    assert rivals.compare(points) is None
    assert rivals.against_linear(None) is None


@given(
    st.integers(16, 120),
    st.sampled_from([0.0, 1e-30, 1.0, 1e6, LARGEST / 4]),
    st.sampled_from([0.0, 1e-9, 1.0, LARGEST / 4]),
    st.integers(0, 10_000),
)
@settings(max_examples=60, deadline=None)
def test_any_points_give_numbers_without_a_warning(
    n: int, gap: float, size: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    steps = np.arange(n) + gap * (np.arange(n) > n // 2)
    steps = steps if len(set(steps)) == n else np.arange(n) * (1.0 + gap)
    points = Points(steps.astype(np.float64), rng.uniform(0, 20, n), size * rng.normal(size=n))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = compared(points)
    assert all(np.isfinite(dataclasses.astuple(numbers)).all() for numbers in found.values())
    assert compared(points) == found


def test_steps_may_begin_anywhere() -> None:
    points = run_of(TRUTHS["sigmoid"], 1, 300, LOW)
    moved = Points(points.steps + 2.0**20, points.entropy, points.reward)
    for name, numbers in compared(points).items():
        there = dataclasses.astuple(compared(moved)[name])
        assert there == pytest.approx(dataclasses.astuple(numbers), rel=1e-9)


def test_a_run_is_compared_within_a_few_milliseconds() -> None:
    """0.5 ms on an idle core; the bound allows for a loaded one."""
    points = run_of(TRUTHS["law"], 1, 2000, LOW)
    start = time.process_time()
    for _ in range(20):
        rivals.compare(points)
    assert (time.process_time() - start) / 20 < 0.005
