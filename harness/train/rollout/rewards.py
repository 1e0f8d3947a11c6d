"""Rewards of conversations: for the final emotion, the changes, a mix, or as a plug-in defines.

Evaluations do not use these rewards. They measure the users' own emotion, whatever is rewarded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import numpy as np

from harness.config import options
from harness.config.options import Options
from harness.config.ranges import Between
from harness.config.reward import RewardConfig
from harness.config.run import MAX_TURNS
from harness.simulator.alliance import SOLVING, alliance
from harness.simulator.protocol import UserTurn
from harness.simulator.scripted.dynamics import KINDNESS
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.rewards import Rewards, blend
from harness.train.rollout.conversation import Conversation, Exchange
from harness.train.rollout.qualities import qualities


@dataclass(frozen=True)
class Reward(Options, ABC):
    """The reward of a `reward.mode`. The fields of a plug-in's class are `reward.options`."""

    @abstractmethod
    def rewards(self, conversations: Sequence[Conversation]) -> Rewards:
        """Return the rewards of a batch; nan for failed conversations, whose `reward` is nan.

        They must depend only on the conversations, so that a resumed run gets the same.
        """

    @classmethod
    def key(cls) -> str:
        return "reward.options"

    @classmethod
    def configured(cls, config: RewardConfig) -> Self:
        """Return the reward with the config's options. Raises ConfigError for invalid options."""
        return options.build(cls, config.options)


@dataclass(frozen=True)
class Terminal(Reward):
    """The reported final emotion / 100."""

    def rewards(self, conversations: Sequence[Conversation]) -> Rewards:
        return Rewards.of(_ends(conversations))


@dataclass(frozen=True)
class Delta(Reward):
    """The final minus the initial emotion / 100."""

    def rewards(self, conversations: Sequence[Conversation]) -> Rewards:
        return Rewards.of(_gains(conversations))


@dataclass(frozen=True)
class Mixed(Reward):
    """A mix of the final emotion and the change by each reply."""

    mix: Annotated[float, Between(0, 1)] = 1.0
    """Weight of the changes."""

    def rewards(self, conversations: Sequence[Conversation]) -> Rewards:
        ends, gains = _ends(conversations), _gains(conversations)
        return Rewards.of(ends, turn_changes(conversations), self.mix, gains)

    @classmethod
    def configured(cls, config: RewardConfig) -> Self:
        return cls() if config.mix is None else cls(config.mix)


@dataclass(frozen=True)
class TurnCredit(Reward):
    """The final emotion, plus each reply's change relative to the mean change of its turn."""

    credit: Annotated[float, Between(0, 1000)] = 15.0
    """What a change by 100 adds to the advantage (arXiv 2606.15532 has 15)."""

    def rewards(self, conversations: Sequence[Conversation]) -> Rewards:
        ends, gains = _ends(conversations), _gains(conversations)
        parts = Rewards.of(ends, turn_changes(conversations), 0.0, gains)
        return replace(parts, credit=self.credit)

    @classmethod
    def configured(cls, config: RewardConfig) -> Self:
        return cls() if config.credit is None else cls(config.credit)


@dataclass(frozen=True)
class Warmth(Reward):
    """Mean kindness of the replies, 0 to 1: a trait of the replies, independent of the user."""

    def rewards(self, conversations: Sequence[Conversation]) -> Rewards:
        kind = _table(
            conversations, lambda c: np.array([kindness(e.answer.strategies) for e in c.exchanges])
        )
        replies = np.maximum(np.isfinite(kind).sum(axis=1), 1)
        has_reward = np.isfinite(_ends(conversations))
        return Rewards.of(np.where(has_reward, np.nansum(kind, axis=1) / replies, np.nan))


@dataclass(frozen=True)
class WorkingAlliance(Reward):
    """Mean of bond, goal and task, 0 to 1, as far as they are known of the user."""

    def rewards(self, conversations: Sequence[Conversation]) -> Rewards:
        means = [alliance(turns_of(c)).mean for c in conversations]
        values = np.array([np.nan if mean is None else mean for mean in means])
        return Rewards.of(np.where(np.isfinite(_ends(conversations)), values, np.nan))


def turns_of(conversation: Conversation) -> list[UserTurn]:
    """Return the user's turns, from the first one that the policy replies to."""
    return [conversation.opening, *(e.answer for e in conversation.exchanges)]


OURS: Mapping[str, type[Reward]] = {
    "terminal": Terminal,
    "delta": Delta,
    "turns": Mixed,
    "mixed": Mixed,
    "ctc": TurnCredit,
    "warmth": Warmth,
    "alliance": WorkingAlliance,
}
"""Rewards by mode; `turns` is `mixed` with a weight of 1 for the changes."""


