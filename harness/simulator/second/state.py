"""The state of a conversation with the second user."""

from __future__ import annotations

from dataclasses import dataclass

from harness.simulator.protocol import ConversationKey
from harness.simulator.state import Disclosures, User


@dataclass(frozen=True, slots=True)
class SecondState:
    """A second user's memory of one conversation: the immutable value of UserTurn.state."""

    key: ConversationKey
    user: User
    emotion: int
    """The rounded mood."""
    mood: float
    """0 to 100."""
    expected: float
    """Expected mood after the last reply, before noise and clamp; initially the start mood."""
    reported: float
    """Initial emotion plus the reported changes, before clipping to 0-100."""
    disclosed: Disclosures
    turn: int = 0
    """Number of replies so far."""
    past: tuple[frozenset[str], ...] = ()
    """Acts of each reply so far."""
    spoken: frozenset[str] = frozenset()
    """Sentences the policy has said, in plain words."""
    hurt: bool = False
    """True if any reply was heard as cruel."""
