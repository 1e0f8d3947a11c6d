"""Rewards of conversations: for their end, their course, each turn, or both, or as a plug-in says.

Evaluations do not use them: they go by the users' own emotion, whatever is rewarded.
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
    """What a mode of reward= gives for conversations. A plug-in's fields are `reward.options`."""

    @abstractmethod
    def rewards(self, conversations: Sequence[Conversation]) -> Rewards:
        """The rewards of a batch: nan where a conversation failed, whose `reward` is nan.

        They depend on the conversations alone, so that a resumed run gets the same.
        """

    @classmethod
    def key(cls) -> str:
        return "reward.options"

    @classmethod
    def configured(cls, config: RewardConfig) -> Self:
        """The reward as the config has it. Raises ConfigError for options that do not fit."""
        return options.build(cls, config.options)


@dataclass(frozen=True)
class Terminal(Reward):
    """The final emotion as reported / 100."""

    def rewards(self, conversations: Sequence[Conversation]) -> Rewards:
        return Rewards.of(_ends(conversations))


@dataclass(frozen=True)
class Delta(Reward):
    """The final minus the initial emotion / 100."""

    def rewards(self, conversations: Sequence[Conversation]) -> Rewards:
        return Rewards.of(_gains(conversations))


@dataclass(frozen=True)
class Mixed(Reward):
    """The final emotion, and the change by each reply."""

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
    """The final emotion; each reply's change counts against the mean of its turn."""

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
    """Mean kindness of the replies, 0 to 1: a trait of what is said, whoever hears it."""

    def rewards(self, conversations: Sequence[Conversation]) -> Rewards:
        kind = _table(
            conversations, lambda c: np.array([kindness(e.answer.strategies) for e in c.exchanges])
        )
        replies = np.maximum(np.isfinite(kind).sum(axis=1), 1)
        known = np.isfinite(_ends(conversations))
        return Rewards.of(np.where(known, np.nansum(kind, axis=1) / replies, np.nan))


@dataclass(frozen=True)
class WorkingAlliance(Reward):
    """Mean of bond, goal and task, 0 to 1, as far as the user keeps account of them."""

    def rewards(self, conversations: Sequence[Conversation]) -> Rewards:
        found = [alliance(turns_of(c)).mean for c in conversations]
        values = np.array([np.nan if one is None else one for one in found])
        return Rewards.of(np.where(np.isfinite(_ends(conversations)), values, np.nan))


def turns_of(conversation: Conversation) -> list[UserTurn]:
    """The user's turns, from the one that the policy first replies to."""
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
"""By mode; `turns` is a mix of the changes alone."""


def make(config: RewardConfig) -> Reward:
    """The reward of `reward.mode`. Raises ConfigError for options that do not fit."""
    kind: type[Reward] = OURS.get(config.mode) or options.plug_in("reward", config.mode, Reward)
    return kind.configured(config)


def compute_rewards(
    conversations: Sequence[Conversation], reward: RewardConfig, with_qualities: bool = False
) -> Rewards:
    """The rewards of `reward.mode`, of which solving replaces the share `reward.solution_bias`."""
    rewards, bias = make(reward).rewards(conversations), reward.solution_bias
    replies = np.array([len(c.exchanges) for c in conversations], dtype=np.int64)
    if bias:
        rewards = _biased(rewards, conversations, bias)
    also = qualities(conversations, rewards.total) if with_qualities else None
    return replace(rewards, replies=replies, return_mix=reward.return_mix, qualities=also)


def _biased(rewards: Rewards, conversations: Sequence[Conversation], bias: float) -> Rewards:
    """The rewards, of which solving replaces the share `bias`."""
    solved = _solution_shares(conversations)
    shared = blend(rewards.shared, solved, bias)
    if rewards.per_turn is None:
        return Rewards.of(shared)
    per_turn = blend(rewards.per_turn, _solution_turns(conversations), bias)
    sums = None if rewards.turn_sums is None else blend(rewards.turn_sums, solved, bias)
    return replace(Rewards.of(shared, per_turn, rewards.mix, sums), credit=rewards.credit)


def penalised(rewards: Rewards, penalties: FloatArray) -> Rewards:
    """The rewards that advantages go by when replies are penalised; `total` is left as it is.

    `penalties`: shape (conversations, MAX_TURNS), nan where there was no reply.
    """
    per_turn = None if rewards.per_turn is None else rewards.per_turn + penalties
    shared = rewards.shared + np.nanmean(penalties, axis=1)
    return replace(rewards, shared=shared, per_turn=per_turn)


def card(reward: RewardConfig) -> dict[str, Any]:
    """The reward in the measurement card: runs of different rewards are not pooled."""
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
    """Final minus start, so that `_gains` is what `turn_changes` add up to."""
    openings = np.array([c.opening.reported_emotion / 100 for c in conversations])
    gains: FloatArray = _ends(conversations) - openings
    return gains


def turn_changes(conversations: Sequence[Conversation]) -> FloatArray:
    """Change of the reported emotion / 100 by each reply, shape (conversations, MAX_TURNS).

    They sum to final minus start: a user who leaves falls to 0 by the last reply.
    """

    def changes(conversation: Conversation) -> FloatArray:
        reported = np.array([turn.reported_emotion / 100 for turn in turns_of(conversation)])
        steps: FloatArray = reported[1:] - reported[:-1]
        return steps

    return _table(conversations, changes)


def kindness(strategies: Sequence[str]) -> float:
    """Mean kindness of what was recognised in a reply, 0 to 1; 0 where nothing was."""
    return sum(KINDNESS[strategy] for strategy in strategies) / max(len(strategies), 1)


def solves(exchange: Exchange) -> bool:
    """Whether a reply suggests or informs, as its user recognised it."""
    return not SOLVING.isdisjoint(exchange.answer.strategies)


def _solution_shares(conversations: Sequence[Conversation]) -> FloatArray:
    """Share of each conversation's replies that suggest or inform, shape (conversations,)."""
    shares: FloatArray = np.nansum(_solution_turns(conversations), axis=1)
    return shares


def _solution_turns(conversations: Sequence[Conversation]) -> FloatArray:
    """1 / replies of the conversation for each that solves: a row sums to its share of them."""
    return _table(
        conversations,
        lambda c: np.array([float(solves(e)) for e in c.exchanges]) / max(len(c.exchanges), 1),
    )


def _table(
    conversations: Sequence[Conversation], of: Callable[[Conversation], FloatArray]
) -> FloatArray:
    """One row a conversation; nan after its end, and throughout where it has no reward."""
    table = np.full((len(conversations), MAX_TURNS), np.nan)
    for row, conversation in zip(table, conversations, strict=True):
        if np.isfinite(conversation.reward):
            row[: len(conversation.exchanges)] = of(conversation)
    return table
