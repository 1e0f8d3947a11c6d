"""Conversations between a policy and a simulated user, for every kind of policy.

A `Speaker` turns the users' words into replies. `rollout` runs all conversations of a batch turn
by turn and drops those that have ended. Several speakers can share a batch in waves: one speaks
while the users of another are answering, and several speak at once if the engine can draw for all
of them. Each kind of speaker keeps its own traces (acts, token ids, caches) and never sees emotion,
intention or anything else that a person could not hear.
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
from harness.utils.pending import AwaitableResult, Pending, first_ready, ready
from harness.utils.record import record


@record
class Exchange:
    """One reply of the policy and the user's answer to it."""

    reply: SupporterReply
    answer: UserTurn


@dataclass(frozen=True, slots=True)
class StartState:
    """A conversation up to the point from which a policy continues it."""

    key: ConversationKey
    """Key of the original conversation, which determines the user."""
    opening: UserTurn
    exchanges: tuple[Exchange, ...]

    @property
    def last_turn(self) -> UserTurn:
        """The user's last turn."""
        return self.exchanges[-1].answer if self.exchanges else self.opening

    @property
    def heard(self) -> list[str]:
        """The texts of the user's turns before the last one."""
        return [turn.text for turn in (self.opening, *(e.answer for e in self.exchanges))][:-1]

    def until(self, replies: int) -> StartState:
        """Return the state cut after `replies` replies."""
        return replace(self, exchanges=self.exchanges[:replies])


@record
class Conversation:
    """One finished conversation."""

    key: ConversationKey
    opening: UserTurn
    """The turn that the policy first replies to."""
    exchanges: tuple[Exchange, ...]
    temperament: str | None = None
    """The user's temperament, for the record; the policy sees neither this nor the level."""
    level: str | None = None
    """Name of the difficulty."""
    start: StartState | None = None
    """The state from which the policy continued; None if it held the whole conversation."""

    @property
    def last(self) -> UserTurn:
        """The user's last turn."""
        return self.exchanges[-1].answer

    @property
    def before(self) -> tuple[Exchange, ...]:
        """The exchanges before the policy's first reply."""
        return self.start.exchanges if self.start else ()

    def until(self, replies: int) -> StartState:
        """Return the conversation before the policy's own reply number `replies`, from 0."""
        start = self.start or StartState(self.key, self.opening, ())
        return replace(start, exchanges=(*start.exchanges, *self.exchanges[:replies]))

    @property
    def reward(self) -> float:
        """The final emotion as reported to the trainer, divided by 100."""
        return self.last.reported_emotion / 100


class Speaker(Protocol):
    """A policy in conversation with a batch of users."""

    def begin(self, count: int) -> None:
        """Start `count` conversations, numbered from 0."""
        ...

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        """Reply in the conversations numbered `live`; `heard`: their users' last turns."""
        ...


@runtime_checkable
class ConcurrentSpeaker(Speaker, Protocol):
    """A policy whose replies can be pending, so that the caller can do other work meanwhile."""

    def begin_reply(
        self, live: Sequence[int], heard: Sequence[str]
    ) -> Pending[list[SupporterReply]]:
        """Begin to reply as `speak` does; the result is ready on return unless it is awaitable."""
        ...


def begin_reply(
    speaker: Speaker, live: Sequence[int], heard: Sequence[str]
) -> Pending[list[SupporterReply]]:
    """Begin to reply; the replies of a speaker that is not concurrent are ready on return."""
    if isinstance(speaker, ConcurrentSpeaker):
        return speaker.begin_reply(live, heard)
    return ready(speaker.speak(live, heard))


class ContinuingSpeaker(Speaker, Protocol):
    """A policy that can continue conversations begun by another."""

    def take_over(self, starts: Sequence[StartState]) -> None:
        """Read the conversations so far, one for each conversation of `begin`."""
        ...


S = TypeVar("S", bound=Speaker, covariant=True)


@dataclass(frozen=True, slots=True)
class WaveSpeakers(Generic[S]):
    """Speakers that share a batch, each with a fixed range of its conversations.

    The ranges are fixed so that replies do not depend on how long a user takes.
    """

    speakers: Sequence[S]

    def shares(self, count: int) -> list[range]:
        """Return each speaker's range of `count` conversations."""
        return shares(count, len(self.speakers))


