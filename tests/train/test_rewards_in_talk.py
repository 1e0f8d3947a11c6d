"""What must hold of rewards and updates on real conversations."""

from dataclasses import replace

import numpy as np
import pytest

from harness.config.reward import RewardConfig
from harness.config.run import RunConfig
from harness.policy.tabular import TabularPolicy
from harness.simulator.alliance import alliance
from harness.simulator.factory import make
from harness.train.loop import tabular_evaluation
from harness.train.metrics import evaluate
from harness.train.rollout.batch import keys_of, rng_of
from harness.train.rollout.conversation import Conversation, rollout
from harness.train.rollout.rewards import compute_rewards, turn_changes, turns_of
from harness.train.rollout.tabular_speaker import Acts, TabularSpeaker
from tests.train import made
from tests.train.made_rewards import MIXED, TURNS, config_of
from tests.train.made_tabular import update


def rolled_out(config: RunConfig) -> tuple[list[Conversation], Acts]:
    speaker = TabularSpeaker(TabularPolicy.start("conversation"), 1.0, rng_of(config, 1, 1))
    users = make(config.simulator, config.difficulty)
    return rollout(users, speaker, keys_of(config, 1)), speaker.acts()


def test_changes_add_up_to_final_minus_start_however_it_ends() -> None:
    level = replace(made.LEVELS.hard, reward_noise=7.0, reward_flips=0.2, stop_below=35)
    conversations, _ = rolled_out(made.tabular(level, conversations=64))
    gains = [c.reward - c.opening.reported_emotion / 100 for c in conversations]
    assert np.nansum(turn_changes(conversations), axis=1) == pytest.approx(gains)
    assert {c.last.ended for c in conversations} >= {"left", "cap"}


@pytest.mark.parametrize("reward", [TURNS, MIXED])
def test_an_update_is_the_slope_of_what_each_reply_earned(reward: RewardConfig) -> None:
    """Finite differences of -mean over replies of advantage * log p(act), reply by reply."""
    config = replace(made.tabular(), reward=reward)
    conversations, acts = rolled_out(config)
    rewards = compute_rewards(conversations, reward)
    advantages = made.advantages_of(rewards, config, 1)
    start = TabularPolicy.start("conversation")
    place = acts.conversation, acts.reply
    rate = config.algorithm.learning_rate
    done = update(start, acts, advantages[place], rate, 1.0, 1)
    ascent = (done.policy.table - start.table) / -rate

    def by_hand(number: int, turn: int) -> float:
        """Against those of the group that got so far, over the larger of spread and 0.10."""
        group = conversations[number // 8 * 8 : number // 8 * 8 + 8]

        def after(c: Conversation, n: int) -> float:
            return ([c.opening] + [e.answer for e in c.exchanges])[n].reported_emotion / 100

        mates = [c for c in group if len(c.exchanges) > turn]
        steps = np.array([after(c, turn + 1) - after(c, turn) for c in mates])
        ends = np.array([c.reward for c in group])
        mine = after(conversations[number], turn + 1) - after(conversations[number], turn)
        alone = (mine - steps.mean()) / max(steps.std(), 0.10)
        whole = (conversations[number].reward - ends.mean()) / max(ends.std(), 0.10)
        mix = 1.0 if reward.mix is None else reward.mix
        return float((1 - mix) * whole + mix * alone)

    wanted = np.array([by_hand(c, t) for c, t in zip(*place, strict=True)])

    def loss(table: np.ndarray) -> float:
        log_p = TabularPolicy(table, "conversation").log_probabilities(acts.seen, 1.0)
        return -float((wanted * log_p[np.arange(len(acts.act)), acts.act]).mean())

    places = list(map(tuple, np.argwhere(np.abs(ascent) > 1e-6)[::30]))
    assert len(places) > 10
    for cell in places:
        shift = np.zeros_like(start.table)
        shift[cell] = 1e-5
        slope = (loss(start.table + shift) - loss(start.table - shift)) / 2e-5
        assert ascent[cell] == pytest.approx(slope, abs=1e-8)


@pytest.mark.slow
def test_evaluation_knows_of_no_reward() -> None:
    rewards = (RewardConfig(), TURNS, RewardConfig(solution_bias=1.0))
    evaluations = []
    for reward in rewards:
        speakers = tabular_evaluation.speakers(TabularPolicy.start("conversation"), 1.0)
        meet = evaluate.meet_here(config_of(reward), speakers)
        evaluations.append(evaluate.evaluate(config_of(reward), meet))
    assert evaluations[0] == evaluations[1] == evaluations[2]


def test_alliance_is_the_mean_of_the_parts_that_a_user_keeps() -> None:
    reward = RewardConfig(mode="alliance")
    level = replace(made.LEVELS.medium, turn_cap=4)
    conversations, _ = rolled_out(made.tabular(level, conversations=16))
    parts = [alliance(turns_of(one)) for one in conversations]
    wanted = [sum((p.bond or 0.0, p.goal or 0.0, p.task or 0.0)) / 3 for p in parts]
    earned = compute_rewards(conversations, reward).total
    np.testing.assert_allclose(earned, wanted, atol=1e-12)
    assert np.ptp(earned) > 0.2
