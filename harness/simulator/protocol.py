"""The protocol of every user simulator: from a conversation so far to the user's next turn.

A simulator has no mutable state. What it must remember of a conversation travels in
`UserTurn.state`, and every draw is keyed by (seed, split, step, group, sample, turn), so that
a conversation is the same whichever others are simulated beside it, and after a resume.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from harness.utils.pending import Pending, ready
from harness.utils.record import changed, record

TRAIN, HELD_OUT = "train", "held_out"
"""The two sides of the split of personas."""


@record
class ConversationKey:
    """Identity of a conversation. Those of one group share the user and the opening."""

    seed: int
    step: int
    group: int
    sample: int
    split: str = TRAIN
    """Side of the personas: TRAIN or HELD_OUT."""


@record
class SupporterReply:
    """One reply of the policy, as the user gets it."""

    text: str
    cut: bool = False
    """Ended by the token limit, not by the policy."""
    start_nll: float | None = None
    """Mean negative log-likelihood a token, in nats, under the frozen start policy, for the record;
    None without one.
    """
    start_z: float | None = None
    """Standard deviations by which the reply surprises the frozen start policy more than its own
    replies do; None without one.
    """


@record
class UserTurn:
    """One turn of the user: the text, and the emotion that it leaves them with."""

    text: str
    """Once the conversation has ended: last words, which no policy reads, or nothing."""
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
        """Return the same turn with another `state`."""
        return changed(self, "state", state)


@record
class Owned:
    """The state of a user who is met beside users of other simulators: whose it is, and it."""

    simulator: int
    state: Any


def memory_of(turn: UserTurn) -> Any:
    """Return what the turn's own simulator remembers, whoever is met beside it."""
    return turn.state.state if isinstance(turn.state, Owned) else turn.state


class UserSimulator(Protocol):
    """The users of one difficulty level."""

    def open(self, keys: Sequence[ConversationKey]) -> list[UserTurn]:
        """Return the opening of each conversation."""
        ...

    def answer(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> list[UserTurn]:
        """Return the user's answer to each reply, given the turn it replies to.

        Raises ValueError for a conversation that has ended.
        """
        ...


@runtime_checkable
class ConcurrentSimulator(Protocol):
    """A simulator whose answers take time, in which the caller may do other things."""

    def ask(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> Pending[list[UserTurn]]:
        """Begin to answer, and return at once. Raises as `answer` does, before anything begins."""
        ...


def ask(
    simulator: UserSimulator, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
) -> Pending[list[UserTurn]]:
    """Begin to answer each reply; a simulator that is not concurrent has answered on return.

    Raises ValueError for a conversation that has ended.
    """
    if isinstance(simulator, ConcurrentSimulator):
        return simulator.ask(turns, replies)
    return ready(simulator.answer(turns, replies))
