"""What a scripted user remembers of a conversation; travels in UserTurn.state, never changes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from harness.simulator.people import EVERYONE, Persona
from harness.simulator.protocol import ConversationKey


@dataclass(frozen=True, slots=True)
class User:
    """Who the user of a group is."""

    person: int
    """Index into EVERYONE."""
    intention: str
    temperament: str

    @property
    def persona(self) -> Persona:
        return EVERYONE[self.person]


@dataclass(frozen=True, slots=True)
class Told:
    """What the user has said of their matter."""

    facts: int = 0
    """The first so many facts have been told."""
    feelings: frozenset[str] = frozenset()
    fresh_fact: bool = False
    """The last turn told a new fact."""
    needs: tuple[str, ...] = ()
    """The lines that have borne on what they came for, in order."""


@dataclass(frozen=True, slots=True)
class State:
    """One conversation so far."""

    key: ConversationKey
    user: User
    emotion: int
    reported: float
    """Start plus reported changes, before clipping."""
    told: Told
    turn: int = 0
    trust: int = 0
    momentum: int = 0
    """1 after a reply that helped, -1 after one that did not, 0 at the opening."""
    heard: tuple[frozenset[str], ...] = ()
    """Strategies of each reply so far."""
    sentences: tuple[str, ...] = ()
    """Sentences the policy has said, in plain words, in order."""

    def with_told(self, told: Told) -> State:
        return replace(self, told=told)
