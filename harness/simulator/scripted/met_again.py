"""Held-out users are met again at every evaluation, with the same draws.

Where the policy says what it said the time before, they answer as they did, so both their openings
and their answers are remembered. An answer is found by the very state that was replied to, which is
itself a remembered one unless something else was said before.
"""

from __future__ import annotations

from collections import OrderedDict

from harness.simulator.protocol import ConversationKey, SupporterReply, UserTurn
from harness.simulator.state import State

_Met = tuple[int, str, bool, float | None]


class MetAgain:
    """The openings and answers of the held-out users of one simulator, the last met of them."""

    def __init__(self, most: int = 2048) -> None:
        """`most`: openings and answers that are kept, each; an answer has about 2 kB."""
        self._openings: OrderedDict[ConversationKey, UserTurn] = OrderedDict()
        self._answers: OrderedDict[_Met, tuple[State, UserTurn]] = OrderedDict()
        self._most = most

    def opening(self, key: ConversationKey) -> UserTurn | None:
        """Return the opening of a conversation that was met before."""
        turn = self._openings.get(key)
        if turn is not None:
            self._openings.move_to_end(key)
        return turn

    def keep_opening(self, key: ConversationKey, turn: UserTurn) -> None:
        """Remember an opening."""
        self._openings[key] = turn
        if len(self._openings) > self._most:
            self._openings.popitem(last=False)

    def answer(self, state: State, reply: SupporterReply) -> UserTurn | None:
        """Return what the user of `state` answered when they got `reply` before."""
        met = _met(state, reply)
        known = self._answers.get(met)
        if known is None:
            return None
        self._answers.move_to_end(met)
        return known[1]

    def keep_answer(self, state: State, reply: SupporterReply, turn: UserTurn) -> None:
        """Remember an answer, and the state with it, so that no other takes its identity."""
        self._answers[_met(state, reply)] = state, turn
        if len(self._answers) > self._most:
            self._answers.popitem(last=False)


def _met(state: State, reply: SupporterReply) -> _Met:
    return id(state), reply.text, reply.cut, reply.start_z
