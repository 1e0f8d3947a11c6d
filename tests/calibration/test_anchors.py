"""The anchors of a level: measured, shipped and looked up."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest

from harness import calibration
from harness.calibration import anchors, population, schedules, shipped_anchors
from harness.calibration.strategy_game import StrategyGame
from harness.config.run import LEVELS as NAMES
from harness.config.run import SimulatorConfig
from harness.simulator.reference import spoken_schedule
from tests.calibration.levels import ADVERSARIAL, LEVELS

SCRIPTED = SimulatorConfig()


def found(level: str) -> dict[str, dict[str, float]]:
    """Reward and listening of each anchor of a shipped level."""
    held = shipped_anchors.shipped(LEVELS[level], SCRIPTED)
    assert held is not None
    assert list(held) == ["random", "deaf", "attentive", "optimum"]
    spoken = {
        name: {"reward": held[name]["reward"]["value"], "listening": held[name]["listening"]}
        for name in ("random", "deaf", "attentive")
    }
    return {**spoken, "optimum": held["optimum"]}


@pytest.mark.parametrize("level", NAMES)
def test_the_shipped_anchors_are_in_order(level: str) -> None:
    anchored = found(level)
    rewards = {name: values["reward"] for name, values in anchored.items()}
    assert rewards["random"] < rewards["deaf"] < rewards["optimum"] <= 1
    assert abs(anchored["random"]["listening"]) < 0.02
    assert abs(anchored["deaf"]["listening"]) < 0.01
    assert anchored["attentive"]["listening"] > 0.5
    if level == "medium":
        assert 1.3 < anchored["attentive"]["listening"] < 1.6, "nats, of at most ln 8 = 2.08"
    if level != "easy":  # where any fluent rotation is as good as listening
        assert rewards["deaf"] + 0.1 < rewards["attentive"] < rewards["optimum"]


def test_beyond_hard_every_policy_earns_less_and_listening_pays_more() -> None:
    beyond, hard = shipped_anchors.shipped(ADVERSARIAL, SCRIPTED), found("hard")
    assert beyond is not None
    reward = {name: beyond[name]["reward"]["value"] for name in ("random", "deaf", "attentive")}
    assert all(reward[name] < hard[name]["reward"] for name in reward)
    assert beyond["deaf"]["reward"]["high"] + 0.2 < beyond["attentive"]["reward"]["low"]
    assert beyond["optimum"]["reward"] > beyond["attentive"]["reward"]["high"]
    gained = reward["attentive"] - reward["deaf"]
    assert gained > hard["attentive"]["reward"] - hard["deaf"]["reward"]


def test_the_best_schedule_and_the_optimum_are_those_of_the_strategy_game() -> None:
    held = shipped_anchors.shipped(LEVELS["hard"], SCRIPTED)
    assert held is not None
    assert (
        tuple(held["deaf"]["strategies"])
        == schedules.best_schedule(StrategyGame(LEVELS["hard"])).strategies
    )
    (card,) = [
        card
        for card in map(json.loads, (p.read_text() for p in calibration.SHIPPED.glob("*.json")))
        if card["anchors"] == held
    ]
    assert held["optimum"]["reward"] == pytest.approx(card["best"]["optimum"] / 100)


def test_a_policy_is_measured_by_reward_and_listening() -> None:
    """The first 32 users of the shipped anchor: within its interval, widened for the few."""
    held = population.converse_with(
        range(32), LEVELS["hard"], spoken_schedule(("other", "reflect"))
    )
    measured = anchors.anchor(held)
    assert measured.reward is not None
    assert measured.reward.value == pytest.approx(np.mean(held.finals) / 100)
    assert measured.reward.low < measured.reward.value < measured.reward.high
    assert measured.listening == pytest.approx(0, abs=0.1)


def test_the_share_is_0_at_the_best_schedule_and_1_at_the_optimum() -> None:
    for name in ("medium", "hard"):
        anchored, level = found(name), LEVELS[name]
        at = {key: values["reward"] for key, values in anchored.items()}
        assert shipped_anchors.share(at["deaf"], level, SCRIPTED) == 0
        assert shipped_anchors.share(at["optimum"], level, SCRIPTED) == 1
        assert shipped_anchors.share(at["random"], level, SCRIPTED) < 0
        assert 0.3 < shipped_anchors.share(at["attentive"], level, SCRIPTED) < 0.8
    assert math.isnan(shipped_anchors.share(0.9, LEVELS["easy"], SCRIPTED))


def test_what_is_reported_to_the_trainer_and_a_name_do_not_change_the_anchors() -> None:
    level = LEVELS["hard"]
    noisy = replace(level, name="mine", reward_noise=5.0, reward_flips=0.1, unchecked=True)
    same = shipped_anchors.shipped(level, SCRIPTED)
    assert shipped_anchors.shipped(noisy, SCRIPTED) == same is not None


def test_other_users_have_no_shipped_anchors() -> None:
    level = LEVELS["hard"]
    others = [
        (replace(level, threshold=0.123), SCRIPTED),
        (replace(level, turn_cap=4), SCRIPTED),
        (level, replace(SCRIPTED, profiles="mine.jsonl")),
        (level, replace(SCRIPTED, reader="lm", reader_model="here")),
        (level, SimulatorConfig(name="served", kind="served")),
    ]
    for users, simulator in others:
        assert shipped_anchors.shipped(users, simulator) is None
        assert math.isnan(shipped_anchors.share(0.5, users, simulator))


def test_a_group_of_equal_emotions_has_no_spread_at_any_size() -> None:
    std = population.group_std(replace(LEVELS["medium"], turn_cap=1), 3, 80)
    assert (std == 0).sum() == (std < 1e-9).sum() > 0
