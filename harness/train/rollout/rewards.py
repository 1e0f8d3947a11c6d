"""What conversations earn: by their end, by their course, turn by turn, or both at once.

Evaluations do not come here: they go by the users' own emotion, whatever is rewarded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.config.reward import RewardConfig
from harness.train.algorithms.advantages import FloatArray
from harness.train.rollout.conversation import MAX_TURNS, Conversation, Exchange

SOLVING = frozenset(("suggest", "inform"))
"""Strategies that work on the problem, and not on how it feels."""


@dataclass(frozen=True, slots=True)
class Earned:
    """A batch's rewards; nan where a conversation has none, and in turns that were not held."""

    rewards: FloatArray
    """Of each conversation in the mode in use, shape (conversations,)."""
    whole: FloatArray
    """What all replies of a conversation share, shape (conversations,)."""
    turns: FloatArray | None
    """What each reply earned alone, shape (conversations, MAX_TURNS); None where none does."""
    mix: float
    """Weight of `turns` against `whole`."""


def earned(conversations: Sequence[Conversation], reward: RewardConfig) -> Earned:
    """The rewards of `reward.mode`; with `mixed`, `rewards` is the blend of both sums."""
    ends = np.array([c.reward for c in conversations])
    gains = ends - np.array([c.opening.reported_emotion / 100 for c in conversations])
    bias = reward.solution_bias
    solved = _solution_shares(conversations) if bias else ends
    whole = _blend(gains if reward.mode == "delta" else ends, solved, bias)
    if reward.mode in ("terminal", "delta"):
        return Earned(whole, whole, None, 0.0)
    changes = turn_changes(conversations)
    turns = _blend(changes, _solution_turns(conversations) if bias else changes, bias)
    mix = 1.0 if reward.mix is None else reward.mix
    return Earned(_blend(whole, _blend(gains, solved, bias), mix), whole, turns, mix)


def penalised(given: Earned, penalties: FloatArray) -> Earned:
    """What advantages go by where replies lose something, `penalties` of shape (conversations,
    MAX_TURNS), nan where none was said; `rewards` stays what was earned.
    """
    turns = None if given.turns is None else given.turns + penalties
    return replace(given, whole=given.whole + np.nanmean(penalties, axis=1), turns=turns)


def card(reward: RewardConfig) -> dict[str, Any]:
    """What the measurement card says of the reward: runs of unlike rewards are not pooled."""
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
