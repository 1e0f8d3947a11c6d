"""Users who take their time: what they are told now is answered later, and others are told more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from harness.simulator.protocol import SupporterReply, UserSimulator, UserTurn

Answers = Callable[[], list[UserTurn]]
"""Waits for the answers that were asked for."""


@runtime_checkable
class Thinking(Protocol):
    """A simulator whose users think while other things are done."""

    def ask(self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]) -> Answers:
        """Have the users begin to think of their answers. Raises as `answer` does, at once."""
        ...


def ask(
    simulator: UserSimulator, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
) -> Answers:
    """The users' answers to come; a simulator that keeps nobody waiting has answered already."""
    if isinstance(simulator, Thinking):
        return simulator.ask(turns, replies)
    answers = simulator.answer(turns, replies)
    return lambda: answers
