"""W-REINFORCE: a tenth of what went well, all of what went badly."""

import numpy as np
import torch

from harness.config.run import AlgorithmConfig
from harness.train.remedies.w_reinforce import WReinforce
from tests.train.made import stack_of, tokens_of
from tests.train.test_token_remedies import step


def test_value_and_slope_are_those_of_the_weighted_loss() -> None:
    given, stack = step(500), stack_of(AlgorithmConfig(), WReinforce())
    selection = stack.select(given)
    found = stack.loss(tokens_of(given.logp, given.logp, given.advantage), selection)
    x, advantage = torch.tensor(given.logp, requires_grad=True), torch.tensor(given.advantage)
    ratio = (x - x.detach()).exp()
    formula = -(torch.where(advantage > 0, 0.1, 1.0) * ratio * advantage)
    (slope,) = torch.autograd.grad(formula.sum(), x)
    np.testing.assert_allclose(found.loss.value, formula.detach())
    np.testing.assert_allclose(found.loss.slope, slope)
    np.testing.assert_array_equal(found.acted, given.advantage > 0)
    assert selection.chosen.mean() == (given.advantage > 0).mean()
