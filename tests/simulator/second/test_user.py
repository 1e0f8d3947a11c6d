"""The second user keeps the contract of every simulator."""

import hashlib

import pytest

from harness.calibration import population
from harness.calibration.users import SECOND
from harness.simulator import second
from harness.simulator.protocol import UserSimulator
from harness.simulator.second.user import SecondSimulator
from harness.testing.simulator_contract import SimulatorContract
from tests.calibration.levels import LEVELS

CONVERSATIONS = {1: "67bd5a0d796e6ea3", 2: "612e1b1ca5fc9773"}
"""Digest of what users say and feel, by version of the second simulator."""


class TestSecondSimulator(SimulatorContract):
    @pytest.fixture
    def simulator(self) -> UserSimulator:
        return SecondSimulator(LEVELS["medium"])


def test_users_say_and_feel_what_those_of_their_version_did() -> None:
    digest = hashlib.sha256()
    for level in LEVELS.values():
        for name in ("attentive", "dismissive", "random"):
            for turns in population.converse_with_reference(level, name, 6, SECOND).turns:
                for turn in turns:
                    shown = (turn.text, turn.emotion, turn.change, turn.ended)
                    digest.update(repr(shown).encode())
    due = "users have changed: raise second.VERSION, run `make cards`, and add the new digest"
    assert digest.hexdigest()[:16] == CONVERSATIONS.get(second.VERSION), due
