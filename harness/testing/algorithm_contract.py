"""Tests for every algorithm: subclass AlgorithmContract and define the fixture `algorithm`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from harness.config.options import Options
from harness.config.run import MAX_TURNS, AlgorithmConfig, RunConfig
from harness.errors import ConfigError
from harness.testing.options_contract import OptionsContract
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.algorithm import Algorithm
from harness.train.policy_gradient.losses import LossTokens, TokenLoss
from harness.train.policy_gradient.remedy_roles import StepTokens
from harness.train.policy_gradient.rewards import Rewards

GROUPS, GROUP_SIZE = 4, 4
CONVERSATIONS = GROUPS * GROUP_SIZE
CONFIG = AlgorithmConfig(group_size=GROUP_SIZE)
LOST = 5
"""Number of the conversation without a reward."""
TOKENS = 200


def rewards(per_turn: bool = False) -> Rewards:
    """Return rewards of four groups. One group has equal rewards; one conversation has none."""
    rng = np.random.default_rng(1)
    shared = rng.random(CONVERSATIONS)
    shared[8:12], shared[LOST] = 0.4, np.nan
    if not per_turn:
        return Rewards(shared, shared, None, 0.0)
    turns = rng.normal(0, 0.1, (CONVERSATIONS, MAX_TURNS))
    turns[:, 8:] = turns[LOST] = np.nan
    turns[::3, 5:] = np.nan  # conversations that ended earlier
    return Rewards(shared, shared, turns, 0.5)


def values() -> FloatArray:
    """Return a critic's value of every reply."""
    result: FloatArray = np.random.default_rng(2).random((CONVERSATIONS, MAX_TURNS))
    return result


def tokens(kind: str = "numpy") -> LossTokens:
    """Return tokens of ten conversations, mixed, under other weights than those that drew them.

    `kind`: numpy for float64, torch for float32.
    """
    rng = np.random.default_rng(3)
    old_logp = rng.normal(-2, 0.5, TOKENS)
    columns = (old_logp + rng.normal(0, 0.2, TOKENS), old_logp, rng.normal(0, 1, TOKENS))
    owner = rng.integers(0, 10, TOKENS)
    if kind == "numpy":
        return LossTokens(*columns, owner, 10)
    logp, old, advantage = (torch.from_numpy(column).float() for column in columns)
    return LossTokens(logp, old, advantage, torch.from_numpy(owner), 10)


def tokens_for(algorithm: Algorithm, kind: str = "numpy") -> LossTokens:
    """Return the tokens of `tokens` with the columns that the algorithm prepares."""
    result, exact = tokens(kind), tokens()
    step = StepTokens(
        logp=exact.old_logp,
        advantage=exact.advantage,
        entropy_nats=None,
        start_logp=exact.old_logp + np.random.default_rng(5).normal(0, 0.3, TOKENS),
        rng=np.random.default_rng(6),
        conversation=exact.conversation,
    )
    columns = algorithm.prepare(step)
    if kind == "torch":
        return replace(result, prepared=tuple(torch.from_numpy(c).float() for c in columns))
    return replace(result, prepared=columns)


def taken(loss_tokens: LossTokens, selection: slice) -> LossTokens:
    columns = (
        loss_tokens.logp,
        loss_tokens.old_logp,
        loss_tokens.advantage,
        loss_tokens.conversation,
    )
    logp, old_logp, advantage, owner = (column[selection] for column in columns)
    prepared = tuple(column[selection] for column in loss_tokens.prepared)
    return LossTokens(logp, old_logp, advantage, owner, loss_tokens.conversations, prepared)


def moved(loss_tokens: LossTokens, token: int, amount: float) -> LossTokens:
    """Return the tokens with the log-probability of one token raised by `amount`."""
    logp = loss_tokens.logp.copy()
    logp[token] += amount
    return replace(loss_tokens, logp=logp)


