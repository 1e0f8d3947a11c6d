"""Every remedy keeps the contract of the roles it plays."""

import pytest

from harness.config.run import RemedyConfig, RunConfig
from harness.testing.remedy_contract import RemedyContract
from harness.train.objective import registry
from harness.train.policy_gradient.remedy_roles import Remedy


@pytest.mark.parametrize("name", registry.remedy_names())
class TestRemedies(RemedyContract):
    @pytest.fixture
    def remedy(self, name: str) -> Remedy:
        config = RunConfig(remedy=RemedyConfig(name, {name: {}}))
        (remedy,) = registry.remedies_of(config)
        return remedy
