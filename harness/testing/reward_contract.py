"""Tests for every reward: subclass RewardContract and define the fixture `reward`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from harness.config.options import Options
from harness.config.run import MAX_TURNS, DifficultyConfig
from harness.simulator.protocol import ConversationKey, SupporterReply
from harness.simulator.scripted.user import ScriptedSimulator
from harness.testing.options_contract import OptionsContract
from harness.testing.simulator_contract import REPLIES
from harness.train.rollout.conversation import Conversation, Exchange, rollout
from harness.train.rollout.rewards import Reward

GROUPS, GROUP_SIZE = 4, 4
FAILED = 5
"""Number of the conversation whose simulator failed."""


class _Canned:
    """A speaker whose replies differ between conversations."""

    def begin(self, count: int) -> None:
        self._said = [0] * count

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        for number in live:
            self._said[number] += 1
        return [SupporterReply(REPLIES[(n + self._said[n]) % len(REPLIES)]) for n in live]


def conversations() -> list[Conversation]:
    """Return conversations of four groups with scripted users of level medium; one has failed."""
    keys = [ConversationKey(1, 1, g, sample) for g in range(GROUPS) for sample in range(GROUP_SIZE)]
    batch = rollout(ScriptedSimulator(DifficultyConfig()), _Canned(), keys)
    batch[FAILED] = failed(batch[FAILED])
    return batch


def failed(conversation: Conversation) -> Conversation:
    """Return the conversation with a failure of the simulator after its last reply."""
    *before, last = conversation.exchanges
    answer = replace(
        last.answer, ended="failed", reported_emotion=math.nan, why={"fault": "timeout"}
    )
    return replace(conversation, exchanges=(*before, Exchange(last.reply, answer)))


class RewardContract(OptionsContract):
    @pytest.fixture
    def reward(self) -> Reward:
        raise NotImplementedError

    @pytest.fixture
    def options(self, reward: Reward) -> Options:
        return reward

    @pytest.fixture
    def batch(self) -> list[Conversation]:
        return conversations()

    def test_there_is_a_number_for_each_conversation(
        self, reward: Reward, batch: list[Conversation]
    ) -> None:
        rewards = reward.rewards(batch)
        assert rewards.total.shape == rewards.shared.shape == (len(batch),)
        assert rewards.total.dtype == rewards.shared.dtype == np.float64
        assert 0 <= rewards.mix <= 1

    def test_only_a_failed_conversation_has_none(
        self, reward: Reward, batch: list[Conversation]
    ) -> None:
        rewards = reward.rewards(batch)
        for values in (rewards.total, rewards.shared):
            assert np.flatnonzero(~np.isfinite(values)).tolist() == [FAILED]
            assert math.isnan(values[FAILED])

    def test_turns_have_a_part_exactly_where_there_was_a_reply(
        self, reward: Reward, batch: list[Conversation]
    ) -> None:
        rewards = reward.rewards(batch)
        if rewards.per_turn is None:
            assert rewards.mix == 0
            return
        assert rewards.per_turn.shape == (len(batch), MAX_TURNS)
        replies = np.array([len(c.exchanges) * (n != FAILED) for n, c in enumerate(batch)])
        has_reply = np.arange(MAX_TURNS) < replies[:, None]
        assert (np.isfinite(rewards.per_turn) == has_reply).all()
        assert rewards.turn_sums is not None
        assert np.nansum(rewards.per_turn, axis=1)[replies > 0] == pytest.approx(
            rewards.turn_sums[replies > 0]
        )

    def test_the_same_conversations_earn_the_same(
        self, reward: Reward, batch: list[Conversation]
    ) -> None:
        repeated = _parts(reward, conversations())
        for first, again in zip(_parts(reward, batch), repeated, strict=True):
            assert np.array_equal(first, again, equal_nan=True)

    def test_the_order_of_groups_does_not_matter(
        self, reward: Reward, batch: list[Conversation]
    ) -> None:
        order = np.arange(len(batch)).reshape(GROUPS, GROUP_SIZE)[::-1].ravel()
        all_reordered = _parts(reward, [batch[n] for n in order])
        for original, reordered in zip(_parts(reward, batch), all_reordered, strict=True):
            assert original[order] == pytest.approx(reordered, nan_ok=True)

    def test_it_tells_conversations_of_a_group_apart(
        self, reward: Reward, batch: list[Conversation]
    ) -> None:
        totals = reward.rewards(batch).total.reshape(GROUPS, GROUP_SIZE)
        assert (np.nanstd(totals, axis=1) > 0).any(), "no group would teach anything"


def _parts(reward: Reward, batch: list[Conversation]) -> list[np.ndarray]:
    rewards = reward.rewards(batch)
    turns = [] if rewards.per_turn is None else [rewards.per_turn]
    return [rewards.total, rewards.shared, *turns]
