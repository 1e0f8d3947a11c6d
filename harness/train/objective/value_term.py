"""A critic's loss as part of a language model's loss, for a critic that shares the model's trunk.

The critic is a linear map of hidden states with its own optimiser and rate. Here its loss, with the
map held fixed, sends a gradient back through the hidden states into the policy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from harness.train.policy_gradient.advantages import FloatArray, IntArray
from harness.train.policy_gradient.arrays import Array
from harness.train.policy_gradient.critic import value_losses


@dataclass(frozen=True, slots=True)
class ValueTerm:
    """The critic's loss over a batch's own tokens; arrays except `head` have shape (tokens,)."""

    head: FloatArray
    """The critic's weights with the bias last, shape (hidden + 1,)."""
    before: Array
    """The critic's value before each token, under the weights that drew the batch."""
    target: Array
    """The critic's target at each token; nan where it has no value or there is no reward."""
    clip: float | None
    """How far a value may move on one batch before its loss is clipped; None for no limit."""
    scale: float
    """The coefficient of the loss in the policy's loss, divided by the number of targets in the
    whole batch; the same on every rank and in every micro-batch."""

    def at(self, indices: IntArray) -> ValueTerm:
        """Return the term of the tokens at `indices`."""
        return replace(self, before=self.before[indices], target=self.target[indices])

    def backward(self, states: Tensor) -> Tensor:
        """Add the term's gradient to `states.grad` and return the term, a scalar.

        `states`: the hidden states that the tokens were drawn from, a leaf of shape
        (tokens, hidden). The critic normalises them to unit length.
        """
        indices = torch.from_numpy(np.flatnonzero(np.isfinite(self.target))).to(states.device)
        head, before, target = (
            torch.from_numpy(column).float().to(states.device)
            for column in (self.head, self.before, self.target)
        )
        with torch.autocast(states.device.type, enabled=False):
            selected = states[indices].float()
            values = (selected / selected.norm(dim=1, keepdim=True)) @ head[:-1] + head[-1]
            losses: Tensor = value_losses(values, before[indices], target[indices], self.clip)
            term = self.scale * losses.sum()
        term.backward()  # type: ignore[no-untyped-call]
        return term.detach()
