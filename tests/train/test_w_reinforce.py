"""W-REINFORCE: a tenth of what went well, all of what went badly."""

import numpy as np
import torch

from harness.config.run import AlgorithmConfig
from harness.train.remedies.w_reinforce import WReinforce
from tests.train.made import stack_of, tokens_of
from tests.train.made_remedies import step


def test_value_and_slope_are_those_of_the_weighted_loss() -> None:
    tokens, stack = step(500), stack_of(AlgorithmConfig(), WReinforce())
    selection = stack.select(tokens)
    result = stack.loss(tokens_of(tokens.logp, tokens.logp, tokens.advantage), selection)
    x, advantage = torch.tensor(tokens.logp, requires_grad=True), torch.tensor(tokens.advantage)
    ratio = (x - x.detach()).exp()
    formula = -(torch.where(advantage > 0, 0.1, 1.0) * ratio * advantage)
    (slope,) = torch.autograd.grad(formula.sum(), x)
    np.testing.assert_allclose(result.loss.value, formula.detach())
    np.testing.assert_allclose(result.loss.slope, slope)
    np.testing.assert_array_equal(result.acted, tokens.advantage > 0)
    assert selection.chosen.mean() == (tokens.advantage > 0).mean()
