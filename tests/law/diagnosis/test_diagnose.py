"""The signs and flags of made runs, whose mechanisms are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from harness.law.diagnosis import diagnose
from harness.law.results import Interval
from tests.law.diagnosis.made import FALLS, RISES, STAYS, member, run, sign

HEARD = Interval(0.95, 0.9, 1.0)
"""Advantages that go with rewards."""


def test_a_healthy_run_raises_no_flag() -> None:
    healthy = member(run((0.3, 0.1), paid=0.3, fall=1.0), gain=RISES, regime="learning")
    for finding in (diagnose.exploration(healthy, HEARD), diagnose.direction(healthy, HEARD)):
        assert (finding.measured, finding.flag, finding.because) == (True, None, None)


@pytest.mark.parametrize(
    ("values", "fall", "flag"),
    [
        ({"silent_share": Interval(0.7, 0.6, 0.8)}, 0.0, "starved"),
        # most groups may or may not teach nothing
        ({"silent_share": Interval(0.7, 0.4, 0.9)}, 0.0, None),
        # a reward that rises is no starvation, nor is an H that falls: it was spent on something
        ({"silent_share": Interval(0.7, 0.6, 0.8), "gain": RISES}, 0.0, None),
        ({"silent_share": Interval(0.7, 0.6, 0.8)}, 1.0, None),
        ({"silent_share": None}, 0.0, None),
    ],
)
def test_a_run_starves_where_nothing_is_taught_and_nothing_moves(
    values: dict[str, Any], fall: float, flag: str | None
) -> None:
    found = diagnose.exploration(member(run(fall=fall), **values), HEARD)
    assert (found.flag, found.measured) == (flag, True)


@pytest.mark.parametrize(
    ("followed", "flag"),
    [
        (Interval(0.0, -0.2, 0.2), "noise"),
        (Interval(0.2, -0.1, 0.49), "noise"),
        (Interval(0.2, -0.2, 0.6), None),
        (Interval(0.35, 0.3, 0.4), None),
        (HEARD, None),
        (None, None),
    ],
)
def test_updates_that_do_not_obey_rewards_are_noise(
    followed: Interval | None, flag: str | None
) -> None:
    assert diagnose.exploration(member(run()), followed).flag == flag


def test_without_groups_and_conversations_exploration_is_not_measured() -> None:
    found = diagnose.exploration(member(run(), silent_share=None), None)
    assert (found.measured, found.flag) == (False, None)


@pytest.mark.parametrize(
    ("solving", "paid", "gain", "followed", "flag"),
    [
        ((0.3, 0.9), 0.2, STAYS, HEARD, "solving"),
        ((0.3, 0.9), 0.2, FALLS, HEARD, "solving"),
        # users who feel better for it wanted it solved; an unpaid drift is no aim
        ((0.3, 0.9), 0.2, RISES, HEARD, None),
        ((0.3, 0.9), 0.0, STAYS, HEARD, None),
        ((0.3, 0.9), 0.2, STAYS, Interval(0.0, -0.2, 0.2), None),
        # a rise that is not surely above .10, and a fall
        ((0.3, 0.5), 0.2, STAYS, HEARD, None),
        ((0.9, 0.3), 0.2, STAYS, HEARD, None),
    ],
)
def test_direction_turns_where_solving_is_paid_and_users_feel_no_better(
    solving: tuple[float, float], paid: float, gain: Interval, followed: Interval, flag: str | None
) -> None:
    found = diagnose.direction(member(run(solving, paid), gain=gain), followed)
    assert found.flag == flag
    value = sign(found, "rise of solving")
    assert value is not None
    assert value.value == pytest.approx(solving[1] - solving[0], abs=0.01)
    # the first step's share is of 64 conversations, each counted as one draw at worst
    assert (value.high - value.low) / 2 == pytest.approx(1.96 * 0.5 / 8, rel=0.05)
    assert (found.because is None) == (flag is None)


def test_net_of_its_null_control_the_start_cancels_out() -> None:
    beside = member(run((0.3, 0.6), paid=0.2), run((0.3, 0.4)))
    found = diagnose.direction(beside, HEARD)
    value = sign(found, "rise of solving, net of the null control")
    assert value is not None
    assert value.value == pytest.approx(0.2, abs=0.01)
    assert value.high - value.low < 0.05
    assert found.flag == "solving"


def test_drift_is_said_whether_or_not_it_is_flagged() -> None:
    found = diagnose.direction(member(run()), HEARD)
    after_feeling = sign(found, "solving just after a feeling")
    moved = sign(found, "KL to the start")
    assert after_feeling is not None
    assert moved is not None
    assert after_feeling.value == pytest.approx(0.5, abs=0.01)
    assert moved.value == pytest.approx(0.8, abs=0.01)


def test_a_log_without_strategies_has_no_direction() -> None:
    found = diagnose.direction(member(replace(run(), ends={})), HEARD)
    assert (found.measured, found.flag) == (False, None)
    assert all(one.value is None for one in found.signs if "solving" in one.name)
