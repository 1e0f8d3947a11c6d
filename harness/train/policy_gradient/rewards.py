"""A batch's rewards, and how conversation and turn rewards become one advantage per reply."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from harness.config.run import MAX_TURNS
from harness.train.policy_gradient.advantages import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Rewards:
    """A batch's rewards; nan for conversations without one and for turns that did not happen."""

    total: FloatArray
    """Each conversation's reward in the configured mode, shape (conversations,)."""
    shared: FloatArray
    """The part that all replies of a conversation share, shape (conversations,)."""
    per_turn: FloatArray | None
    """Each reply's own part, shape (conversations, MAX_TURNS), or with token values each token's,
    (conversations, tokens); None if rewards have no such part."""
    mix: float
    """Weight of `per_turn` against `shared`."""
    turn_sums: FloatArray | None = None
    """The sum of each conversation's `per_turn`, shape (conversations,); None without it."""
    replies: IntArray | None = None
    """Number of the policy's replies (with token values: tokens) in each conversation, shape
    (conversations,); None if each has MAX_TURNS."""
    credit: float | None = None
    """Coefficient of the turns' own advantages when they are added to the shared advantage; None if
    `mix` blends the two."""
    return_mix: float = 0.0
    """Weight of a reply's return (its own part and all later ones) against its own part alone."""
    qualities: FloatArray | None = None
    """Scores of each conversation on several qualities, shape (conversations, qualities); None if
    the algorithm does not need them."""

    @classmethod
    def of(
        cls,
        shared: FloatArray,
        per_turn: FloatArray | None = None,
        mix: float = 1.0,
        turn_sums: FloatArray | None = None,
    ) -> Self:
        """Return rewards whose total is the blend of `shared` and `turn_sums` by `mix`.

        Shapes are as above; `turn_sums` defaults to the sums of `per_turn`.
        """
        if per_turn is None:
            return cls(shared, shared, None, 0.0)
        if turn_sums is None:
            turn_sums = np.where(np.isfinite(shared), np.nansum(per_turn, axis=1), np.nan)
        return cls(blend(shared, turn_sums, mix), shared, per_turn, mix, turn_sums)


Advantages = Callable[[FloatArray], FloatArray]
"""Maps one column of rewards, shape (conversations,), nan for missing ones, to advantages."""


def by_reply(
    rewards: Rewards, normalised: Advantages, centred: Advantages | None = None
) -> FloatArray:
    """Return the advantage of each reply, shape (conversations, MAX_TURNS).

    `normalised` turns a column of rewards into advantages; `centred` does so without a division and
    defaults to `normalised`. A conversation's shared reward counts for all its replies. The own
    reward of a turn is compared with the same turn of the other conversations that reached it:
    turn-level advantages as in arXiv 2505.11821 (v1), which has exactly two turns. The effect of a
    reply on later turns is left to the shared part, except with `return_mix` (arXiv 2603.06194).
    The parts are normalised before they are mixed, as rewards of different spread should be (arXiv
    2601.05242): a mix of 0 is `terminal`, a mix of 1 is `turns`. With `credit` the turns are
    centred and added (arXiv 2606.15532).
    """
    advantages = np.repeat(normalised(rewards.shared)[:, None], MAX_TURNS, axis=1)
    if rewards.per_turn is None:
        return advantages
    if rewards.credit is not None:
        return advantages + rewards.credit * _by_turn(rewards, centred or normalised)
    return (1 - rewards.mix) * advantages + rewards.mix * _by_turn(rewards, normalised)


def _by_turn(rewards: Rewards, compare: Advantages) -> FloatArray:
    """Return each reply's advantage from `per_turn`, shape (conversations, MAX_TURNS)."""
    per_turn = np.asarray(rewards.per_turn)
    own = np.stack([compare(column) for column in per_turn.T], axis=1)
    if not rewards.return_mix:
        return own
    by_return = np.stack([compare(column) for column in returns(per_turn).T], axis=1)
    return blend(own, by_return, rewards.return_mix)


def returns(per_turn: FloatArray) -> FloatArray:
    """Return the undiscounted sum of each reply's part and all later ones; nan as in `per_turn`."""
    sums = np.nancumsum(per_turn[:, ::-1], axis=1)[:, ::-1]
    return np.where(np.isfinite(per_turn), sums, np.nan)


def blend(first: FloatArray, second: FloatArray, weight: float) -> FloatArray:
    """Return (1 - weight) first + weight second; `first` itself if the weight is 0."""
    return (1 - weight) * first + weight * second if weight else first