def shares(count: int, waves: int) -> list[range]:
    """Divide `count` conversations into `waves` ranges of nearly equal size."""
    return [range(count * n // waves, count * (n + 1) // waves) for n in range(waves)]


def rollout(
    simulator: UserSimulator,
    speaker: Speaker | WaveSpeakers[Speaker],
    keys: Sequence[ConversationKey],
) -> list[Conversation]:
    """Run one conversation per key to its end."""
    speakers = speaker if isinstance(speaker, WaveSpeakers) else WaveSpeakers([speaker])
    openings = simulator.open(keys)
    waves = []
    for wave_speaker, indices in zip(speakers.speakers, speakers.shares(len(keys)), strict=True):
        wave_speaker.begin(len(indices))
        waves.append(_Wave(wave_speaker, [openings[i] for i in indices]))
    return _run(simulator, waves, keys, openings)


def take_over(
    simulator: UserSimulator,
    speaker: ContinuingSpeaker | WaveSpeakers[ContinuingSpeaker],
    keys: Sequence[ConversationKey],
    starts: Sequence[StartState],
) -> list[Conversation]:
    """Continue from `starts` to the end, one conversation per key, with new random numbers."""
    speakers = speaker if isinstance(speaker, WaveSpeakers) else WaveSpeakers([speaker])
    openings = [_with_key(start.last_turn, key) for start, key in zip(starts, keys, strict=True)]
    waves = []
    for wave_speaker, indices in zip(speakers.speakers, speakers.shares(len(keys)), strict=True):
        wave_speaker.begin(len(indices))
        wave_speaker.take_over([starts[i] for i in indices])
        waves.append(_Wave(wave_speaker, [openings[i] for i in indices]))
    conversations = _run(simulator, waves, keys, openings)
    return [replace(c, start=start) for c, start in zip(conversations, starts, strict=True)]


def _with_key(turn: UserTurn, key: ConversationKey) -> UserTurn:
    """Return `turn` with its state in conversation `key`, which keys the user's random numbers."""
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
        if isinstance(replies, AwaitableResult):
            return _Step(replies, partial(self._ask, simulator, current))
        return self._ask(simulator, current, replies())

    def _ask(
        self,
        simulator: UserSimulator,
        current: Sequence[UserTurn],
        replies: Sequence[SupporterReply],
    ) -> _Step:
        """Send the replies to the users, whose turns are `current`."""
        return _Step(
            ask(simulator, current, replies), partial(self._record_answers, simulator, replies)
        )

    def _record_answers(
        self,
        simulator: UserSimulator,
        replies: Sequence[SupporterReply],
        answers: Sequence[UserTurn],
    ) -> _Step | None:
        """Record the exchanges, drop conversations that their users have ended, and speak again."""
        for i, reply, answer in zip(self.live, replies, answers, strict=True):
            self.exchanges[i].append(Exchange(reply, answer))
            self._current[i] = answer
        self.live = [i for i in self.live if self._current[i].ended is None]
        return self.speak(simulator) if self.live else None


@dataclass(frozen=True, slots=True)
class _Step:
    """The replies or answers that a wave waits for, and the function that handles them."""

    pending: Pending[Any]
    go_on: Callable[[Any], _Step | None]


def _run(
    simulator: UserSimulator,
    waves: Sequence[_Wave],
    keys: Sequence[ConversationKey],
    openings: Sequence[UserTurn],
) -> list[Conversation]:
    """Run the waves concurrently: each goes on as soon as its replies or answers are ready.

    A wave has its own speaker, users, random numbers and conversations. The order therefore changes
    no result, except by rounding in an engine that draws for several waves at once.
    """
    waiting = [wave.speak(simulator) for wave in waves if wave.live]
    while waiting:
        step = waiting.pop(first_ready([wave_step.pending for wave_step in waiting]))
        next_step = step.go_on(step.pending())
        if next_step is not None:
            waiting.append(next_step)
    by_conversation = [exchanges for wave in waves for exchanges in wave.exchanges]
    return [
        Conversation(key, opening, tuple(exchanges))
        for key, opening, exchanges in zip(keys, openings, by_conversation, strict=True)
    ]
