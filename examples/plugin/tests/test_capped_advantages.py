"""The remedy weighs tokens as its formula says."""

import numpy as np
import pytest
from harness_example.capped_advantages import CappedAdvantages

from harness.errors import ConfigError
from harness.train.policy_gradient.remedy_roles import StepTokens


def test_an_advantage_beyond_the_limit_counts_as_the_limit() -> None:
    advantage = np.array([-4.0, -1.0, 0.0, 0.5, 2.0])
    step = StepTokens(np.zeros(5), advantage, None, None, np.random.default_rng(1))
    weights = CappedAdvantages(limit=1.0).weigh(step)
    assert weights.weight * advantage == pytest.approx([-1.0, -1.0, 0.0, 0.5, 1.0])
    assert weights.chosen.tolist() == [True, False, False, False, True]


def test_a_limit_out_of_its_range_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"capped_advantages\.limit must lie between"):
        CappedAdvantages(limit=0.0)
