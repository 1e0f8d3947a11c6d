"""The effect of a language model's step on H, averaged over batches and measured at an evaluation.

The batch's groups are independent draws. Sums of their gradients in which the mean cancels
(`walk.contrasts`) are draws of a batch's noise; they are clipped and scaled by Adam like a batch's
gradient. The noise is the even part of the effect of such moves xi on H,

    [H(y + xi) + H(y - xi)] / 2 - H(y) = Hess H(xi, xi) / 2 + O(xi^4),

averaged over the draws, in which the first order cancels. The moves are as large as those of the
run, or larger if those change H by less than LEAST_CHANGE, to keep the difference far above
rounding errors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from harness.train.ledger import moves, walk
from harness.train.ledger.expansion import NOTHING, EntropyComponent
from harness.train.ledger.language_book import Entropies, EntropyPace, ProbeTokens
from harness.train.ledger.walk import AdamWalk, flat
from harness.train.objective.entropy_gradient import EntropyOfTokens, learning, moved
from harness.train.objective.language_loss import accumulate_gradient
from harness.train.objective.loss_batch import LossBatch, LossSettings
from harness.train.objective.micro_batches import TokenLimit
from harness.train.objective.token_selection import TokenSelection
from harness.train.policy_gradient.advantages import FloatArray

LEAST_CHANGE = 0.01
"""Smallest first-order change of H, in nats, by the moves along which H is differenced. Rounding of
a mean H in fp32 is about 1e-7; the even part of such a move is of the order of 1e-4."""
MOST_LARGER = 30.0
"""Largest factor by which a move is enlarged. If the draws happen not to change H to first order,
larger factors would let orders beyond the second count as noise."""


@dataclass(frozen=True, slots=True)
class WalkingModel:
    """A model before an update, at its current weights theta and at y, the weights that momentum
    would lead to without further gradients (`walk.py`).

    Methods move the weights and restore them bit by bit.
    """

    model: Any
    walk: AdamWalk
    temperature: float
    limit: TokenLimit

    def entropies(self, tokens: ProbeTokens) -> Entropies:
        """Return H at some tokens, under theta and y."""
        return Entropies(self._entropy(tokens).values(self.model), self.delivered(tokens))

    def delivered(self, tokens: ProbeTokens) -> float:
        """Return the mean H at some tokens under y."""
        with moved(self.model) as move:
            move(self.walk.offset())
            return float(self._entropy(tokens).values(self.model).mean())

    def slope(self, tokens: ProbeTokens) -> Tensor:
        """Return the gradient at y of the mean H at some tokens by the trainable weights, shape
        (weights,).
        """
        with moved(self.model) as move:
            move(self.walk.offset())
            return flat(self._entropy(tokens).gradient(self.model))

    def bends(self, tokens: ProbeTokens, delivered: float, draws: Iterable[Tensor]) -> FloatArray:
        """Return the even part of the effect of each draw on the mean H, in nats, shape (draws,).

        The moves start from y, where the mean H is `delivered`.
        """
        entropy, offset, bends = self._entropy(tokens), self.walk.offset(), []
        with moved(self.model) as move:
            for draw in draws:
                ends = []
                for sign in (1.0, -1.0):
                    move(offset + sign * draw)
                    ends.append(float(entropy.values(self.model).mean()))
                bends.append(sum(ends) / 2 - delivered)
        return np.array(bends)

    def _entropy(self, tokens: ProbeTokens) -> EntropyOfTokens:
        return EntropyOfTokens(tokens.ids, tokens.own, self.temperature, self.limit)


@dataclass(frozen=True, slots=True)
class GradientSums:
    """Sums of the gradients of a batch's units, as flat vectors of the trainable weights."""

    whole: Tensor
    draws: list[Tensor]
    """Draws of the noise, one for each row of `walk.contrasts`."""


def pace(
    walking: WalkingModel,
    tokens: ProbeTokens,
    entropies: Entropies,
    slope: Tensor,
    batch: LossBatch,
    settings: LossSettings,
    draws: int,
) -> EntropyPace:
    """Return the pace at an evaluation.

    `entropies` and `slope` are those of `tokens`. `draws`: the most draws of the noise; fewer
    groups give fewer.
    """
    gradient_sums, adam = sums(walking, batch, settings, draws), walking.walk
    noise = [adam.move(adam.clip(draw)) for draw in gradient_sums.draws]
    walk_variance = float(np.mean([dot(slope, draw) ** 2 for draw in noise]))
    factor = 1.0
    if walk_variance:
        factor = min(MOST_LARGER, max(1.0, LEAST_CHANGE / math.sqrt(walk_variance)))
    enlarged = (factor * draw for draw in noise)
    bends = walking.bends(tokens, entropies.delivered, enlarged) / factor**2
    remedy = NOTHING.remedy
    if settings.stack.remedies:
        plain = sums(walking, batch, without_remedies(settings), draws)
        pairs = [
            (gradient_sums.whole, plain.whole),
            *zip(gradient_sums.draws, plain.draws, strict=True),
        ]
        first, *others = (dot(slope, _move_difference(adam, *pair)) for pair in pairs)
        remedy = EntropyComponent(first, float(np.mean(np.square(others))))
    return EntropyPace(EntropyComponent.of_mean(bends), walk_variance, remedy)


def sums(
    walking: WalkingModel, batch: LossBatch, settings: LossSettings, draws: int
) -> GradientSums:
    """Return the gradient of a batch and draws of its noise.

    The weights' `grad` must be None before, and is None afterwards.
    """
    unit = moves.units(len(batch.ids), settings.stack.config.group_size)
    rows = walk.contrasts(int(unit.max()) + 1, draws)

    def gradient(number: int) -> Tensor:
        members = np.flatnonzero(unit == number).tolist()
        unit_settings = settings.some(batch.places(members))
        accumulate_gradient(walking.model, batch.some(members), unit_settings, walking.limit)
        return take_gradient(walking.model)

    whole, *noise = walk.weighted_sums(np.vstack([np.ones(rows.shape[1]), rows]), gradient)
    return GradientSums(whole, noise)


def without_remedies(settings: LossSettings) -> LossSettings:
    """Return the settings of the algorithm without remedies, for the same batch and advantages."""
    selection = settings.selection
    none = np.zeros(len(selection.weight), bool)
    plain = TokenSelection(
        np.ones(len(none)), none, none, (), lost=selection.lost, progress=selection.progress,
        prepared=selection.prepared,
    )  # fmt: skip
    stack = replace(settings.stack, remedies=(), states={})
    return replace(settings, stack=stack, selection=plain)


def take_gradient(model: Any) -> Tensor:
    """Return the weights' `grad` as one vector, and set it to None."""
    gradient = flat(gradients(model))
    for weight in model.parameters():
        weight.grad = None
    return gradient


def gradients(model: Any) -> list[Tensor]:
    """Return the `grad` of each trainable weight; zeros if it is None."""
    return [torch.zeros_like(w) if w.grad is None else w.grad for w in learning(model)]


def dot(one: Tensor, other: Tensor) -> float:
    """Return the inner product in double precision."""
    return float(one.double() @ other.double())


def _move_difference(adam: AdamWalk, taken: Tensor, plain: Tensor) -> Tensor:
    """Return the difference between the moves by two gradients."""
    return adam.move(adam.clip(taken)) - adam.move(adam.clip(plain))
