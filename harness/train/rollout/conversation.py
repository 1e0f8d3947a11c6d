"""Conversations between a policy and a simulated user, for every rung of policy.

A `Speaker` turns the users' words into replies; `rollout` runs all conversations of a batch turn
by turn and drops those that have ended. Several speakers can share a batch in waves: while the
users of one think, another speaks, and where an engine draws for all who ask at the time, they
speak at once. A rung keeps its own traces (acts, token ids, caches) and never sees emotion,
intention or anything else a person could not hear.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from harness.simulator.protocol import (
    ConversationKey,
    SupporterReply,
    UserSimulator,
    UserTurn,
    ask,
)
from harness.utils.pending import Awaited, Pending, first_ready, ready
from harness.utils.record import record


@record
class Exchange:
    """One reply of the policy and the user's answer to it."""

    reply: SupporterReply
    answer: UserTurn


@dataclass(frozen=True, slots=True)
class StartState:
    """A conversation up to the point where a policy takes it over."""

    key: ConversationKey
    """Key of the conversation that it was, whose user it has."""
    opening: UserTurn
    exchanges: tuple[Exchange, ...]

    @property
    def last_turn(self) -> UserTurn:
        """The user's last turn."""
        return self.exchanges[-1].answer if self.exchanges else self.opening

    @property
    def heard(self) -> list[str]:
        """The user's words before their last turn."""
        return [turn.text for turn in (self.opening, *(e.answer for e in self.exchanges))][:-1]

    def until(self, replies: int) -> StartState:
        """The same, cut after so many replies."""
        return replace(self, exchanges=self.exchanges[:replies])


@record
class Conversation:
    """One finished conversation."""

    key: ConversationKey
    opening: UserTurn
    """The turn that the policy first replies to."""
    exchanges: tuple[Exchange, ...]
    temperament: str | None = None
    """The user's, for the record; the policy sees neither this nor the level."""
    level: str | None = None
    """Name of the difficulty."""
    start: StartState | None = None
    """The state that the policy took over; None if it had the whole conversation."""

    @property
    def last(self) -> UserTurn:
        """The user's last turn."""
        return self.exchanges[-1].answer

    @property
    def before(self) -> tuple[Exchange, ...]:
        """The exchanges before the policy took over."""
        return self.start.exchanges if self.start else ()

    def until(self, replies: int) -> StartState:
        """The conversation before the policy's own reply number `replies`, from 0."""
        begun = self.start or StartState(self.key, self.opening, ())
        return replace(begun, exchanges=(*begun.exchanges, *self.exchanges[:replies]))

    @property
    def reward(self) -> float:
        """Final emotion as reported to the trainer / 100."""
        return self.last.reported_emotion / 100


class Speaker(Protocol):
    """A policy in conversation with a batch of users."""

    def begin(self, count: int) -> None:
        """Start `count` conversations, numbered from 0."""
        ...

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        """Reply in the conversations numbered `live`; `heard`: their users' last words."""
        ...


@runtime_checkable
class ConcurrentSpeaker(Speaker, Protocol):
    """A policy whose replies can take time, in which the caller may do other things."""

    def begin_reply(
        self, live: Sequence[int], heard: Sequence[str]
    ) -> Pending[list[SupporterReply]]:
        """Begin to reply as `speak` does; what is not Awaited has been said on return."""
        ...


def begin_reply(
    speaker: Speaker, live: Sequence[int], heard: Sequence[str]
) -> Pending[list[SupporterReply]]:
    """Begin to reply; a speaker that is not concurrent has spoken on return."""
    if isinstance(speaker, ConcurrentSpeaker):
        return speaker.begin_reply(live, heard)
    return ready(speaker.speak(live, heard))


class Successor(Speaker, Protocol):
    """A policy that can continue a conversation of another."""

    def take_over(self, starts: Sequence[StartState]) -> None:
        """Take in the conversations so far, one for each of `begin`'s."""
        ...


S = TypeVar("S", bound=Speaker, covariant=True)


@dataclass(frozen=True, slots=True)
class InWaves(Generic[S]):
    """Speakers that share a batch, each with a range of its conversations.

    The ranges are fixed by number, so that replies do not depend on how long a user takes.
    """

    speakers: Sequence[S]

    def shares(self, count: int) -> list[range]:
        """Each speaker's range of `count` conversations."""
        return shares(count, len(self.speakers))


