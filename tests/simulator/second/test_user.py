"""The second user keeps the contract of every simulator."""

import pytest

from harness.simulator.protocol import UserSimulator
from harness.simulator.second.user import SecondSimulator
from harness.testing.simulator_contract import SimulatorContract
from tests.calibration.levels import LEVELS


@pytest.mark.parametrize("level", LEVELS)
class TestSecondSimulator(SimulatorContract):
    @pytest.fixture
    def simulator(self, level: str) -> UserSimulator:
        return SecondSimulator(LEVELS[level])
