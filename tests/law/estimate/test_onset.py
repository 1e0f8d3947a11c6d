"""The onset against runs whose onset is known, and against runs that have none."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from harness.law.estimate import onset, regime, segments
from harness.law.io.clean import Points
from harness.law.results import Onset
from harness.testing import synthetic
from harness.testing.synthetic import HIGH, LOW, Noise, SyntheticRun

RUNS = 60


def find(log: SyntheticRun) -> Onset | None:
    course = onset.bin_entropy(log.steps, log.entropy)
    assert course is not None
    return onset.find_onset(course, Points(log.steps, log.entropy, log.reward))


def kink_flat(seed: int, n: int, noise: Noise) -> SyntheticRun:
    return synthetic.kink(seed, n, noise, post=0.0)


def kink_soft(seed: int, n: int, noise: Noise) -> SyntheticRun:
    return synthetic.kink(seed, n, noise, fall=5.0, post=0.0)


FALLS = {
    "reward falls, low noise": (synthetic.kink, 300, LOW, 0.95, 2, 3),
    "reward flat, low noise": (kink_flat, 300, LOW, 0.93, 2, 3),
    "reward falls, high noise": (synthetic.kink, 300, HIGH, 0.95, 2, 7),
    "reward flat, long": (kink_flat, 1500, LOW, 0.93, 1, 2),
    "reward falls, short": (synthetic.kink, 60, LOW, 0.95, 3, 6),
    "H falls less sharply": (kink_soft, 300, LOW, 0.94, 2, 4),
    "H falls less sharply, long": (kink_soft, 1500, LOW, 0.97, 2, 4),
}


@pytest.mark.parametrize("name", FALLS)
def test_a_fall_is_found_where_it_is(name: str) -> None:
    make, n, noise, share, median, p90 = FALLS[name]
    logs = [make(s, n, noise) for s in range(RUNS)]
    pairs = [(log, at) for log in logs if (at := find(log)) is not None]
    assert {at.kind for _, at in pairs} == {"terminal_fall"}
    assert len(pairs) >= share * RUNS
    errors = [100 * abs(at.step - (log.onset or 0)) / n for log, at in pairs]
    assert np.median(errors) <= median
    assert np.percentile(errors, 90) <= p90
    held = np.mean([at.low <= (log.onset or 0) <= at.high for log, at in pairs])
    assert held >= 0.9


def test_a_bend_of_the_wander_before_the_fall_is_no_onset() -> None:
    """Here the better pair of knots is at 6% and 43% of the run, and H falls from 44% on."""
    log = kink_soft(5_000_002, 1500, LOW)
    at = find(log)
    assert log.onset is not None
    assert at is not None
    assert at.low <= log.onset <= at.high
    assert abs(at.step - log.onset) < 0.03 * 1500


def partial(seed: int, n: int, noise: Noise) -> SyntheticRun:
    return synthetic.lawful(seed, n, noise, synthetic.exponential(0.5))


HEALTHY: list[Callable[[int, int, Noise], SyntheticRun]] = [partial, synthetic.flat, synthetic.hack]


@pytest.mark.parametrize("make", HEALTHY)
@pytest.mark.parametrize(("n", "noise"), [(60, LOW), (300, LOW), (300, HIGH)])
def test_no_alarm_where_entropy_is_kept(
    make: Callable[[int, int, Noise], SyntheticRun], n: int, noise: Noise
) -> None:
    alarms = sum(find(make(s, n, noise)) is not None for s in range(RUNS))
    assert alarms <= 0.03 * RUNS


def test_a_slow_end_of_the_budget_is_spent_and_not_a_fall() -> None:
    found = [find(synthetic.lawful(s, 300, LOW)) for s in range(RUNS)]
    assert {at.kind for at in found if at} == {"budget_spent"}
    truth = first_below(0.10)
    errors = [abs(at.step / 300 - truth) for at in found if at]
    assert len(errors) >= 0.95 * RUNS
    assert np.median(errors) < 0.06
    held = np.mean([at.low <= 300 * truth <= at.high for at in found if at])
    assert held >= 0.9


def first_below(share: float) -> float:
    """Where in the run exp(H) - 1 is down to `share` of its start, without noise."""
    u = np.linspace(0, 1, 10_001)
    headroom = np.expm1(synthetic.exponential(0.05)(u))
    return float(u[np.argmax(headroom <= share * headroom[0])])


@pytest.mark.parametrize("make", [synthetic.explode, synthetic.explode_and_level])
def test_an_explosion_has_its_own_kind(make: Callable[[int, int, Noise], SyntheticRun]) -> None:
    logs = [make(s, 300, LOW) for s in range(RUNS)]
    found = [(log, find(log)) for log in logs]
    assert {at.kind for _, at in found if at} == {"explosion"}
    assert sum(at is not None for _, at in found) >= 0.95 * RUNS
    errors = [abs(at.step - (log.onset or 0)) / 300 for log, at in found if at]
    assert np.median(errors) < 0.05


def test_entropy_that_falls_while_reward_rises_was_consumed_and_did_not_collapse() -> None:
    alarms = 0
    for seed in range(RUNS):
        fall = synthetic.kink(seed, 300, LOW)
        rising = fall.reward.copy()
        after = fall.steps >= (fall.onset or 0)
        rising[after] += 0.45 * np.linspace(0, 1, after.sum())
        alarms += find(SyntheticRun(fall.steps, fall.entropy, rising)) is not None
    assert alarms <= 0.03 * RUNS


def test_few_points_and_no_entropy_have_no_course() -> None:
    assert onset.bin_entropy(np.arange(15.0), np.linspace(1, 0.1, 15)) is None
    assert onset.bin_entropy(np.arange(20.0), np.zeros(20)) is None


def test_landmarks_are_the_steps_of_the_shares() -> None:
    steps = np.arange(1.0, 1001)
    course = onset.bin_entropy(steps, np.exp(-3 * steps / 1000))
    marks = regime.landmarks(course, law_break=123.0, plateau=45.0)
    for percent in (50, 20, 10):
        exact = -1000 * np.log(percent / 100) / 3
        assert marks[f"entropy_{percent}"] == pytest.approx(exact, abs=20)
    assert marks["entropy_5"] == pytest.approx(1000, abs=30) or marks["entropy_5"] is None
    assert marks["headroom_50"] < marks["entropy_50"]  # type: ignore[operator]
    assert (marks["law_break"], marks["reward_plateau"]) == (123.0, 45.0)
    assert set(regime.landmarks(None, None, None).values()) == {None}


@pytest.mark.parametrize("bins", [16, 40, 100])
def test_the_closed_form_of_two_knots_is_the_best_of_all_pairs(bins: int) -> None:
    rng = np.random.default_rng(bins)
    t = (np.arange(bins) + 0.5) / bins
    y = -t - 6 * np.maximum(t - 0.6, 0) + 0.1 * rng.normal(size=bins)
    found = segments.two_knots(y)
    assert brute_force_ssr(y, t, found.at) == pytest.approx(found.first_knot.min(), rel=1e-6)
    others = [
        brute_force_ssr(y, t, (i, j))
        for i in range(segments.EDGE, bins - segments.EDGE)
        for j in range(i + segments.EDGE, bins - segments.EDGE, 3)
    ]
    assert min(others) >= found.first_knot.min() - 1e-9


def brute_force_ssr(y: np.ndarray, t: np.ndarray, at: tuple[int, ...]) -> float:
    design = np.stack([np.ones_like(t), t, *(np.maximum(t - t[k], 0) for k in at)], axis=1)
    left = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    return float(left @ left)
