"""A language model's step between its rollout and its row, and the row's metrics.

Metrics of conversations and tokens describe the batch as the policy drew it, before any refinement.
H is taken under the weights before the update.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from harness.config.run import RunConfig
from harness.policy.chat import Chat
from harness.policy.grammar import covers
from harness.train.loop.language_batch import TokenBatch, concatenate, places_of
from harness.train.loop.language_refinement import UnrefinedBatch
from harness.train.loop.step_checks import gap_metrics
from harness.train.metrics.conversation_metrics import conversation_metrics, learnt_from_metrics
from harness.train.metrics.entropy_splits import PlanningTokens, thinking_entropies
from harness.train.metrics.token_metrics import Metrics, TokenTrace, entropy_metrics
from harness.train.objective import remedy_stack
from harness.train.objective.loss_batch import LossResult, LossSettings, TokenScores
from harness.train.objective.remedy_stack import RemedyStack
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.rewards import Rewards
from harness.train.rollout.conversation import Conversation
from harness.train.rollout.learning_signal import CriticBatch
from harness.train.rollout.rewards import compute_rewards
from harness.train.rollout.speaker import TokenTrajectory

CLIP_RATIOS = "clip_ratio/low_mean", "clip_ratio/high_mean", "clip_ratio/region_mean"


@dataclass(slots=True)
class LanguageStepState:
    """A step from its rollout on; its updates fill in the rest."""

    step: int
    conversations: list[Conversation]
    batch: TokenBatch
    rewards: Rewards
    settings: LossSettings
    metrics: Metrics
    """The metrics that do not depend on the updates."""
    critic_batch: CriticBatch | None
    """The batch for the critic to learn from; None without a critic."""
    unrefined: UnrefinedBatch | None
    """The batch before its refinement; None if nothing was refined."""
    scored: list[TokenScores] = field(default_factory=list)
    """The batch's own tokens under the weights before the first update."""
    passes: list[LossResult] = field(default_factory=list)
    """One result per update; none within a round."""
    grad_norm: float | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    """Wall-clock seconds of each phase so far."""
    rollout_end: float = 0.0
    """time.monotonic() at the end of the rollout."""

    @property
    def drawn(self) -> list[Conversation]:
        """The conversations before any refinement."""
        return self.conversations if self.unrefined is None else self.unrefined.conversations

    def engine_logp(self) -> list[list[float]]:
        """Return the engine's log-probabilities of the own tokens, one list per conversation."""
        return [trajectory.logp for trajectory in self.batch.trajectories]


def trace_of(state: LanguageStepState) -> TokenTrace:
    """Return measures of the batch's own tokens, in order, under the weights before the update."""
    batch = state.batch
    return _trace(state.scored, batch.trajectories, batch.advantage_of_tokens())


def unrefined_trace(state: LanguageStepState, unrefined: UnrefinedBatch) -> TokenTrace:
    """Return measures of the tokens of the batch before its refinement, with advantages of 0."""
    scored = [unrefined.replaced.get(n, row) for n, row in enumerate(state.scored)]
    tokens = sum(len(row.logp) for row in scored)
    return _trace(scored, unrefined.trajectories, np.zeros(tokens))


def _trace(
    scored: Sequence[TokenScores], trajectories: Sequence[TokenTrajectory], advantage: FloatArray
) -> TokenTrace:
    conversation, turn = places_of(trajectories)
    return TokenTrace(
        entropy_nats=concatenate([row.entropy_nats for row in scored]),
        entropy_t1_nats=concatenate([row.entropy_t1_nats for row in scored]),
        logp=concatenate([row.logp for row in scored]),
        advantage=advantage,
        conversation=conversation,
        turn=turn,
    )


def row_of(
    state: LanguageStepState,
    stack: RemedyStack,
    config: RunConfig,
    chat: Chat,
    planning: PlanningTokens,
    corrected: bool,
) -> Metrics:
    """Return the metrics of a step whose updates are done; `corrected`: see `gap_metrics`.

    The spread of rewards and the covariance always describe the batch that is learnt from, the
    other metrics the batch as drawn.
    """
    conversations, trajectories = state.conversations, state.batch.trajectories
    rewards, trace, learnt_from = state.rewards.total, trace_of(state), Metrics()
    if (drawn := state.unrefined) is not None:
        learnt_from = learnt_from_metrics(rewards, trace, *stack.groups())
        conversations, trajectories = drawn.conversations, drawn.trajectories
        rewards = compute_rewards(conversations, config.reward).total
        trace = unrefined_trace(state, drawn)
    rows = [t.row for t in trajectories]
    engine_logp = np.concatenate([t.logp for t in trajectories])
    acted, drawn_groups = [p.acted_share for p in state.passes], state.batch.groups_drawn
    return {
        **conversation_metrics(conversations, rewards, *stack.groups()),
        **entropy_metrics(trace, config.algorithm.group_size),
        **thinking_entropies(trace, rows, chat.thought),
        **planning.entropies(trace, rows),
        "kl": divergence(trace, trajectories),
        **gap_metrics(trace.logp, engine_logp, corrected),
        "text/grammatical": _grammatical(conversations) if config.policy.kind == "tiny" else None,
        **learnt_from,
        **state.metrics,
        **update_metrics(state.passes),
        **remedy_stack.metrics(stack, state.settings.selection, acted, drawn_groups),
        "grad_norm": state.grad_norm,
    }


def _grammatical(conversations: Sequence[Conversation]) -> float:
    """Return the share of replies made of the phrase grammar's sentences."""
    return float(np.mean([covers(e.reply.text) for c in conversations for e in c.exchanges]))


def update_metrics(passes: Sequence[LossResult]) -> Metrics:
    """Return the clip ratios, as means over the step's updates; null if there were none."""
    if not passes:
        return dict.fromkeys(CLIP_RATIOS, None)
    low = float(np.mean([p.low_share for p in passes]))
    high = float(np.mean([p.high_share for p in passes]))
    return dict(zip(CLIP_RATIOS, (low, high, low + high), strict=True))


def divergence(trace: TokenTrace, trajectories: Sequence[TokenTrajectory]) -> float | None:
    """Return the mean log-ratio of the policy to the start policy on own tokens.

    None without a start policy.
    """
    start = np.concatenate([t.start_logp for t in trajectories])
    return float((trace.logp - start).mean()) if len(start) == len(trace.logp) else None
