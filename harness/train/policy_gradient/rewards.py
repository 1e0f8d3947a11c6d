"""A batch's rewards, and how those of conversations and of turns become one advantage a reply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from harness.config.run import MAX_TURNS
from harness.train.policy_gradient.advantages import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Rewards:
    """A batch's rewards; nan where a conversation has none, and for turns that did not happen."""

    total: FloatArray
    """Each conversation's reward in the mode in use, shape (conversations,)."""
    shared: FloatArray
    """The part that all replies of a conversation share, shape (conversations,)."""
    per_turn: FloatArray | None
    """Each reply's own part, shape (conversations, MAX_TURNS); None if there is none."""
    mix: float
    """Weight of `per_turn` against `shared`."""
    turn_sums: FloatArray | None = None
    """What a conversation's `per_turn` adds up to, shape (conversations,); None as `per_turn`."""
    replies: IntArray | None = None
    """How many replies of the policy's own each conversation has, shape (conversations,); None for
    MAX_TURNS in each."""
    qualities: FloatArray | None = None
    """What else each conversation is worth, shape (conversations, qualities); None where no
    algorithm goes by it."""

    @classmethod
    def of(
        cls,
        shared: FloatArray,
        per_turn: FloatArray | None = None,
        mix: float = 1.0,
        turn_sums: FloatArray | None = None,
    ) -> Self:
        """The rewards of these parts, whose blend by `mix` is the total; shapes as above.

        `turn_sums` are computed from `per_turn` unless they are given.
        """
        if per_turn is None:
            return cls(shared, shared, None, 0.0)
        if turn_sums is None:
            turn_sums = np.where(np.isfinite(shared), np.nansum(per_turn, axis=1), np.nan)
        return cls(blend(shared, turn_sums, mix), shared, per_turn, mix, turn_sums)


def by_reply(rewards: Rewards, normalised: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Advantages of each reply, shape (conversations, MAX_TURNS).

    `normalised`: from one column of rewards, shape (conversations,), nan where there is none, to
    its advantages. A conversation's shared reward counts for all its replies; each turn's own
    reward is compared with the same turn of others, those that got so far: turn-level advantages,
    as in arXiv 2505.11821 (v1), whose turns are known to be two. What a reply does to later turns
    is left to the shared part. Both parts are normalised before they are mixed, as rewards of
    different spread should be (arXiv 2601.05242), so that a mix of 0 is `terminal` and a mix of 1
    is `turns`.
    """
    advantages = np.repeat(normalised(rewards.shared)[:, None], MAX_TURNS, axis=1)
    if rewards.per_turn is not None:
        by_turn = np.stack([normalised(column) for column in rewards.per_turn.T], axis=1)
        advantages = (1 - rewards.mix) * advantages + rewards.mix * by_turn
    return advantages


def blend(first: FloatArray, second: FloatArray, weight: float) -> FloatArray:
    """(1 - weight) first + weight second; `first` itself where the weight is 0."""
    return (1 - weight) * first + weight * second if weight else first
