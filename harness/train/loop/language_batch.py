"""A language model's batch in tokens, and the remedies' token selection before an update."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from harness.config.run import MAX_TURNS, RunConfig
from harness.train.loop.start import StartModels
from harness.train.metrics.entropy_splits import PlanningTokens
from harness.train.objective import remedy_stack
from harness.train.objective.loss_batch import LossSettings
from harness.train.objective.micro_batches import TokenLimit
from harness.train.objective.own_tokens import (
    OwnTokenValues,
    mismatched_ratios,
    own_entropies,
    own_mean_discriminants,
)
from harness.train.objective.remedy_stack import RemedyStack
from harness.train.objective.value_term import ValueTerm
from harness.train.policy_gradient.advantages import FloatArray, IntArray, partners
from harness.train.policy_gradient.losses import BoolArray
from harness.train.policy_gradient.remedy_roles import StepTokens
from harness.train.rollout.batch import REMEDY_STREAM, rng_of
from harness.train.rollout.learning_signal import denominator
from harness.train.rollout.speaker import TokenTrajectory


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """The conversations of a batch in tokens, with their advantages."""

    trajectories: list[TokenTrajectory]
    advantages: FloatArray
    """The advantage of each reply, shape (conversations, MAX_TURNS)."""
    touched: BoolArray
    """Conversations that were redrawn or penalised by a remedy, shape (conversations,)."""
    groups_drawn: int
    """Number of groups drawn in total to fill the batch."""
    has_reward: BoolArray
    """Conversations with a reward, shape (conversations,)."""
    spread: FloatArray | None = None
    """See `RemedyStack.spread`."""
    refined_from: IntArray | None = None
    """See `RefinedTokens.refined_from`."""
    token_advantages: FloatArray | None = None
    """See `LearningSignal.token_advantages`."""
    value: ValueTerm | None = None
    """See `LossSettings.value`."""

    def advantage_of_tokens(self) -> FloatArray:
        """Return the advantage of each own token, shape (tokens,), conversation by conversation."""
        if self.token_advantages is not None:
            return self.token_advantages
        conversation, turn = places_of(self.trajectories)
        return self.advantages[conversation, turn - 1]

    def advantage_lists(self) -> list[list[float]]:
        """Return the own tokens' advantages, one list per conversation, rounded to float32."""
        counts = [sum(turn > 0 for turn in t.row.turn) for t in self.trajectories]
        exact = self.advantage_of_tokens().astype(np.float32)
        return [row.tolist() for row in np.split(exact, np.cumsum(counts)[:-1])]


def places_of(trajectories: Sequence[TokenTrajectory]) -> tuple[IntArray, IntArray]:
    """Return the conversation, from 0, and the reply, from 1, of each own token."""
    turns = [[turn for turn in t.row.turn if turn] for t in trajectories]
    conversation = np.repeat(np.arange(len(turns)), [len(row) for row in turns])
    return conversation, np.array([turn for row in turns for turn in row], dtype=np.int64)


def ids_and_own(
    trajectories: Sequence[TokenTrajectory],
) -> tuple[list[list[int]], list[list[bool]]]:
    """Return the token ids of each conversation, and whether each token is the policy's own."""
    return [t.row.ids for t in trajectories], [t.row.own for t in trajectories]


def concatenate(parts: Sequence[torch.Tensor]) -> FloatArray:
    """Concatenate values of conversations' tokens in float64 on the CPU."""
    values: FloatArray = torch.cat(list(parts)).double().cpu().numpy()
    return values


def length_penalties(
    stack: RemedyStack, trajectories: Sequence[TokenTrajectory], config: RunConfig
) -> FloatArray | None:
    """Return penalties for the length of replies, shape (conversations, MAX_TURNS).

    Entries without a reply are nan. None if no remedy penalises length.
    """
    counts = np.array([np.bincount(t.row.turn, minlength=MAX_TURNS + 1)[1:] for t in trajectories])
    return stack.penalties(np.where(counts > 0, counts, np.nan), config.policy.max_turn_tokens)


def loss_settings(
    stack: RemedyStack,
    batch: TokenBatch,
    config: RunConfig,
    step: int,
    models: StartModels,
    planning: PlanningTokens,
    limit: TokenLimit | None = None,
) -> LossSettings:
    """Return the loss settings of step `step`, with the remedies' selection before the updates.

    Remedies select by the log-probabilities of the engine that drew the tokens. There is one more
    forward pass over the batch if a remedy needs entropies that the engine does not record, or
    `StepTokens.mean_discriminant`; and one each by the learner and the start model if the algorithm
    needs `StepTokens.mismatched_ratio`.
    """
    trajectories = batch.trajectories
    reading = _Reading(trajectories, config, models, limit)
    conversation, turn = places_of(trajectories)
    start = np.array([logp for t in trajectories for logp in t.start_logp])
    tokens = StepTokens(
        logp=np.array([logp for t in trajectories for logp in t.logp]),
        advantage=batch.advantage_of_tokens(),
        entropy_nats=reading.entropies() if stack.needs_entropies else None,
        start_logp=start if stack.needs_start else None,
        rng=rng_of(config, step, REMEDY_STREAM),
        touched=batch.touched[conversation],
        lost=None if batch.has_reward.all() else ~batch.has_reward[conversation],
        conversation=conversation,
        turn=turn,
        group=None if batch.spread is None else conversation // config.algorithm.group_size,
        spread=None if batch.spread is None else batch.spread[conversation],
        planning=(
            np.concatenate([planning.plans(t.row) for t in trajectories])
            if stack.needs_planning
            else None
        ),
        mean_discriminant=reading.mean_discriminants() if stack.needs_distribution else None,
        mismatched_ratio=reading.mismatched_ratios() if stack.needs_mismatched else None,
        is_refined=None if batch.refined_from is None else turn >= batch.refined_from[conversation],
        progress=remedy_stack.progress(config, step),
    )
    counted = max(1, int(batch.has_reward[conversation].sum()))
    total = denominator(stack.algorithm, config, counted)
    selection = stack.select(tokens)
    return LossSettings(stack, selection, config.policy.temperature, total, batch.value)


@dataclass(frozen=True, slots=True)
class _Reading:
    """Forward passes over a batch before its updates; values are per own token of the policy."""

    trajectories: Sequence[TokenTrajectory]
    config: RunConfig
    models: StartModels
    limit: TokenLimit | None

    def entropies(self) -> FloatArray:
        """Return the entropies that the engine recorded, or else compute them in a forward pass."""
        recorded = [h for t in self.trajectories for h in t.entropy_nats]
        return np.array(recorded) if recorded else self._by_learner(own_entropies)

    def mean_discriminants(self) -> FloatArray:
        """Return `StepTokens.mean_discriminant`."""
        return self._by_learner(own_mean_discriminants)

    def mismatched_ratios(self) -> FloatArray:
        """Return `StepTokens.mismatched_ratio`."""
        rows, temperature = [t.row for t in self.trajectories], self.config.policy.temperature
        others = partners(len(rows), self.config.algorithm.group_size).tolist()
        models = self.models.learner, self.models.judge
        return np.array(mismatched_ratios(models, rows, others, temperature, self.limit))

    def _by_learner(self, values: OwnTokenValues) -> FloatArray:
        ids, own = ids_and_own(self.trajectories)
        temperature = self.config.policy.temperature
        return concatenate(values(self.models.learner, ids, own, temperature, self.limit))
