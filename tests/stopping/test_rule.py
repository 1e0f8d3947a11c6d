"""The stop rule: known answers, causality, units, and the calibration that is shipped."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from harness.config import trainer
from harness.stopping import calibration, rule
from harness.stopping import curve as curves
from harness.stopping.curve import RewardCurve, RewardRange
from harness.stopping.rule import StopAdvice

STEPS, EVERY = 600, 25
Floats = NDArray[np.float64]


def course(reward: Floats, entropy: tuple[float, float], noise: float = 0.004) -> RewardCurve:
    """A run evaluated every 25 steps, whose H goes in a line."""
    rng = np.random.default_rng(3)
    steps = np.r_[1.0, np.arange(EVERY, STEPS + 1, EVERY)]
    noisy = reward + noise * rng.standard_normal(len(steps))
    h = np.linspace(*entropy, STEPS)
    return RewardCurve(steps, noisy, h)


def so_far(whole: RewardCurve, count: int) -> RewardCurve:
    """The first `count` evaluations and the rows up to the last of them."""
    rows = int(whole.steps[count - 1])
    return RewardCurve(whole.steps[:count], whole.reward[:count], whole.entropy[:rows])


def advices(whole: RewardCurve) -> list[StopAdvice]:
    counts = range(1, len(whole.steps) + 1)
    return [rule.advise(so_far(whole, count), STEPS) for count in counts]


N = STEPS // EVERY + 1
FLAT = np.full(N, 0.85)
RISING = np.linspace(0.3, 0.8, N)
SATURATED = 0.3 + 0.4 * (1 - np.exp(-np.arange(N) / 2))


def stopped_at(whole: RewardCurve) -> int:
    return next(n for n, advice in enumerate(advices(whole)) if advice.stops)


def test_a_flat_reward_is_stopped_sooner_with_less_entropy_and_less_room() -> None:
    spent, diverse = course(FLAT, (0.4, 0.02)), course(FLAT, (0.4, 0.4))
    assert stopped_at(spent) < 2 * N / 3
    assert stopped_at(spent) < stopped_at(diverse)
    assert stopped_at(course(FLAT + 0.1, (0.4, 0.02))) < stopped_at(spent)


def test_the_forecast_of_a_run_without_noise_is_the_formula_in_the_docs() -> None:
    whole = RewardCurve(np.arange(1.0, 11), np.full(10, 0.6), np.full(10, 1.0))
    told = rule.advise(whole, 20)
    known = calibration.load_shipped()
    assert told.expected_gain == pytest.approx(
        (known.room + known.room_entropy) * 0.4 * np.log(2), abs=1e-12
    )


def test_few_evaluations_that_agree_by_luck_are_not_taken_for_no_noise() -> None:
    whole = RewardCurve(np.arange(1.0, 6), np.full(5, 0.6), np.full(5, 1.0))
    reading = curves.summarise(whole, 10, RewardRange())
    assert not isinstance(reading, str)
    assert reading.noise == 0
    known = calibration.load_shipped()
    (_, (pooled, _, _)) = rule.terms(reading, known.noise)
    assert pooled == pytest.approx(known.noise * np.sqrt(3 / 5))


def test_a_reward_that_rises_to_the_end_is_never_stopped_before_it() -> None:
    told = advices(course(RISING, (1.9, 0.9)))
    assert not any(advice.stops for advice in told[:-2])


def test_a_late_riser_is_not_stopped_while_it_has_entropy_to_rise_with() -> None:
    late = np.where(np.arange(N) < 14, 0.2, 0.2 + 0.04 * (np.arange(N) - 13))
    told = advices(course(late, (1.9, 1.5)))
    assert not any(advice.stops for advice in told[:15])


def test_a_reward_that_has_saturated_with_spent_entropy_is_flat_and_not_collapsed() -> None:
    told = advices(course(SATURATED, (1.9, 0.1)))
    words = [advice.word for advice in told]
    assert "collapsed" not in words
    assert words.index("flat") < N - 3
    spent = [advice for advice in told if "entropy is at" in advice.reason]
    assert spent
    assert {advice.word for advice in spent} == {"flat"}


@pytest.mark.parametrize(("left", "fallen", "word"), [
    (0.1, 0.3, "collapsed"), (0.6, 0.3, "collapsed"), (0.1, 0.0, "flat"), (0.6, 0.0, "flat"),
])  # fmt: skip
def test_only_a_reward_that_fell_has_collapsed(left: float, fallen: float, word: str) -> None:
    reading = rule.advise(course(FLAT, (0.4, 0.02)), STEPS).reading
    assert reading is not None
    reading = dataclasses.replace(reading, entropy_left=left, fallen=fallen)
    told, reason = rule._decide(reading, -0.001, False, RewardRange())
    assert told == word
    assert ("below its best" in reason) == (fallen > 0)
    assert ("entropy is at" in reason) == (left < 0.25)


def test_too_few_evaluations_give_no_advice_and_the_reason() -> None:
    told = rule.advise(so_far(course(FLAT, (0.4, 0.02)), 4), STEPS)
    assert (told.word, told.reason) == ("watch", "needs 5 evaluations, has 4")
    assert told.p_gain is None
    assert told.expected_loss is None


def test_a_log_without_entropy_gives_no_advice() -> None:
    whole = course(FLAT, (0.4, 0.02))
    bare = RewardCurve(whole.steps, whole.reward, np.empty(0))
    assert rule.advise(bare, STEPS).word == "watch"


def test_collapsed_is_obeyed_by_both_rules_and_flat_by_one() -> None:
    flat, collapsed = StopAdvice("flat", "", 1), StopAdvice("collapsed", "", 1)
    assert [a.obeys(r) for a in (flat, collapsed) for r in rule.RULES] == [True, False, True, True]
    assert not StopAdvice("go on", "", 1).obeys("flat")


SERIES = st.lists(st.floats(0, 1, allow_subnormal=False), min_size=5, max_size=30)


def made(rewards: list[float]) -> RewardCurve:
    steps = np.r_[1.0, EVERY * np.arange(1.0, len(rewards))]
    rows = int(steps[-1])
    return RewardCurve(steps, np.array(rewards), np.linspace(1.9, 0.5, rows))


@given(SERIES, st.floats(0.01, 100), st.floats(-10, 10))
def test_the_advice_for_a_reward_in_other_units_is_the_same(
    rewards: list[float], scale: float, shift: float
) -> None:
    one = made(rewards)
    other = RewardCurve(one.steps, scale * one.reward + shift, one.entropy)
    shifted = RewardRange(scale, scale + shift)
    told, again = rule.advise(one, 1000), rule.advise(other, 1000, shifted)
    assert told.p_gain is not None
    assert told.expected_gain is not None
    assert again.expected_gain == pytest.approx(scale * told.expected_gain, rel=1e-4, abs=1e-4)
    assert again.p_gain == pytest.approx(told.p_gain, abs=1e-3)
    near = abs(told.expected_gain - rule.MOST_LOSS) < 1e-5
    assert near or told.stops == again.stops


@given(SERIES, st.integers(5, 29))
def test_rows_after_now_change_nothing(rewards: list[float], count: int) -> None:
    count = min(count, len(rewards))
    now = so_far(made(rewards), count)
    alone = made(rewards[:count])
    assert np.array_equal(now.reward, alone.reward)
    h = now.entropy
    alone = RewardCurve(alone.steps, alone.reward, h)
    assert rule.advise(now, 1000) == rule.advise(alone, 1000)


@given(SERIES, st.integers(2, 5000))
def test_numbers_are_finite_and_ordered(rewards: list[float], last: int) -> None:
    told = rule.advise(made(rewards), max(last, EVERY * len(rewards)))
    assert told.p_gain is not None
    assert told.final is not None
    value, low, high = told.p_gain
    assert 0 <= low <= value <= high <= 1
    assert told.final[0] <= told.final[1]
    assert np.isfinite(told.final).all()


def test_a_reward_at_every_step_is_averaged_into_few_blocks() -> None:
    steps = np.arange(1.0, 1001)
    noise = np.random.default_rng(0).standard_normal(1000)
    whole = RewardCurve(steps, 0.5 + 0.1 * noise, np.linspace(1.9, 0.5, 1000))
    few = curves.average_blocks(whole)
    assert len(few.steps) <= curves.MOST_BLOCKS + 1
    assert few.steps[-1] == 1000
    assert few.reward[-1] == pytest.approx(whole.reward[-40:].mean())


def test_a_reward_of_unknown_range_is_judged_by_the_range_it_has_shown() -> None:
    whole = course(SATURATED, (1.9, 0.1))
    assert RewardRange.observed(whole) == RewardRange(float(np.ptp(whole.reward)), None)
    told = rule.advise(so_far(whole, 10), STEPS, RewardRange.observed(so_far(whole, 10)))
    assert told.margin == pytest.approx(rule.MARGIN * float(np.ptp(whole.reward[:10])))


def test_the_shipped_calibration_reads_back_and_its_probabilities_ascend() -> None:
    known = calibration.load_shipped()
    again = calibration.from_json(calibration.to_json(known))
    assert json.loads(calibration.to_json(again)) == json.loads(calibration.to_json(known))
    assert (np.diff(known.observed) >= 0).all()
    assert (known.low <= known.observed).all()
    assert (known.observed <= known.high).all()
    assert known.came_true(0.5)[0] == pytest.approx(0.5, abs=0.15)


def test_the_config_offers_the_rules_there_are() -> None:
    assert trainer.STOP_RULES == rule.RULES
