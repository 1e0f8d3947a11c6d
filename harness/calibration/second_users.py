"""The second's users, also in a state that is described as the first's is."""

from __future__ import annotations

from harness.simulator.protocol import SupporterReply
from harness.simulator.second.memory import Memory
from harness.simulator.second.user import SecondSimulator
from harness.simulator.state import State


class SecondUsers(SecondSimulator):
    """Users who can be put into the state in which a reply in free wording is tried."""

    def rise_probability(self, state: Memory | State, reply: SupporterReply) -> float:
        """Return P(the emotion rises) if the user of `state` gets `reply`, exactly."""
        if isinstance(state, State):
            mood = float(state.emotion)
            state = Memory(
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
