"""What a second user remembers of one conversation."""

from __future__ import annotations

from dataclasses import dataclass

from harness.simulator.protocol import ConversationKey
from harness.simulator.state import Disclosed, User


@dataclass(frozen=True, slots=True)
class Memory:
    """A second user's memory of one conversation; travels in UserTurn.state, never changes."""

    key: ConversationKey
    user: User
    emotion: int
    """The rounded mood."""
    mood: float
    """0 to 100."""
    expected: float
    """The mood that was to be expected after the last reply, before noise and clamp; the start at
    the opening."""
    reported: float
    """Start plus reported changes, before clipping."""
    disclosed: Disclosed
    turn: int = 0
    """Replies so far."""
    past: tuple[frozenset[str], ...] = ()
    """What each reply so far did."""
    spoken: frozenset[str] = frozenset()
    """Sentences the policy has said, in plain words."""
    hurt: bool = False
    """Some reply was heard as cruel."""
