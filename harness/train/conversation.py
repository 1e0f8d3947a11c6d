"""Conversations between a policy and a simulated user, for every rung of policy.

A `Speaker` turns the users' words into replies; `hold` runs all conversations of a batch turn by
turn and drops those that have ended. The rung keeps its own traces (acts, token ids, caches) and
never sees emotion, intention or anything else a person could not hear.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from harness.simulator.protocol import ConversationKey, SupporterReply, UserSimulator, UserTurn
from harness.simulator_config import SIMULATOR_FAULTS

MAX_TURNS = 20
"""Replies that no conversation exceeds: the largest difficulty.turn_cap."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One reply of the policy and the user's answer to it."""

    reply: SupporterReply
    answer: UserTurn


@dataclass(frozen=True, slots=True)
class Conversation:
    """One finished conversation."""

    key: ConversationKey
    opening: UserTurn
    exchanges: tuple[Exchange, ...]
    temperament: str | None = None
    """Of the user, for the record; the policy is told neither this nor the level."""
    level: str | None = None
    """Name of the difficulty."""

    @property
    def last(self) -> UserTurn:
        return self.exchanges[-1].answer

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


def hold(
    simulator: UserSimulator,
    speaker: Speaker,
    keys: Sequence[ConversationKey],
) -> list[Conversation]:
    """Hold one conversation per key to its end."""
    openings = simulator.open(keys)
    current = list(openings)
    exchanges: list[list[Exchange]] = [[] for _ in keys]
    live = list(range(len(keys)))
    speaker.begin(len(keys))
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


def failures(conversations: Sequence[Conversation]) -> dict[str, float | None]:
    """`sim/failed/TYPE`: conversations lost to each fault."""
    kinds = Counter(c.last.why["fault"] for c in conversations if c.last.ended == "failed")
    return {f"sim/failed/{kind}": float(kinds[kind]) for kind in SIMULATOR_FAULTS}