def make(config: RewardConfig) -> Reward:
    """Return the reward of `reward.mode`. Raises ConfigError for invalid options."""
    kind: type[Reward] = OURS.get(config.mode) or options.plug_in("reward", config.mode, Reward)
    return kind.configured(config)


def compute_rewards(
    conversations: Sequence[Conversation], reward: RewardConfig, with_qualities: bool = False
) -> Rewards:
    """Return the rewards of `reward.mode`, with the share `reward.solution_bias` replaced by a
    reward for suggesting and informing.
    """
    rewards, bias = make(reward).rewards(conversations), reward.solution_bias
    replies = np.array([len(c.exchanges) for c in conversations], dtype=np.int64)
    if bias:
        rewards = _blend_bias(rewards, conversations, bias)
    scores = qualities(conversations, rewards.total) if with_qualities else None
    return replace(rewards, replies=replies, return_mix=reward.return_mix, qualities=scores)


def _blend_bias(rewards: Rewards, conversations: Sequence[Conversation], bias: float) -> Rewards:
    """Return the rewards, with the share `bias` replaced by one for suggesting and informing."""
    solved = _solution_shares(conversations)
    shared = blend(rewards.shared, solved, bias)
    if rewards.per_turn is None:
        return Rewards.of(shared)
    per_turn = blend(rewards.per_turn, _solution_turns(conversations), bias)
    sums = None if rewards.turn_sums is None else blend(rewards.turn_sums, solved, bias)
    return replace(Rewards.of(shared, per_turn, rewards.mix, sums), credit=rewards.credit)


def penalise(rewards: Rewards, penalties: FloatArray) -> Rewards:
    """Return the rewards from which advantages are computed when replies are penalised.

    `total` stays as it is. `penalties`: shape (conversations, MAX_TURNS), nan without a reply.
    """
    per_turn = None if rewards.per_turn is None else rewards.per_turn + penalties
    shared = rewards.shared + np.nanmean(penalties, axis=1)
    return replace(rewards, shared=shared, per_turn=per_turn)


def card(reward: RewardConfig) -> dict[str, Any]:
    """Return the reward's part of the measurement card; different rewards are not pooled."""
    return {
        "mode": reward.mode,
        "mix": reward.mix,
        "solution_bias": reward.solution_bias,
        **({"credit": reward.credit} if reward.credit is not None else {}),
        **({"return_mix": reward.return_mix} if reward.return_mix else {}),
        **({"options": reward.options} if reward.options else {}),
        "conversations": "the batch that H is measured on",
    }


def _ends(conversations: Sequence[Conversation]) -> FloatArray:
    return np.array([c.reward for c in conversations])


def _gains(conversations: Sequence[Conversation]) -> FloatArray:
    """Return final minus initial emotion / 100, which is the sum of `turn_changes`."""
    openings = np.array([c.opening.reported_emotion / 100 for c in conversations])
    gains: FloatArray = _ends(conversations) - openings
    return gains


def turn_changes(conversations: Sequence[Conversation]) -> FloatArray:
    """Return the change of the reported emotion / 100 by each reply, shape (conversations,
    MAX_TURNS).

    A row sums to final minus initial emotion; a user who leaves falls to 0 at the last reply.
    """

    def changes(conversation: Conversation) -> FloatArray:
        reported = np.array([turn.reported_emotion / 100 for turn in turns_of(conversation)])
        steps: FloatArray = reported[1:] - reported[:-1]
        return steps

    return _table(conversations, changes)


def kindness(strategies: Sequence[str]) -> float:
    """Return the mean kindness of a reply's recognised strategies, 0 to 1; 0 if there are none."""
    return sum(KINDNESS[strategy] for strategy in strategies) / max(len(strategies), 1)


def solves(exchange: Exchange) -> bool:
    """Return whether the user recognised a suggestion or information in the reply."""
    return not SOLVING.isdisjoint(exchange.answer.strategies)


def _solution_shares(conversations: Sequence[Conversation]) -> FloatArray:
    """Return the share of each conversation's replies that solve, shape (conversations,)."""
    shares: FloatArray = np.nansum(_solution_turns(conversations), axis=1)
    return shares


def _solution_turns(conversations: Sequence[Conversation]) -> FloatArray:
    """Return 1 / (number of replies) for each reply that solves; a row sums to their share."""
    return _table(
        conversations,
        lambda c: np.array([float(solves(e)) for e in c.exchanges]) / max(len(c.exchanges), 1),
    )


def _table(
    conversations: Sequence[Conversation], values_of: Callable[[Conversation], FloatArray]
) -> FloatArray:
    """Return `values_of` each conversation as a row.

    It is nan after the conversation's end, or throughout without a reward.
    """
    table = np.full((len(conversations), MAX_TURNS), np.nan)
    for row, conversation in zip(table, conversations, strict=True):
        if np.isfinite(conversation.reward):
            row[: len(conversation.exchanges)] = values_of(conversation)
    return table
