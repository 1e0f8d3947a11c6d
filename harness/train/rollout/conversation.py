"""Conversations between a policy and a simulated user, for every rung of policy.

A `Speaker` turns the users' words into replies; `hold` runs all conversations of a batch turn by
turn and drops those that have ended. Several speakers in waves share a batch: while the users of
one think, another speaks. The rung keeps its own traces (acts, token ids, caches) and
never sees emotion, intention or anything else a person could not hear.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

from harness.simulator.protocol import (
    ConversationKey,
    PendingAnswers,
    SupporterReply,
    UserSimulator,
    UserTurn,
    ask,
)

MAX_TURNS = 20
"""Replies that no conversation exceeds: the largest difficulty.turn_cap."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One reply of the policy and the user's answer to it."""

    reply: SupporterReply
    answer: UserTurn


@dataclass(frozen=True, slots=True)
class Start:
    """What went before a policy takes a conversation over."""

    key: ConversationKey
    """Of the conversation that it was; the user is that one's."""
    opening: UserTurn
    said: tuple[Exchange, ...]

    @property
    def now(self) -> UserTurn:
        """What the user said last."""
        return self.said[-1].answer if self.said else self.opening

    @property
    def heard(self) -> list[str]:
        """What the user said before that."""
        return [turn.text for turn in (self.opening, *(e.answer for e in self.said))][:-1]

    def until(self, replies: int) -> Start:
        """The same, no further than after so many replies."""
        return replace(self, said=self.said[:replies])


@dataclass(frozen=True, slots=True)
class Conversation:
    """One finished conversation."""

    key: ConversationKey
    opening: UserTurn
    """What the policy first replies to."""
    exchanges: tuple[Exchange, ...]
    temperament: str | None = None
    """Of the user, for the record; the policy is told neither this nor the level."""
    level: str | None = None
    """Name of the difficulty."""
    start: Start | None = None
    """What another had said before the policy took over."""

    @property
    def last(self) -> UserTurn:
        return self.exchanges[-1].answer

    @property
    def before(self) -> tuple[Exchange, ...]:
        """The exchanges before the policy took over."""
        return self.start.said if self.start else ()

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
        """Reply in the conversations numbered `live`; `heard` is what their users just said."""
        ...


class Successor(Speaker, Protocol):
    """A policy that can go on where another left off."""

    def take_over(self, starts: Sequence[Start]) -> None:
        """After `begin`: what was said in each conversation so far."""
        ...


S = TypeVar("S", bound=Speaker, covariant=True)


@dataclass(frozen=True, slots=True)
class InWaves(Generic[S]):
    """Speakers who share a batch, each with so many conversations in a row; fixed by number, so
    that what is said does not depend on how long a user thinks.
    """

    speakers: Sequence[S]

    def shares(self, count: int) -> list[range]:
        """Which of `count` conversations each has."""
        waves = len(self.speakers)
        return [range(count * n // waves, count * (n + 1) // waves) for n in range(waves)]


def hold(
    simulator: UserSimulator,
    speaker: Speaker | InWaves[Speaker],
    keys: Sequence[ConversationKey],
) -> list[Conversation]:
    """Hold one conversation per key to its end."""
    waves = speaker if isinstance(speaker, InWaves) else InWaves([speaker])
    openings = simulator.open(keys)
    held = []
    for one, mine in zip(waves.speakers, waves.shares(len(keys)), strict=True):
        one.begin(len(mine))
        held.append(_Wave(one, [openings[i] for i in mine]))
    return _talk(simulator, held, keys, openings)


def take_over(
    simulator: UserSimulator,
    speaker: Successor | InWaves[Successor],
    keys: Sequence[ConversationKey],
    starts: Sequence[Start],
) -> list[Conversation]:
    """Go on from `starts` to the end, one conversation per key; what follows is drawn anew."""
    waves = speaker if isinstance(speaker, InWaves) else InWaves([speaker])
    openings = [_rekeyed(start.now, key) for start, key in zip(starts, keys, strict=True)]
    going = []
    for one, mine in zip(waves.speakers, waves.shares(len(keys)), strict=True):
        one.begin(len(mine))
        one.take_over([starts[i] for i in mine])
        going.append(_Wave(one, [openings[i] for i in mine]))
    held = _talk(simulator, going, keys, openings)
    return [replace(c, start=start) for c, start in zip(held, starts, strict=True)]


def _rekeyed(turn: UserTurn, key: ConversationKey) -> UserTurn:
    """The moment of `turn` in conversation `key`: of a state, the key is what draws go by."""
    return turn.with_state(replace(turn.state, key=key))


class _Wave:
    """The conversations of one speaker, spoken in together."""

    def __init__(self, speaker: Speaker, openings: Sequence[UserTurn]) -> None:
        self._speaker, self._current = speaker, list(openings)
        self.exchanges: list[list[Exchange]] = [[] for _ in openings]
        self.live = list(range(len(openings)))

    def speak(self, simulator: UserSimulator) -> tuple[list[SupporterReply], PendingAnswers]:
        """What is said in each live conversation, and the answers to come."""
        now = [self._current[i] for i in self.live]
        replies = self._speaker.speak(self.live, [turn.text for turn in now])
        return replies, ask(simulator, now, replies)

    def hear(self, replies: Sequence[SupporterReply], answers: Sequence[UserTurn]) -> None:
        for i, reply, answer in zip(self.live, replies, answers, strict=True):
            self.exchanges[i].append(Exchange(reply, answer))
            self._current[i] = answer
        self.live = [i for i in self.live if self._current[i].ended is None]


def _talk(
    simulator: UserSimulator,
    waves: Sequence[_Wave],
    keys: Sequence[ConversationKey],
    openings: Sequence[UserTurn],
) -> list[Conversation]:
    """One wave after the other speaks, and is heard again in that order."""
    thinking = deque((wave, *wave.speak(simulator)) for wave in waves if wave.live)
    while thinking:
        wave, replies, answers = thinking.popleft()
        wave.hear(replies, answers())
        if wave.live:
            thinking.append((wave, *wave.speak(simulator)))
    exchanges = [said for wave in waves for said in wave.exchanges]
    return [
        Conversation(key, opening, tuple(said))
        for key, opening, said in zip(keys, openings, exchanges, strict=True)
    ]
