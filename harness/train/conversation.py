"""Conversations between a policy and a simulated user, for every rung of policy.

A `Speaker` turns the users' words into replies; `hold` runs all conversations of a batch turn by
turn and drops those that have ended. The rung keeps its own traces (acts, token ids, caches) and
never sees emotion, intention or anything else a person could not hear.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from harness.simulator.protocol import ConversationKey, SupporterReply, UserSimulator, UserTurn

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


def hold(
    simulator: UserSimulator,
    speaker: Speaker,
    keys: Sequence[ConversationKey],
) -> list[Conversation]:
    """Hold one conversation per key to its end."""
    openings = simulator.open(keys)
    speaker.begin(len(keys))
    return _talk(simulator, speaker, keys, openings)


def take_over(
    simulator: UserSimulator,
    speaker: Successor,
    keys: Sequence[ConversationKey],
    starts: Sequence[Start],
) -> list[Conversation]:
    """Go on from `starts` to the end, one conversation per key; what follows is drawn anew."""
    openings = [_rekeyed(start.now, key) for start, key in zip(starts, keys, strict=True)]
    speaker.begin(len(keys))
    speaker.take_over(starts)
    held = _talk(simulator, speaker, keys, openings)
    return [replace(c, start=start) for c, start in zip(held, starts, strict=True)]


def _rekeyed(turn: UserTurn, key: ConversationKey) -> UserTurn:
    """The moment of `turn` in conversation `key`: of a state, the key is what draws go by."""
    return replace(turn, state=replace(turn.state, key=key))


def _talk(
    simulator: UserSimulator,
    speaker: Speaker,
    keys: Sequence[ConversationKey],
    openings: Sequence[UserTurn],
) -> list[Conversation]:
    current = list(openings)
    exchanges: list[list[Exchange]] = [[] for _ in keys]
    live = list(range(len(keys)))
    while live:
        replies = speaker.speak(live, [current[i].text for i in live])
        answers = simulator.answer([current[i] for i in live], replies)
        for i, reply, answer in zip(live, replies, answers, strict=True):
            exchanges[i].append(Exchange(reply, answer))
            current[i] = answer
        live = [i for i in live if current[i].ended is None]
    return [
        Conversation(key, opening, tuple(said))
        for key, opening, said in zip(keys, openings, exchanges, strict=True)
    ]
