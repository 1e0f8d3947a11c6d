"""One step of a language model: its batch in tokens, its loss, and its evaluation.

An evaluation draws from generators of its own, seeded alike each time, and leaves the training's
alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from harness.config.run import MAX_TURNS, RunConfig
from harness.train.loop import language_probe
from harness.train.loop.language_refinement import AsDrawn
from harness.train.metrics import evaluate
from harness.train.metrics.entropy_splits import Planning
from harness.train.metrics.held_out import at_once
from harness.train.metrics.token_metrics import Metrics, TokenTrace
from harness.train.objective import remedy_stack
from harness.train.objective.loss_batch import LossResult, LossSettings, Scored
from harness.train.objective.micro_batches import TokenLimit
from harness.train.objective.own_tokens import (
    mismatched_ratios,
    own_entropies,
    own_mean_discriminants,
)
from harness.train.objective.remedy_stack import RemedyStack
from harness.train.objective.value_term import ValueTerm
from harness.train.policy_gradient.advantages import FloatArray, IntArray, partners
from harness.train.policy_gradient.losses import BoolArray
from harness.train.policy_gradient.remedy_roles import StepTokens
from harness.train.policy_gradient.rewards import Rewards
from harness.train.ranks.team import Team
from harness.train.rollout.batch import REMEDY_STREAM, rng_of
from harness.train.rollout.conversation import Conversation
from harness.train.rollout.learning_signal import denominator
from harness.train.rollout.speaker import TokenTrajectory


@dataclass(frozen=True, slots=True)
class TokenBatch:
    """A batch of conversations in tokens, with their advantages."""

    trajectories: list[TokenTrajectory]
    advantages: FloatArray
    """Of each reply, shape (conversations, MAX_TURNS)."""
    touched: BoolArray
    """Conversations that were redrawn or penalised by a remedy, shape (conversations,)."""
    groups_drawn: int
    """Groups drawn in all to fill the batch."""
    has_reward: BoolArray
    """Shape (conversations,)."""
    spread: FloatArray | None = None
    """See `RemedyStack.spread`."""
    again_from: IntArray | None = None
    """See `RefinedTokens.again_from`."""
    token_advantages: FloatArray | None = None
    """See `LearningSignal.token_advantages`."""
    value: ValueTerm | None = None
    """See `LossSettings.value`."""

    def advantage_of_tokens(self) -> FloatArray:
        """The advantage of each own token, shape (tokens,), conversation by conversation."""
        if self.token_advantages is not None:
            return self.token_advantages
        conversation, turn = places_of(self.trajectories)
        return self.advantages[conversation, turn - 1]

    def advantage_lists(self) -> list[list[float]]:
        """The same, a list a conversation, in the precision that the loss has them in."""
        counts = [sum(turn > 0 for turn in t.row.turn) for t in self.trajectories]
        exact = self.advantage_of_tokens().astype(np.float32)
        return [row.tolist() for row in np.split(exact, np.cumsum(counts)[:-1])]


@dataclass(slots=True)
class StepState:
    """A step between its rollout and its row."""

    step: int
    conversations: list[Conversation]
    batch: TokenBatch
    rewards: Rewards
    settings: LossSettings
    metrics: Metrics
    """The columns that do not depend on the updates."""
    as_drawn: AsDrawn | None = None
    """The batch before some of it was spoken again; None where nothing was."""
    passes: list[LossResult] = field(default_factory=list)
    """One for each update."""
    grad_norm: float | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    """Wall clock of each phase so far."""
    rollout_end: float = 0.0
    """time.monotonic() at the end of the rollout."""


def trace_of(state: StepState) -> TokenTrace:
    """The batch's own tokens, conversation by conversation, under the weights before the update."""
    batch = state.batch
    return _trace(state.passes[0].scored, batch.trajectories, batch.advantage_of_tokens())


def trace_as_drawn(state: StepState, as_drawn: AsDrawn) -> TokenTrace:
    """The same of the batch before some of it was spoken again; its advantages are nobody's."""
    scored = [as_drawn.replaced.get(n, row) for n, row in enumerate(state.passes[0].scored)]
    tokens = sum(len(row.logp) for row in scored)
    return _trace(scored, as_drawn.trajectories, np.zeros(tokens))


def _trace(
    scored: Sequence[Scored], trajectories: Sequence[TokenTrajectory], advantage: FloatArray
) -> TokenTrace:
    conversation, turn = places_of(trajectories)
    return TokenTrace(
        entropy_nats=joined([row.entropy_nats for row in scored]),
        entropy_t1_nats=joined([row.entropy_t1_nats for row in scored]),
        logp=joined([row.logp for row in scored]),
        advantage=advantage,
        conversation=conversation,
        turn=turn,
    )


def places_of(trajectories: Sequence[TokenTrajectory]) -> tuple[IntArray, IntArray]:
    """The conversation, from 0, and the reply, from 1, of each own token."""
    turns = [[turn for turn in t.row.turn if turn] for t in trajectories]
    conversation = np.repeat(np.arange(len(turns)), [len(row) for row in turns])
    return conversation, np.array([turn for row in turns for turn in row], dtype=np.int64)


