"""What a served user remembers of a conversation; travels in UserTurn.state, never changes."""

from __future__ import annotations

from dataclasses import dataclass

from harness.simulator.protocol import ConversationKey
from harness.simulator.served.cast import Guest
from harness.simulator.state import User

USER, SUPPORTER = "user", "supporter"


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation so far."""

    key: ConversationKey
    user: User | Guest
    emotion: int
    reported: float
    """Start plus reported changes, before clipping."""
    said: tuple[tuple[str, str], ...] = ()
    """(USER or SUPPORTER, text), as quoted in prompts; the opening first."""
    turn: int = 0
    """Replies so far."""
    fault: str | None = None
    """Kind of the fault that the opening met: the first reply then finds nobody."""
