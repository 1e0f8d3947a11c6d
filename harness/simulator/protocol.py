"""What every user simulator is: a function from a conversation so far to the user's next turn.

A simulator has no mutable state. What it must remember of a conversation travels in
`UserTurn.state`, and every draw is keyed by (seed, split, step, group, sample, turn), so that
a conversation is the same whichever others are held beside it, and after a resume.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

TRAIN, HELD_OUT = "train", "held_out"


@dataclass(frozen=True, slots=True)
class ConversationKey:
    """Which conversation this is. Those of one group share the user and the opening."""

    seed: int
    step: int
    group: int
    sample: int
    split: str = TRAIN
    """Which personas: train or held_out."""


@dataclass(frozen=True, slots=True)
class SupporterReply:
    """What the policy said, as the user gets it."""

    text: str
    cut: bool = False
    """Ended by the token limit, not by the policy."""
    start_nll: float | None = None
    """Mean negative log-likelihood a token under the frozen start policy; None without one."""


@dataclass(frozen=True, slots=True)
class UserTurn:
    """What the user said, and how it went for them."""

    text: str
    """Once the conversation has ended: last words, which no policy hears, or nothing."""
    emotion: int
    """0-100, after this turn."""
    change: int | None
    """Change of emotion by the reply; None at the opening."""
    reported_emotion: float
    """As reported to the trainer, with difficulty.reward_noise and reward_flips; nan if failed."""
    ended: str | None
    """None while the conversation goes on; success, left, cap, or failed: the simulator could not
    answer, and `why["fault"]` says how."""
    strategies: tuple[str, ...]
    """Recognised in the reply, in order; empty at the opening."""
    flagged: bool
    """The user took the reply for not being language."""
    why: Mapping[str, float | str]
    """The appraisal, by part."""
    state: Any
    """The simulator's own, immutable."""

    def with_state(self, state: Any) -> UserTurn:
        return replace(self, state=state)


class UserSimulator(Protocol):
    """One difficulty's users."""

    def open(self, keys: Sequence[ConversationKey]) -> list[UserTurn]:
        """The opening of each conversation."""
        ...

    def answer(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> list[UserTurn]:
        """The user's answer to each reply, given the turn it replies to.

        Raises ValueError for a conversation that has ended.
        """
        ...