def loss_settings(
    stack: RemedyStack,
    batch: TokenBatch,
    config: RunConfig,
    step: int,
    model: Any,
    planning: Planning,
    limit: TokenLimit | None = None,
    start_model: Any = None,
) -> LossSettings:
    """The loss of step `step`, with what the remedies choose before `model` is updated.

    They choose by the log-probabilities of the engine that drew the tokens. If a remedy needs
    entropies and the engine records none, this costs a forward pass over the batch; so does one
    that needs `StepTokens.mean_discriminant`. Where the algorithm needs
    `StepTokens.mismatched_ratio`, `model` and `start_model` read a batch once more each.
    """
    trajectories = batch.trajectories
    conversation, turn = places_of(trajectories)
    start = np.array([logp for t in trajectories for logp in t.start_logp])
    tokens = StepTokens(
        logp=np.array([logp for t in trajectories for logp in t.logp]),
        advantage=batch.advantage_of_tokens(),
        entropy_nats=(
            _entropies(trajectories, config, model, limit) if stack.needs_entropies else None
        ),
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
        mean_discriminant=(
            _mean_discriminants(trajectories, config, model, limit)
            if stack.needs_distribution
            else None
        ),
        mismatched_ratio=(
            _mismatched_ratios(trajectories, config, (model, start_model), limit)
            if stack.needs_mismatched
            else None
        ),
        spoken_again=None if batch.again_from is None else turn >= batch.again_from[conversation],
        progress=remedy_stack.progress(config, step),
    )
    counted = max(1, int(batch.has_reward[conversation].sum()))
    total = denominator(stack.algorithm, config, counted)
    selection = stack.select(tokens)
    return LossSettings(stack, selection, config.policy.temperature, total, batch.value)


def length_penalties(
    stack: RemedyStack, trajectories: Sequence[TokenTrajectory], config: RunConfig
) -> FloatArray | None:
    """Penalties for the length of replies, shape (conversations, MAX_TURNS), nan where no reply is.

    None if no remedy penalises length.
    """
    counts = np.array([np.bincount(t.row.turn, minlength=MAX_TURNS + 1)[1:] for t in trajectories])
    return stack.penalties(np.where(counts > 0, counts, np.nan), config.policy.max_turn_tokens)


def _entropies(
    trajectories: Sequence[TokenTrajectory],
    config: RunConfig,
    model: Any,
    limit: TokenLimit | None,
) -> FloatArray:
    """The entropy at each own token, as recorded by the engine, else by a forward pass."""
    recorded = [h for t in trajectories for h in t.entropy_nats]
    if recorded:
        return np.array(recorded)
    ids, own = _ids_and_own(trajectories)
    return joined(own_entropies(model, ids, own, config.policy.temperature, limit))


def _mean_discriminants(
    trajectories: Sequence[TokenTrajectory],
    config: RunConfig,
    model: Any,
    limit: TokenLimit | None,
) -> FloatArray:
    """See `StepTokens.mean_discriminant`."""
    ids, own = _ids_and_own(trajectories)
    return joined(own_mean_discriminants(model, ids, own, config.policy.temperature, limit))


def _mismatched_ratios(
    trajectories: Sequence[TokenTrajectory],
    config: RunConfig,
    models: tuple[Any, Any],
    limit: TokenLimit | None,
) -> FloatArray:
    """See `StepTokens.mismatched_ratio`."""
    rows, size = [t.row for t in trajectories], config.algorithm.group_size
    others = partners(len(rows), size).tolist()
    return np.array(mismatched_ratios(models, rows, others, config.policy.temperature, limit))


def _ids_and_own(
    trajectories: Sequence[TokenTrajectory],
) -> tuple[list[list[int]], list[list[bool]]]:
    """The tokens of each conversation, and which are the policy's own."""
    ids = [t.row.ids for t in trajectories]
    return ids, [[turn > 0 for turn in t.row.turn] for t in trajectories]


def joined(parts: Sequence[torch.Tensor]) -> FloatArray:
    joined: FloatArray = torch.cat(list(parts)).double().cpu().numpy()
    return joined


def evaluate_model(
    team: Team,
    watch: evaluate.Watch | None = None,
    size: int | None = None,
    keep: evaluate.Keep | None = None,
    timed: evaluate.Timed = nullcontext,
    probed: language_probe.Keep = language_probe.forget,
) -> Metrics:
    """eval/* and the probe of a model with its current weights.

    `size`: the conversations at a time, as many as a batch has if None; `keep` and `timed`: see
    `evaluate.evaluate`; `probed`: `keep` of `language_probe.probe`.
    """
    own = team.own
    size = at_once(own.config) if size is None else size
    metrics = evaluate.evaluate(own.config, team.meeting(size), watch, keep, timed)
    given = own.engine, own.learner, own.chat, own.config, size, timed, probed
    with team.alone():
        return {**metrics, **language_probe.probe(*given)}
