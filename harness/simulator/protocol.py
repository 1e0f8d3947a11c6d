"""The protocol of every user simulator: from a conversation so far to the user's next turn.

A simulator has no mutable state. What it must remember of a conversation travels in
`UserTurn.state`, and every draw is keyed by (seed, split, step, group, sample, turn), so that
a conversation is the same whichever others are simulated beside it, and after a resume.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from harness.utils.record import changed, record

T = TypeVar("T")
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


PendingAnswers = Callable[[], list[UserTurn]]
"""Waits for answers that were asked for, and returns them."""
POLL_EVERY_S = 0.2
"""Seconds between looks for news while answers are waited for."""


@dataclass(frozen=True, slots=True)
class Awaited(Generic[T]):
    """A PendingAnswers that also says whether it would have to wait."""

    wait: Callable[[], list[T]]
    futures: tuple[Future[Any], ...]
    """All done once the answers are there."""
    poll: Callable[[], None]
    """Called now and then while others wait for it; raises what ends the run."""

    def __call__(self) -> list[T]:
        """Wait for the answers."""
        return self.wait()


def first_ready(pending: Sequence[PendingAnswers]) -> int:
    """Wait until answers of one of `pending` are there: its number, the least where several are.

    The first, at once, where a simulator does not tell.
    """
    known = [one for one in pending if isinstance(one, Awaited)]
    if len(known) < len(pending) or len(known) == 1:
        return 0
    while True:
        for number, one in enumerate(known):
            if all(future.done() for future in one.futures):
                return number
        left = [future for one in known for future in one.futures if not future.done()]
        wait(left, timeout=POLL_EVERY_S, return_when=FIRST_COMPLETED)
        for one in known:
            one.poll()


@runtime_checkable
class ConcurrentSimulator(Protocol):
    """A simulator whose answers take time, in which the caller may do other things."""

    def ask(self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]) -> PendingAnswers:
        """Begin to answer, and return at once. Raises as `answer` does, before anything begins."""
        ...


def ask(
    simulator: UserSimulator, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
) -> PendingAnswers:
    """Begin to answer each reply; a simulator that is not concurrent has answered on return.

    Raises ValueError for a conversation that has ended.
    """
    if isinstance(simulator, ConcurrentSimulator):
        return simulator.ask(turns, replies)
    answers = simulator.answer(turns, replies)
    return lambda: answers