class AlgorithmContract(OptionsContract):
    through_the_clip = False
    """True for a loss whose slope deliberately differs from the gradient of its value."""

    @pytest.fixture
    def algorithm(self) -> Algorithm:
        raise NotImplementedError

    @pytest.fixture
    def options(self, algorithm: Algorithm) -> Options:
        return algorithm

    @pytest.mark.parametrize("per_turn", [False, True])
    def test_every_reply_has_a_finite_advantage_and_a_lost_conversation_none(
        self, algorithm: Algorithm, per_turn: bool
    ) -> None:
        for expected in (None, values()) if not per_turn else (None,):
            advantages = algorithm.advantages(rewards(per_turn), expected, CONFIG)
            assert advantages.shape == (CONVERSATIONS, MAX_TURNS)
            # also after the last reply: null controls assign whole rows to other conversations
            assert np.isfinite(advantages).all()
            assert not advantages[LOST].any()
            assert advantages.any()

    def test_a_better_reward_never_has_a_lower_advantage(self, algorithm: Algorithm) -> None:
        """Compares within groups, with a critic that gives every reply the same value."""
        batch = rewards()
        advantages = algorithm.advantages(batch, np.full((CONVERSATIONS, MAX_TURNS), 0.3), CONFIG)
        for group in range(0, CONVERSATIONS, GROUP_SIZE):
            members = [n for n in range(group, group + GROUP_SIZE) if n != LOST]
            order = sorted(members, key=lambda n: float(batch.shared[n]))
            assert (np.diff(advantages[order, 0]) >= 0).all()

    def test_batches_without_a_signal_are_no_error(self, algorithm: Algorithm) -> None:
        for value in (0.5, np.nan):
            flat = np.full(CONVERSATIONS, value)
            advantages = algorithm.advantages(Rewards(flat, flat, None, 0.0), None, CONFIG)
            assert not advantages.any()

    def test_the_rewards_are_left_as_they_are_and_nothing_is_drawn(
        self, algorithm: Algorithm
    ) -> None:
        batch, untouched = rewards(True), rewards(True)
        first = algorithm.advantages(batch, None, CONFIG)
        np.testing.assert_array_equal(algorithm.advantages(batch, None, CONFIG), first)
        np.testing.assert_array_equal(batch.shared, untouched.shared)
        np.testing.assert_array_equal(batch.per_turn, untouched.per_turn)

    def test_the_slope_is_the_gradient_of_the_summed_value(self, algorithm: Algorithm) -> None:
        if self.through_the_clip:
            pytest.skip("its slope is on purpose not the gradient of its value")
        loss_tokens, step = tokens_for(algorithm), 1e-6
        slope = algorithm.loss(loss_tokens, CONFIG).slope
        for token in range(0, TOKENS, 7):
            up, down = (
                algorithm.loss(moved(loss_tokens, token, delta), CONFIG).value.sum()
                for delta in (step, -step)
            )
            assert slope[token] == pytest.approx((up - down) / (2 * step), abs=1e-6)

    def test_torch_in_single_precision_agrees_with_numpy(self, algorithm: Algorithm) -> None:
        exact, single = (
            algorithm.loss(tokens_for(algorithm, kind), CONFIG) for kind in ("numpy", "torch")
        )
        assert_agree(exact, single)

    def test_a_loss_by_token_does_not_depend_on_the_tokens_beside_it(
        self, algorithm: Algorithm
    ) -> None:
        if algorithm.by_conversation:
            pytest.skip("its loss is of whole conversations")
        loss_tokens, selection = tokens_for(algorithm), slice(20, 90)
        full, part = (
            algorithm.loss(t, CONFIG) for t in (loss_tokens, taken(loss_tokens, selection))
        )
        np.testing.assert_array_equal(part.slope, full.slope[selection])
        np.testing.assert_array_equal(part.value, full.value[selection])

    def test_groups_of_one_are_refused_where_groups_are_compared(
        self, algorithm: Algorithm
    ) -> None:
        config = RunConfig(algorithm=AlgorithmConfig(kind=algorithm.name(), group_size=1))
        if not algorithm.needs_groups:
            algorithm.check(config)
            return
        with pytest.raises(ConfigError, match=r"^algorithm\.group_size must be 2 or more .* got 1"):
            algorithm.check(config)

    def test_its_critic_comes_back_from_a_checkpoint(
        self, algorithm: Algorithm, tmp_path: Path
    ) -> None:
        critic = algorithm.critic()
        if critic is None:
            pytest.skip("it has none")
        rng = np.random.default_rng(4)
        features, targets = rng.normal(0, 1, (60, 5)), rng.random(60)
        fitted = critic.fitted(features, targets)
        fitted.save(tmp_path)
        restored = critic.restored(tmp_path)
        np.testing.assert_array_equal(restored.values(features), fitted.values(features))
        assert (fitted.values(features) != critic.values(features)).any()

    def test_what_it_says_of_itself_is_of_the_known_kinds(self, algorithm: Algorithm) -> None:
        assert algorithm.denominator(CONFIG) in ("tokens", "constant")
        floor = algorithm.std_floor(CONFIG)
        assert floor is None or floor >= 0


def assert_agree(exact: TokenLoss, single: TokenLoss) -> None:
    """Assert that the float64 and float32 losses are equal, to 1e-6 of the largest value."""
    for name in ("value", "slope"):
        expected, got = getattr(exact, name), getattr(single, name).numpy()
        assert got.dtype == np.float32
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-6 * np.abs(expected).max())
    np.testing.assert_array_equal(single.low.numpy(), exact.low)
    np.testing.assert_array_equal(single.high.numpy(), exact.high)
