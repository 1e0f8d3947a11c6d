"""Remedies that change the batch: groups redrawn, long replies penalised; other averages."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.compose import planner
from harness.config.run import RemedyConfig, RunConfig
from harness.records.run_folder import RunFolder
from harness.simulator.protocol import ConversationKey, SupporterReply
from harness.train.memory import conversation_memory
from harness.train.objective.registry import algorithm_of
from harness.train.policy_gradient.rewards import Rewards
from harness.train.remedies.soft_overlong import SoftOverlong
from harness.train.rollout.batch import fill, keys_of
from harness.train.rollout.conversation import Conversation
from harness.train.rollout.learning_signal import denominator
from harness.train.rollout.rewards import penalise
from tests.train.made import conversation, go_on, make_run, short, tabular
from tests.train.made import user_turn as turn

REPLY = SupporterReply("I see.")


def ended_at(key: ConversationKey, emotion: int) -> Conversation:
    return conversation(key.group, key.sample, 40, [(REPLY, turn(emotion, ended="cap"))])


def test_groups_without_variance_are_redrawn_until_none_is_left() -> None:
    config = tabular(algorithm={"group_size": 2}, conversations=8)
    asked: list[list[int]] = []

    def draw(time: int, groups: Any) -> list[Conversation]:
        """Rewards are all equal in groups 1 and 3, and in the first group that replaces 3."""
        asked.append(list(groups))
        keys = keys_of(config, 1, groups)
        silent = {1, 3, 7}
        return [ended_at(k, 40 if k.group in silent else 40 + 20 * k.sample) for k in keys]

    filled = fill(draw, config, 10)
    assert asked == [[0, 1, 2, 3], [5, 7], [11]]
    assert [c.key.group for c in filled.conversations[::2]] == [0, 5, 2, 11]
    assert filled.source == [(0, 0), (0, 1), (1, 0), (1, 1), (0, 4), (0, 5), (2, 0), (2, 1)]
    assert filled.redrawn.tolist() == [False, False, True, True, False, False, True, True]
    assert filled.groups_drawn == 7
    asked.clear()
    assert [c.key.group for c in fill(draw, config, 2).conversations[::2]] == [0, 5, 2, 7]
    asked.clear()
    assert fill(draw, config, 1).groups_drawn == 4
    assert asked == [[0, 1, 2, 3]]


def treated(methods: dict[str, Any], **trainer: Any) -> RunConfig:
    levels = short(3)
    config = tabular(levels.hard, algorithm={"group_size": 2}, conversations=32, **trainer)
    return replace(config, levels=levels, remedy=RemedyConfig("test", methods))


def rows_of(run: RunFolder) -> list[dict[str, Any]]:
    assert go_on(run)[0] == 0
    return [json.loads(line) for line in run.metrics.read_text().splitlines()]


def test_dynamic_sampling_fills_a_batch_and_counts_what_it_took(tmp_path: Path) -> None:
    plain = rows_of(make_run(tmp_path / "plain", treated({"clip_cov": {}}, steps=2)))
    config = treated({"dynamic_sampling": {"tries": 10}}, steps=2)
    filled = rows_of(make_run(tmp_path / "filled", config))
    silent = plain[0]["frac_reward_zero_std"]
    assert 0 < silent < 1
    assert filled[0]["frac_reward_zero_std"] == 0
    assert filled[0]["groups/drawn"] >= 16 + 16 * silent
    assert filled[0]["remedy/acted"] == pytest.approx(silent, abs=0.05)
    assert plain[0]["groups/drawn"] is None


def test_a_reply_near_the_limit_is_penalised_and_the_reported_reward_is_unchanged() -> None:
    tokens = np.array([[80.0, 90, 100], [10, np.nan, np.nan]])
    penalties = SoftOverlong(buffer=0.2, weight=0.5).penalties(tokens, 100)
    np.testing.assert_allclose(penalties, [[0, -0.25, -0.5], [0, np.nan, np.nan]])
    rewards = Rewards(np.array([0.6, 0.4]), np.array([0.6, 0.4]), np.zeros((2, 3)), 0.5)
    lowered = penalise(rewards, penalties)
    np.testing.assert_allclose(lowered.shared, [0.6 - 0.25, 0.4])
    assert lowered.per_turn is not None
    np.testing.assert_allclose(lowered.per_turn, penalties)
    assert lowered.total is rewards.total


def test_soft_overlong_alone_is_refused_for_a_policy_without_tokens() -> None:
    with pytest.raises(Exception, match=r"^policy\.kind must be that of a language model for soft"):
        planner.plan(["policy=tabular", "remedy=soft_overlong"])
    assert planner.plan(["policy=tabular", "remedy=dapo"]).points


def test_dr_grpo_divides_by_no_spread_and_by_a_constant() -> None:
    (point,) = planner.plan(["policy=tabular", "algorithm=dr_grpo"]).points
    acts, chosen = point.config, point.config.algorithm
    assert (chosen.name, chosen.kind, chosen.learning_rate) == ("dr_grpo", "dr_grpo", 3.0)
    most = acts.trainer.conversations * acts.difficulty.turn_cap
    assert denominator(algorithm_of(acts), acts, 17) == most
    tokens = replace(acts, policy=replace(acts.policy, kind="tiny", max_turn_tokens=30))
    assert denominator(algorithm_of(tokens), tokens, 17) == 30 * most
    assert denominator(algorithm_of(tabular()), tabular(), 17) == 17


def test_the_constant_is_of_the_longest_level_that_a_curriculum_trains_on() -> None:
    """Where a file conf/difficulty/hard.yaml of the user's has a turn cap of its own."""
    for weights, longest in ([], 12), (["curriculum.weight_hard=0"], 8):
        words = ["policy=tabular", "algorithm=dr_grpo", "curriculum=mixed", *weights]
        (point,) = planner.plan([*words, "eval.levels=[]"]).points
        levels = point.config.levels
        hard = replace(levels.hard, turn_cap=12)
        config = replace(point.config, levels=replace(levels, hard=hard))
        most = config.trainer.conversations * longest
        assert denominator(algorithm_of(config), config, 17) == most
        assert conversation_memory.most_turns(config) == longest


def test_lite_ppo_divides_by_the_spread_of_the_whole_batch() -> None:
    (point,) = planner.plan(["policy=tabular", "algorithm=lite_ppo"]).points
    chosen = point.config.algorithm
    assert (chosen.name, chosen.learning_rate) == ("lite_ppo", 3.0)
    rewards = np.array([0.1, 0.3, 0.8, 0.9, np.nan, 0.5])
    config = replace(chosen, group_size=2)
    earned = Rewards(rewards, rewards, None, 0.0)
    advantages = algorithm_of(point.config).advantages(earned, None, config)[:, 0]
    spread = np.nanstd(rewards)
    np.testing.assert_allclose(
        advantages, np.array([-0.1, 0.1, -0.05, 0.05, 0, 0]) / spread, rtol=1e-5
    )
