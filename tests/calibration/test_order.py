"""The order of levels: shown where it is there, not where it is not."""

import json
from dataclasses import asdict

import numpy as np

from harness.calibration.interval import Floats
from harness.calibration.levels import MEASURES, order_tests
from tests.present import present


def levels(gaps: list[float], seed: int = 0, n: int = 200) -> dict[str, dict[str, Floats]]:
    rng = np.random.default_rng(seed)
    users = rng.normal(0, 1, n)
    base = np.cumsum([0, *gaps])
    return {
        name: {m: users - drop + rng.normal(0, 0.2, n) for m in MEASURES}
        for name, drop in zip(("easy", "medium", "hard"), base, strict=True)
    }


def test_levels_apart_are_in_order_by_every_measure() -> None:
    steps = order_tests(levels([0.3, 0.3]))
    assert [(s.measure, s.easier, s.harder) for s in steps[:3]] == [
        (m, "easy", "medium") for m in MEASURES
    ]
    assert len(steps) == 6
    assert all(s.holds and present(s.difference) > 0.2 for s in steps)


def test_the_wrong_order_never_holds() -> None:
    assert not any(s.holds for s in order_tests(levels([-0.3, -0.3])))


def test_levels_alike_are_seldom_called_ordered() -> None:
    called = [any(s.holds for s in order_tests(levels([0, 0], seed))) for seed in range(300)]
    assert np.mean(called) < 0.09


def test_levels_alike_are_seldom_called_ordered_by_users_who_are_met_several_times() -> None:
    """Five supporters meet each of 60 users, who differ more than what is said to them."""
    users, called = np.tile(np.arange(60), 5), []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        values = {
            name: {m: rng.normal(0, 1, 60)[users] + rng.normal(0, 0.5, 300) for m in MEASURES}
            for name in ("easy", "medium", "hard")
        }
        called.append(any(s.holds for s in order_tests(values, dict.fromkeys(MEASURES, users))))
    assert np.mean(called) < 0.09


def test_a_missing_value_leaves_its_pair_out() -> None:
    values = levels([0.3, 0.3])
    values["easy"]["acceptance"][:150] = np.nan
    step = order_tests(values)[0]
    assert np.isfinite(present(step.difference))
    assert step.holds


def test_a_measure_without_values_shows_no_order_and_can_be_written() -> None:
    values = levels([0.3, 0.3])
    values["easy"]["need_expression"][:] = np.nan
    values["hard"]["need_expression"][1:] = np.nan
    steps = [step for step in order_tests(values) if step.measure == "need_expression"]
    assert [step.holds for step in steps] == [False, False]
    assert steps[0].difference is None
    assert steps[1].difference is not None
    json.dumps([asdict(step) for step in steps], allow_nan=False)


def test_differences_without_spread_are_decided_by_their_sign() -> None:
    same = {m: np.full(5, 1.0) for m in MEASURES}
    lower = {m: np.full(5, 0.5) for m in MEASURES}
    assert all(s.holds for s in order_tests({"easy": same, "hard": lower}))
    assert not any(s.holds for s in order_tests({"easy": lower, "hard": same}))
