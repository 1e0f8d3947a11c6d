"""The extensions keep what harness asks of each kind."""

import pytest
from harness_example.asked_for import AskedFor
from harness_example.capped_advantages import CappedAdvantages
from harness_example.last_rewards import LAST_REWARDS
from harness_example.pipes import PIPES
from harness_example.quick_relief import QuickRelief
from harness_example.ranked import Ranked

from harness.config.options import Options
from harness.config.run import DifficultyConfig
from harness.law.io.importers.rows import Importer
from harness.report.figures.figure_specs import FigureSpec
from harness.simulator.protocol import UserSimulator
from harness.testing.algorithm_contract import AlgorithmContract
from harness.testing.figure_contract import FigureContract
from harness.testing.importer_contract import ImporterContract
from harness.testing.options_contract import OptionsContract
from harness.testing.remedy_contract import RemedyContract
from harness.testing.reward_contract import RewardContract
from harness.testing.simulator_contract import SimulatorContract
from harness.train.policy_gradient.algorithm import Algorithm
from harness.train.policy_gradient.remedy_roles import Remedy
from harness.train.rollout.rewards import Reward


class TestRanked(AlgorithmContract):
    @pytest.fixture
    def algorithm(self) -> Algorithm:
        return Ranked()


class TestCappedAdvantages(RemedyContract):
    @pytest.fixture
    def remedy(self) -> Remedy:
        return CappedAdvantages()


class TestQuickRelief(RewardContract):
    @pytest.fixture(params=[QuickRelief(), QuickRelief(0.0), QuickRelief(cost=1.0)])
    def reward(self, request: pytest.FixtureRequest) -> Reward:
        return request.param


class TestAskedFor(SimulatorContract):
    @pytest.fixture(params=[1, 50])
    def simulator(self, request: pytest.FixtureRequest) -> UserSimulator:
        return AskedFor(warmth=request.param).users(DifficultyConfig())


class TestAskedForOptions(OptionsContract):
    @pytest.fixture
    def options(self) -> Options:
        return AskedFor()


class TestPipes(ImporterContract):
    @pytest.fixture
    def importer(self) -> Importer:
        return PIPES

    @pytest.fixture
    def log(self) -> tuple[str, bytes]:
        lines = [f"epoch {n} | H {2 / n:.4f} | R {1 - 1 / n:.4f}\n" for n in range(1, 31)]
        return "run.pipes", "".join(lines).encode()


class TestLastRewards(FigureContract):
    @pytest.fixture
    def figure(self) -> FigureSpec:
        return LAST_REWARDS
