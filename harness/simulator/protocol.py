"""The protocol of every user simulator: from a conversation so far to the user's next turn.

A simulator has no mutable state. Its memory of a conversation travels in `UserTurn.state`, and
every draw is keyed by (seed, split, step, group, sample, turn). A conversation is therefore
independent of the other conversations in its batch, and the same after a resume.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from harness.utils.pending import Pending, ready
from harness.utils.record import record, replace_field

TRAIN, HELD_OUT = "train", "held_out"
"""The two splits of the personas."""


@record
class ConversationKey:
    """Identity of a conversation. The conversations of one group share the user and the opening."""

    seed: int
    step: int
    group: int
    sample: int
    split: str = TRAIN
    """Split of the personas: TRAIN or HELD_OUT."""


@record
class SupporterReply:
    """One reply of the policy, as the user receives it."""

    text: str
    cut: bool = False
    """True if the reply was truncated at the token limit."""
    start_nll: float | None = None
    """Mean negative log-likelihood per token, in nats, under the frozen start policy, for the
    record; None without a start policy.
    """
    start_z: float | None = None
    """The reply's surprise under the frozen start policy as a z-score against the start policy's
    own replies; None without a start policy.
    """


@record
class UserTurn:
    """One turn of the user: the text, and the user's emotion after it."""

    text: str
    """In the turn that ends a conversation: last words, which no policy reads, or empty."""
    emotion: int
    """Emotion after this turn, 0-100."""
    change: int | None
    """Change of emotion that the reply caused; None at the opening."""
    reported_emotion: float
    """Emotion as reported to the trainer, with difficulty.reward_noise and reward_flips; nan if the
    conversation failed."""
    ended: str | None
    """None while the conversation goes on, else success, left, cap or failed. After failed, the
    simulator could not answer and `why["fault"]` gives the reason."""
    strategies: tuple[str, ...]
    """Strategies recognised in the reply, in order; empty at the opening."""
    flagged: bool
    """True if the user judged that the reply is not language."""
    why: Mapping[str, float | str]
    """The appraisal, by part."""
    state: Any
    """The simulator's memory of the conversation; immutable."""

    def with_state(self, state: Any) -> UserTurn:
        """Return the same turn with another `state`."""
        return replace_field(self, "state", state)


@record
class IndexedState:
    """A user's state, with the index of its simulator, where several simulators are mixed."""

    simulator: int
    state: Any


def memory_of(turn: UserTurn) -> Any:
    """Return the turn's simulator state, without the `IndexedState` of mixed simulators."""
    return turn.state.state if isinstance(turn.state, IndexedState) else turn.state


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
    """A simulator that can answer in the background."""

    def ask(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> Pending[list[UserTurn]]:
        """Begin to answer and return at once. Raises as `answer` does, before any work starts."""
        ...


def ask(
    simulator: UserSimulator, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
) -> Pending[list[UserTurn]]:
    """Begin to answer each reply. A simulator that is not concurrent answers before this returns.

    Raises ValueError for a conversation that has ended.
    """
    if isinstance(simulator, ConcurrentSimulator):
        return simulator.ask(turns, replies)
    return ready(simulator.answer(turns, replies))
