"""The tabular policy's updates on a batch, with the gradients it would have without remedies."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from harness.policy.tabular import TabularPolicy
from harness.train.ledger.moves import BatchUpdate
from harness.train.loop.tabular_batch import ActBatch, log_p_of_acts
from harness.train.metrics.token_metrics import Metrics
from harness.train.objective.remedy_stack import RemedyStack
from harness.train.objective.token_selection import RemedyLoss
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.losses import LossTokens


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """The policy after the updates on one batch, and measures of the updates."""

    policy: TabularPolicy
    gradient_norm: float
    """Norm of the last update's gradient."""
    low_share: float
    """Share of tokens clipped from below, mean over the updates."""
    high_share: float
    """Share of tokens clipped from above, mean over the updates."""
    acted: tuple[float, ...]
    """Share of tokens that a remedy acted on, in each update."""
    passes: tuple[BatchUpdate, ...]
    """The updates, for the ledger; empty if no update was made, as within a round. The other
    measures are then meaningless.
    """


def update(policy: TabularPolicy, batch: ActBatch, stack: RemedyStack, passes: int) -> UpdateResult:
    """Take `passes` gradient steps on the loss of the whole batch.

    Each step is the gradient times the learning rate. algorithm.max_grad_norm is not applied: it
    keeps one bad batch from spoiling Adam's moments, and there are none here. The gradient is
    bounded by the largest advantage, and clipping would shrink real runs and null controls by
    different factors.
    """
    acts, temperature = batch.acts, batch.temperature
    old_logp = log_p_of_acts(policy, acts, temperature)
    shares, norm = [], 0.0
    updates: list[BatchUpdate] = []
    for _ in range(passes):
        logp = log_p_of_acts(policy, acts, temperature)
        tokens = LossTokens(logp, old_logp, batch.advantage, acts.conversation, batch.conversations)
        loss = stack.loss(tokens, batch.selection)
        updates.append(_pass(policy, batch, stack, tokens, loss))
        gradient = updates[-1].by_log_p(acts.seen, acts.act, slice(None), temperature)
        if batch.selection.has_bonus:
            gradient -= _bonus_gradient(policy, batch)
        norm = float(np.sqrt((gradient**2).sum()))
        policy = replace(policy, table=policy.table - stack.config.learning_rate * gradient)
        masks = (loss.policy.low, loss.policy.high, loss.acted)
        shares.append([float(mask.mean()) for mask in masks])
    low, high, _ = np.mean(shares, axis=0).tolist()
    acted = tuple(acted for _, _, acted in shares)
    return UpdateResult(policy, norm, low, high, acted, tuple(updates))


def _bonus_gradient(policy: TabularPolicy, batch: ActBatch) -> FloatArray:
    """Return the gradient of the entropy bonus."""
    selection, temperature, observations = batch.selection, batch.temperature, batch.acts.seen
    if isinstance(selection.bonus, float):  # multiplied last to reproduce older runs exactly
        gradient = policy.entropy_gradient(observations, temperature, selection.counted)
        return selection.bonus / batch.denominator * gradient
    weights = selection.counted * selection.bonus / batch.denominator
    return policy.entropy_gradient(observations, temperature, weights)


def _pass(
    policy: TabularPolicy,
    batch: ActBatch,
    stack: RemedyStack,
    tokens: LossTokens,
    loss: RemedyLoss,
) -> BatchUpdate:
    """Return the update's slopes, with and without remedies."""
    selection, counted = batch.selection, batch.selection.counted
    by_entropy = counted * selection.bonus / batch.denominator if selection.has_bonus else None
    slope, sharpened = counted * loss.loss.slope / batch.denominator, None
    if selection.factor is not None:
        sharpened = counted * loss.policy.slope / batch.denominator, selection.factor
        slope = slope - sharpened[0]
    if not stack.remedies:
        return BatchUpdate(policy, slope, None, by_entropy)
    plain = counted * stack.plain_loss(tokens, selection).slope / batch.denominator
    return BatchUpdate(policy, slope, plain, by_entropy, sharpened)


def update_metrics(result: UpdateResult) -> Metrics:
    """Return the metrics of the updates on a batch; null if there were none."""
    columns: Metrics = {
        "grad_norm": result.gradient_norm,
        "clip_ratio/low_mean": result.low_share,
        "clip_ratio/high_mean": result.high_share,
        "clip_ratio/region_mean": result.low_share + result.high_share,
    }
    return columns if result.passes else dict.fromkeys(columns, None)
