"""The second user, with support for states of the first."""

from __future__ import annotations

from harness.simulator.protocol import SupporterReply
from harness.simulator.second.state import SecondState
from harness.simulator.second.user import SecondSimulator
from harness.simulator.state import State


class SecondUsers(SecondSimulator):
    """The second user, which also accepts the states of free-wording contexts."""

    def rise_probability(self, state: SecondState | State, reply: SupporterReply) -> float:
        """Return the exact probability that `reply` raises the emotion of the user of `state`."""
        if isinstance(state, State):
            mood = float(state.emotion)
            state = SecondState(
                key=state.key,
                user=state.user,
                emotion=state.emotion,
                mood=mood,
                expected=mood,
                reported=state.reported,
                disclosed=state.disclosed,
                turn=state.turn,
            )
        return super().rise_probability(state, reply)
