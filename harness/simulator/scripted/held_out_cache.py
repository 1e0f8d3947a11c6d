"""A cache of the turns of held-out users, who return at every evaluation with the same draws.

As long as the policy repeats its replies, the users repeat their answers, so openings and answers
are cached. The key of an answer is the identity of the state replied to: while the policy repeats
itself, that state comes from the cache too.
"""

from __future__ import annotations

from collections import OrderedDict

from harness.simulator.protocol import ConversationKey, SupporterReply, UserTurn
from harness.simulator.state import State

_AnswerKey = tuple[int, str, bool, float | None]


class HeldOutCache:
    """An LRU cache of the openings and answers of one simulator's held-out users."""

    def __init__(self, most: int = 2048) -> None:
        """`most` is the number of openings, and of answers, to keep; an answer takes about 2 kB."""
        self._openings: OrderedDict[ConversationKey, UserTurn] = OrderedDict()
        self._answers: OrderedDict[_AnswerKey, tuple[State, UserTurn]] = OrderedDict()
        self._most = most

    def opening(self, key: ConversationKey) -> UserTurn | None:
        """Return the cached opening of a conversation, or None."""
        turn = self._openings.get(key)
        if turn is not None:
            self._openings.move_to_end(key)
        return turn

    def keep_opening(self, key: ConversationKey, turn: UserTurn) -> None:
        """Cache an opening."""
        self._openings[key] = turn
        if len(self._openings) > self._most:
            self._openings.popitem(last=False)

    def answer(self, state: State, reply: SupporterReply) -> UserTurn | None:
        """Return the cached answer of the user of `state` to `reply`, or None."""
        key = _answer_key(state, reply)
        entry = self._answers.get(key)
        if entry is None:
            return None
        self._answers.move_to_end(key)
        return entry[1]

    def keep_answer(self, state: State, reply: SupporterReply, turn: UserTurn) -> None:
        """Cache an answer. The state is kept with it so that its `id` cannot be reused."""
        self._answers[_answer_key(state, reply)] = state, turn
        if len(self._answers) > self._most:
            self._answers.popitem(last=False)


def _answer_key(state: State, reply: SupporterReply) -> _AnswerKey:
    return id(state), reply.text, reply.cut, reply.start_z