def shares(count: int, waves: int) -> list[range]:
    """The ranges of `count` conversations that so many waves have."""
    return [range(count * n // waves, count * (n + 1) // waves) for n in range(waves)]


def rollout(
    simulator: UserSimulator,
    speaker: Speaker | InWaves[Speaker],
    keys: Sequence[ConversationKey],
) -> list[Conversation]:
    """Run one conversation per key to its end."""
    speakers = speaker if isinstance(speaker, InWaves) else InWaves([speaker])
    openings = simulator.open(keys)
    waves = []
    for one, mine in zip(speakers.speakers, speakers.shares(len(keys)), strict=True):
        one.begin(len(mine))
        waves.append(_Wave(one, [openings[i] for i in mine]))
    return _run(simulator, waves, keys, openings)


def take_over(
    simulator: UserSimulator,
    speaker: Successor | InWaves[Successor],
    keys: Sequence[ConversationKey],
    starts: Sequence[StartState],
) -> list[Conversation]:
    """Continue from `starts` to the end, one conversation per key; what follows is drawn anew."""
    speakers = speaker if isinstance(speaker, InWaves) else InWaves([speaker])
    openings = [_rekeyed(start.last_turn, key) for start, key in zip(starts, keys, strict=True)]
    waves = []
    for one, mine in zip(speakers.speakers, speakers.shares(len(keys)), strict=True):
        one.begin(len(mine))
        one.take_over([starts[i] for i in mine])
        waves.append(_Wave(one, [openings[i] for i in mine]))
    conversations = _run(simulator, waves, keys, openings)
    return [replace(c, start=start) for c, start in zip(conversations, starts, strict=True)]


def _rekeyed(turn: UserTurn, key: ConversationKey) -> UserTurn:
    """`turn` in conversation `key`: the random numbers of a state are keyed by its conversation."""
    return turn.with_state(replace(turn.state, key=key))


class _Wave:
    """The conversations of one speaker, all at the same turn."""

    def __init__(self, speaker: Speaker, openings: Sequence[UserTurn]) -> None:
        self._speaker, self._current = speaker, list(openings)
        self.exchanges: list[list[Exchange]] = [[] for _ in openings]
        self.live = list(range(len(openings)))

    def speak(self, simulator: UserSimulator) -> _Step:
        """Reply in each live conversation."""
        current = [self._current[i] for i in self.live]
        replies = begin_reply(self._speaker, self.live, [turn.text for turn in current])
        if isinstance(replies, Awaited):
            return _Step(replies, partial(self._ask, simulator, current))
        return self._ask(simulator, current, replies())

    def _ask(
        self,
        simulator: UserSimulator,
        current: Sequence[UserTurn],
        replies: Sequence[SupporterReply],
    ) -> _Step:
        """Put the replies to the users, whose turns are `current`."""
        return _Step(ask(simulator, current, replies), partial(self._hear, simulator, replies))

    def _hear(
        self,
        simulator: UserSimulator,
        replies: Sequence[SupporterReply],
        answers: Sequence[UserTurn],
    ) -> _Step | None:
        """Record the exchanges; a conversation whose user has ended it is live no more."""
        for i, reply, answer in zip(self.live, replies, answers, strict=True):
            self.exchanges[i].append(Exchange(reply, answer))
            self._current[i] = answer
        self.live = [i for i in self.live if self._current[i].ended is None]
        return self.speak(simulator) if self.live else None


@dataclass(frozen=True, slots=True)
class _Step:
    """What a wave waits for, replies or answers, and what it does with them: its next step."""

    pending: Pending[Any]
    go_on: Callable[[Any], _Step | None]


def _run(
    simulator: UserSimulator,
    waves: Sequence[_Wave],
    keys: Sequence[ConversationKey],
    openings: Sequence[UserTurn],
) -> list[Conversation]:
    """Let each wave speak as soon as its users have answered, and ask them as soon as it has.

    A wave has its own speaker, users, draws and conversations, so the order changes no result but
    by the rounding of an engine that draws for several waves at once.
    """
    waiting = [wave.speak(simulator) for wave in waves if wave.live]
    while waiting:
        step = waiting.pop(first_ready([one.pending for one in waiting]))
        following = step.go_on(step.pending())
        if following is not None:
            waiting.append(following)
    by_conversation = [exchanges for wave in waves for exchanges in wave.exchanges]
    return [
        Conversation(key, opening, tuple(exchanges))
        for key, opening, exchanges in zip(keys, openings, by_conversation, strict=True)
    ]
