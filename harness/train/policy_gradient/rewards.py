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
    """Each reply's own part, shape (conversations, MAX_TURNS), or each token's, (conversations,
    tokens), where the critic has a value at each; None if there is none."""
    mix: float
    """Weight of `per_turn` against `shared`."""
    turn_sums: FloatArray | None = None
    """What a conversation's `per_turn` adds up to, shape (conversations,); None as `per_turn`."""
    replies: IntArray | None = None
    """How many replies of the policy's own each conversation has, or tokens as above, shape
    (conversations,); None for MAX_TURNS in each."""
    credit: float | None = None
    """What one of `per_turn`, against its turn's mean, adds to the advantage that all replies
    share; None where `mix` blends the two."""
    return_mix: float = 0.0
    """Weight of what a reply and all later ones have, against what the reply alone has."""
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


Advantages = Callable[[FloatArray], FloatArray]
"""From one column of rewards, shape (conversations,), nan where there is none, to advantages."""


def by_reply(
    rewards: Rewards, normalised: Advantages, centred: Advantages | None = None
) -> FloatArray:
    """Advantages of each reply, shape (conversations, MAX_TURNS).

    `centred`: the same without a division; `normalised` itself where that divides by nothing. A
    conversation's shared reward counts for all its replies; each turn's own
    reward is compared with the same turn of others, those that got so far: turn-level advantages,
    as in arXiv 2505.11821 (v1), whose turns are known to be two. What a reply does to later turns
    is left to the shared part, but for `return_mix` (arXiv 2603.06194). Parts are normalised before
    they are mixed, as rewards of different spread should be (arXiv 2601.05242), so that a mix of 0
    is `terminal` and a mix of 1 is `turns`. With `credit` turns are centred and added (arXiv
    2606.15532).
    """
    advantages = np.repeat(normalised(rewards.shared)[:, None], MAX_TURNS, axis=1)
    if rewards.per_turn is None:
        return advantages
    if rewards.credit is not None:
        return advantages + rewards.credit * _by_turn(rewards, centred or normalised)
    return (1 - rewards.mix) * advantages + rewards.mix * _by_turn(rewards, normalised)


def _by_turn(rewards: Rewards, compared: Advantages) -> FloatArray:
    """Each reply's own advantage, shape (conversations, MAX_TURNS)."""
    per_turn = np.asarray(rewards.per_turn)
    own = np.stack([compared(column) for column in per_turn.T], axis=1)
    if not rewards.return_mix:
        return own
    answered_for = np.stack([compared(column) for column in returns(per_turn).T], axis=1)
    return blend(own, answered_for, rewards.return_mix)


def returns(per_turn: FloatArray) -> FloatArray:
    """The sum of each reply's part and all later ones, without discount; nan as in `per_turn`."""
    sums = np.nancumsum(per_turn[:, ::-1], axis=1)[:, ::-1]
    return np.where(np.isfinite(per_turn), sums, np.nan)


def blend(first: FloatArray, second: FloatArray, weight: float) -> FloatArray:
    """(1 - weight) first + weight second; `first` itself where the weight is 0."""
    return (1 - weight) * first + weight * second if weight else first
