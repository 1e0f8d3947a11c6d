"""The updates of the tabular policy on one batch: plain gradient steps on the treated loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.policy.tabular import TabularPolicy
from harness.train.algorithms.advantages import FloatArray
from harness.train.objective.remedy_stack import Marks, Treatment
from harness.train.rollout.tabular_speaker import Acts


@dataclass(frozen=True, slots=True)
class Update:
    """What came of the updates on one batch."""

    policy: TabularPolicy
    gradient_norm: float
    """Of the last update."""
    low_share: float
    """Of tokens clipped from below, mean over the updates."""
    high_share: float
    acted: tuple[float, ...]
    """Share of tokens that a remedy acted upon, in each update."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Acts to learn from, and how."""

    acts: Acts
    advantage: FloatArray
    """Of each act."""
    marks: Marks
    temperature: float
    denominator: float
    """What the summed loss is divided by."""


def update(policy: TabularPolicy, batch: Batch, treatment: Treatment, passes: int) -> Update:
    """`passes` gradient steps on the loss of the whole batch.

    The step is the plain gradient times the rate, and algorithm.max_grad_norm is not applied: it
    is there to keep one bad batch from spoiling Adam's moments, and there are none here. The
    gradient is bounded by the largest advantage, and a clip would shrink real runs and null
    controls by different factors.
    """
    acts, temperature = batch.acts, batch.temperature
    old = log_p_of_acts(policy, acts, temperature)
    shares, norm, counted = [], 0.0, batch.marks.counted
    for _ in range(passes):
        logp = log_p_of_acts(policy, acts, temperature)
        treated = treatment.loss(logp, old, batch.advantage, batch.marks)
        slope = counted * treated.loss.slope / batch.denominator
        gradient = policy.gradient(acts.seen, acts.act, slope, temperature)
        if batch.marks.bonus:
            by_entropy = policy.entropy_gradient(acts.seen, temperature, counted)
            gradient -= batch.marks.bonus / batch.denominator * by_entropy
        norm = float(np.sqrt((gradient**2).sum()))
        policy = TabularPolicy(policy.table - treatment.algorithm.learning_rate * gradient)
        masks = (treated.loss.low, treated.loss.high, treated.acted)
        shares.append([float(mask.mean()) for mask in masks])
    low, high, _ = np.mean(shares, axis=0).tolist()
    return Update(policy, norm, low, high, tuple(acted for _, _, acted in shares))


def log_p_of_acts(policy: TabularPolicy, acts: Acts, temperature: float) -> FloatArray:
    """Log-probability of each act that was chosen, shape (acts,)."""
    log_p = policy.log_probabilities(acts.seen, temperature)
    chosen: FloatArray = log_p[np.arange(len(acts.act)), acts.act]
    return chosen
