"""The second's users, also in a state that is described as the first's is."""

from __future__ import annotations

from harness.simulator.protocol import SupporterReply
from harness.simulator.second.user import Memory, SecondSimulator
from harness.simulator.state import State


class SecondUsers(SecondSimulator):
    """Users who can be put into the state in which a reply in free wording is tried."""

    def rise_probability(self, state: Memory | State, reply: SupporterReply) -> float:
        """Return P(the emotion rises) if the user of `state` gets `reply`, exactly."""
        if isinstance(state, State):
            state = Memory(state.key, state.user, state.emotion, float(state.emotion),
                           state.reported, state.disclosed, state.turn)  # fmt: skip
        return super().rise_probability(state, reply)
