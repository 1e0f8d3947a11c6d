"""A critic's loss as part of a language model's, where the two share the model's trunk.

The critic is one linear map of hidden states, and learns with an optimiser and a rate of its own.
Here its loss, with the map held, sends a gradient back through the hidden states into the policy.
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
    """The critic's loss over the own tokens of a batch; arrays have shape (tokens,) but `head`."""

    head: FloatArray
    """The critic's weights with the bias last, shape (hidden + 1,)."""
    before: Array
    """The critic's value before each token, under the weights that drew the batch."""
    target: Array
    """What it learns to expect there; nan where the critic values nothing, or nobody rewards."""
    clip: float | None
    """How far a value may move on one batch before its loss is clipped; None for no limit."""
    scale: float
    """The coefficient of the loss in the policy's, over the number of targets of the whole batch:
    of the same scale on every rank and in every micro-batch."""

    def at(self, places: IntArray) -> ValueTerm:
        """The term of the tokens at `places`."""
        return replace(self, before=self.before[places], target=self.target[places])

    def backward(self, states: Tensor) -> Tensor:
        """Add the term's gradient to `states.grad`; return the term, a number.

        `states`: the hidden states that the tokens were drawn from, a leaf of shape
        (tokens, hidden). The critic reads them at unit length.
        """
        at = torch.from_numpy(np.flatnonzero(np.isfinite(self.target))).to(states.device)
        head, before, target = (
            torch.from_numpy(column).float().to(states.device)
            for column in (self.head, self.before, self.target)
        )
        with torch.autocast(states.device.type, enabled=False):
            read = states[at].float()
            values = (read / read.norm(dim=1, keepdim=True)) @ head[:-1] + head[-1]
            losses: Tensor = value_losses(values, before[at], target[at], self.clip)
            term = self.scale * losses.sum()
        term.backward()  # type: ignore[no-untyped-call]
        return term.detach()
