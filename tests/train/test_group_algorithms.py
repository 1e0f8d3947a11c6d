"""RLOO, MaxRL and GSPO: what each makes of a group, against the formula of its paper."""

import numpy as np
import pytest
import torch

from harness.compose import planner
from harness.config.run import AlgorithmConfig
from harness.errors import ConfigError
from harness.testing.algorithm_contract import (
    CONFIG,
    CONVERSATIONS,
    LOST,
    AlgorithmContract,
    rewards,
    tokens_for,
)
from harness.train.algorithms.gspo import Gspo
from harness.train.algorithms.max_rl import MaxRl
from harness.train.algorithms.rloo import Rloo
from harness.train.policy_gradient.advantages import leave_one_out
from harness.train.policy_gradient.algorithm import Algorithm
from harness.train.policy_gradient.rewards import Rewards


class TestRloo(AlgorithmContract):
    @pytest.fixture
    def algorithm(self) -> Algorithm:
        return Rloo()


class TestMaxRl(AlgorithmContract):
    @pytest.fixture
    def algorithm(self) -> Algorithm:
        return MaxRl()


class TestGspo(AlgorithmContract):
    @pytest.fixture
    def algorithm(self) -> Algorithm:
        return Gspo()


def test_rloo_compares_each_conversation_with_the_mean_of_the_others() -> None:
    advantages = Rloo().advantages(rewards(), None, CONFIG)[:, 0]
    shared = rewards().shared
    for n in range(CONVERSATIONS):
        group = range(n - n % 4, n - n % 4 + 4)
        others = [shared[i] for i in group if i not in (n, LOST)]
        wanted = 0.0 if n == LOST else shared[n] - np.mean(others)
        assert advantages[n] == pytest.approx(wanted, abs=1e-12)


def test_a_conversation_that_is_alone_with_a_reward_teaches_nothing() -> None:
    assert not leave_one_out(np.array([0.9, np.nan, np.nan, np.nan]), 4).any()


def test_a_hard_group_weighs_one_over_its_share_of_successes() -> None:
    """MaxRL on rewards of 0 and 1: (r - p) / p, so a success of p = 1/4 gets 3, one of 3/4 1/3."""
    shared = np.array([1.0, 0, 0, 0, 1, 1, 1, 0])
    column = MaxRl().advantages(Rewards.of(shared), None, CONFIG)[:, 0]
    np.testing.assert_allclose(column, [3, -1, -1, -1, 1 / 3, 1 / 3, 1 / 3, -1], atol=1e-12)


def test_the_mean_gradient_of_max_rl_is_that_of_log_p_as_far_as_the_group_can_see() -> None:
    """Its claim (arXiv 2602.02710) worked out for n draws of success p: the expected slope along p
    is (1 - (1 - p)^(n - 1)) / p, which for large n is that of log p, where plain RL has 1."""
    p, n, draws = 0.3, 4, 40_000
    drawn = (np.random.default_rng(1).random(draws * n) < p).astype(np.float64)
    config = AlgorithmConfig(group_size=n)
    column = MaxRl().advantages(Rewards.of(drawn), None, config)[:, 0]
    score = np.where(drawn == 1, 1 / p, -1 / (1 - p))
    slopes = (column * score).reshape(draws, n).mean(axis=1)
    wanted = (1 - (1 - p) ** (n - 1)) / p
    assert slopes.mean() == pytest.approx(wanted, abs=4 * slopes.std() / np.sqrt(draws))


def test_a_hopeless_group_is_divided_by_the_floor() -> None:
    shared = np.array([0.04, 0, 0, 0])
    column = MaxRl(mean_floor=0.05).advantages(Rewards.of(shared), None, CONFIG)[:, 0]
    np.testing.assert_allclose(column, [0.6, -0.2, -0.2, -0.2], atol=1e-12)


def test_gspo_is_the_mean_over_conversations_of_its_equation() -> None:
    """Value and slope against autograd of the objective of arXiv 2507.18071."""
    given, config = tokens_for(Gspo()), AlgorithmConfig(clip_low=0.02, clip_high=0.03)
    # one advantage a conversation, as its replies share one
    advantage = np.random.default_rng(8).normal(0, 1, 10)[given.conversation]
    given = type(given)(
        given.logp, given.old_logp, advantage, given.conversation, 10, given.prepared
    )
    logp = torch.tensor(given.logp, requires_grad=True)
    losses, clipped = [], 0
    for number in range(10):
        mine = torch.tensor(given.conversation == number)
        s = (logp - torch.tensor(given.old_logp))[mine].mean().exp()
        a = float(advantage[given.conversation == number][0])
        losses.append(-torch.minimum(s * a, s.clamp(0.98, 1.03) * a))
        clipped += bool(losses[-1] != -s * a)
    wanted = torch.stack(losses).mean()
    (slope,) = torch.autograd.grad(wanted, logp)
    made = Gspo().loss(given, config)
    assert made.value.mean() == pytest.approx(wanted.item(), abs=1e-12)
    np.testing.assert_allclose(made.slope / len(made.slope), slope, atol=1e-12)
    assert 0 < clipped < 10


def refused(*words: str) -> str:
    with pytest.raises(ConfigError) as error:
        planner.plan(["policy=tabular", *words])
    return str(error.value)


def test_what_makes_no_sense_with_them_is_refused_by_name() -> None:
    assert refused("algorithm=max_rl", "reward=delta") == (
        "reward.mode must not be delta, turns, mixed or ctc with algorithm.kind=max_rl, whose "
        "advantages are divided by the mean reward, which must not be negative, got delta"
    )
    assert refused("algorithm=gspo", "reward=turns") == (
        "reward.mode must not be turns, mixed or ctc with algorithm.kind=gspo, whose replies share "
        "one ratio and one advantage, got turns"
    )
    assert refused("algorithm=gspo", "remedy=forking_tokens") == (
        "remedy.methods.forking_tokens must go with a ratio of tokens, since it weights or shapes "
        "single tokens, got algorithm.kind=gspo"
    )
    assert refused("algorithm=max_rl", "algorithm.options.mean_floor=0") == (
        "algorithm.options.mean_floor must lie between 0.001 and 1, got 0"
    )
    assert refused("algorithm=rloo", "algorithm.options.mean_floor=1") == (
        "algorithm.options must be empty, as Rloo has none, got 'mean_floor'"
    )
    assert refused("algorithm=gspo", "algorithm.denominator=constant") == (
        "algorithm.denominator: has no effect with algorithm.kind=gspo, since it takes the mean "
        "over conversations, got constant"
    )
