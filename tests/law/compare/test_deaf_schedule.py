"""Arms beside the best schedule that hears nothing: above it, not shown to be, not known."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy import stats

from harness.law.compare import deaf_schedule
from harness.law.compare.deaf_schedule import DeafComparison
from harness.law.compare.groups import Member
from harness.law.io.identity import FolderIdentity
from harness.law.result_parts import AnchorRewards, Yardsticks
from harness.law.results import BoundedEstimate, RunResult
from harness.records.study_file import Link

GAIN = Link("gains", "gain", "one", "two", "more", 0.05)
DEAF = BoundedEstimate(0.6, 0.6 - 1.96e-2, 0.6 + 1.96e-2)


def member(reward: float | None, level: str = "medium", **more: Any) -> Member:
    values = {"anchors": AnchorRewards(deaf=DEAF), "user_se": None, **more}
    end = Yardsticks(reward, None, None, None, values["user_se"], values["anchors"])
    return Member(RunResult("r", "ok", None, 1, {}, yardsticks={level: end}), FolderIdentity())


def arm(*rewards: float | None, **more: Any) -> dict[int, Member]:
    return {seed: member(reward, **more) for seed, reward in enumerate(rewards, start=1)}


def of(one: dict[int, Member], two: dict[int, Member], **link: Any) -> tuple[DeafComparison, ...]:
    links = [dataclasses.replace(GAIN, **link)]
    return deaf_schedule.compare_arms(links, {"one": one, "two": two})


def test_the_interval_has_the_error_of_the_seeds_and_of_the_schedule() -> None:
    one, two = of(arm(0.70, 0.74, 0.72), arm(0.55, 0.6, 0.58))
    assert one.difference is not None
    assert one.difference.value == pytest.approx(0.12)
    error = np.hypot(0.02 / 3**0.5, 0.01)
    free = 2 * (error / (0.02 / 3**0.5)) ** 4
    half = stats.t.ppf(0.975, free) * error
    assert one.difference.high == pytest.approx(0.12 + half, rel=1e-3)
    assert (one.is_above, two.is_above) == (True, False)
    assert deaf_schedule.is_about_deaf_policies((one, two)) is False
    assert deaf_schedule.is_about_deaf_policies((two,)) is True


def test_more_seeds_do_not_lessen_the_error_of_the_shared_users() -> None:
    many = [0.7 + 0.001 * (-1) ** n for n in range(100)]
    (one, _) = of(
        arm(*many, user_se=0.05, anchors=AnchorRewards(deaf=BoundedEstimate(0.6, None, None))),
        arm(),
    )
    assert one.difference is not None
    assert one.difference.high == pytest.approx(0.1 + 1.96 * 0.05, rel=1e-2)


def test_what_is_not_known_is_told() -> None:
    bare, single = of(arm(0.9, 0.8, anchors=AnchorRewards()), arm(0.9))
    assert (bare.difference, bare.why) == (None, deaf_schedule.NO_ANCHORS)
    assert single.difference is not None
    assert single.difference.value == pytest.approx(0.3)
    assert single.difference.low is None
    assert (single.is_above, single.why) == (None, deaf_schedule.ONE_SEED)
    assert deaf_schedule.is_about_deaf_policies((bare, single)) is None
    (other, _) = of(arm(0.9, 0.8), arm(), evaluation="reward")
    assert other.why == deaf_schedule.NOT_EVALUATED


@pytest.mark.parametrize(("optimum", "known"), [(0.649, False), (0.651, True)])
def test_where_listening_is_worth_little_no_arm_is_judged(optimum: float, known: bool) -> None:
    anchors = AnchorRewards(deaf=DEAF, optimum=BoundedEstimate(optimum, None, None))
    (one, _) = of(arm(0.7, 0.72, anchors=anchors), arm())
    assert (one.difference is not None) is known
    assert one.why == (None if known else deaf_schedule.LITTLE_TO_HEAR)


def test_an_evaluation_of_the_own_level_is_judged_there() -> None:
    (one, _) = of(arm(0.9, 0.8, level="own"), arm(), evaluation="eval/reward")
    assert (one.level, one.seeds) == ("own", 2)


def test_runs_that_end_alike_have_the_error_of_the_schedule_alone() -> None:
    (one, _) = of(arm(0.7, 0.7), arm())
    assert one.difference is not None
    assert one.difference.high == pytest.approx(0.1 + 1.96e-2, rel=1e-3)


@pytest.mark.parametrize(
    ("low", "high", "may"),
    [(-0.1, 0.05, True), (-0.1, 0.04, False), (0.01, 0.2, False), (None, None, False)],
)
def test_an_arm_whose_interval_reaches_what_counts_may_end_above(
    low: float | None, high: float | None, may: bool
) -> None:
    assert (
        DeafComparison("one", "medium", BoundedEstimate(0.02, low, high), 3, None).may_be_above
        is may
    )
