"""Rewards of conversations: for their end, their course, each turn, or both.

Evaluations do not use them: they go by the users' own emotion, whatever is rewarded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from harness.config.reward import RewardConfig
from harness.config.run import MAX_TURNS
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.algorithm import Rewards
from harness.train.rollout.conversation import Conversation, Exchange

SOLVING = frozenset(("suggest", "inform"))
"""Strategies that work on the problem, and not on how it feels."""


def compute_rewards(conversations: Sequence[Conversation], reward: RewardConfig) -> Rewards:
    """The rewards of `reward.mode`; with `mixed`, `total` is the blend of both sums."""
    ends = np.array([c.reward for c in conversations])
    gains = ends - np.array([c.opening.reported_emotion / 100 for c in conversations])
    bias = reward.solution_bias
    solved = _solution_shares(conversations) if bias else ends
    shared = _blend(gains if reward.mode == "delta" else ends, solved, bias)
    if reward.mode in ("terminal", "delta"):
        return Rewards(shared, shared, None, 0.0)
    changes = turn_changes(conversations)
    per_turn = _blend(changes, _solution_turns(conversations) if bias else changes, bias)
    mix = 1.0 if reward.mix is None else reward.mix
    return Rewards(_blend(shared, _blend(gains, solved, bias), mix), shared, per_turn, mix)


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
        "conversations": "the batch that H is measured on",
    }


def turn_changes(conversations: Sequence[Conversation]) -> FloatArray:
    """Change of the reported emotion / 100 by each reply, shape (conversations, MAX_TURNS).

    They sum to final minus start: a user who leaves falls to 0 by the last reply.
    """

    def changes(conversation: Conversation) -> FloatArray:
        turns = [conversation.opening, *(e.answer for e in conversation.exchanges)]
        reported = np.array([turn.reported_emotion / 100 for turn in turns])
        steps: FloatArray = reported[1:] - reported[:-1]
        return steps

    return _table(conversations, changes)


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


def _blend(first: FloatArray, second: FloatArray, weight: float) -> FloatArray:
    """(1 - weight) first + weight second; `first` itself where the weight is 0."""
    return (1 - weight) * first + weight * second if weight else first
