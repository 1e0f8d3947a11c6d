"""The tabular policy's batch of acts: measures of each act, and the remedies' token selection."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from harness.config.run import MAX_TURNS, RunConfig
from harness.policy.tabular import Observations, TabularPolicy
from harness.train.metrics.token_metrics import TokenTrace
from harness.train.objective import remedy_stack
from harness.train.objective.remedy_stack import RemedyStack
from harness.train.objective.token_selection import TokenSelection
from harness.train.policy_gradient.advantages import FloatArray, partners
from harness.train.policy_gradient.losses import BoolArray
from harness.train.policy_gradient.remedy_roles import StepTokens
from harness.train.rollout.batch import REMEDY_STREAM, rng_of
from harness.train.rollout.learning_signal import Actions, denominator
from harness.train.rollout.tabular_speaker import Acts


@dataclass(frozen=True, slots=True)
class ActBatch:
    """Acts to learn from; arrays have shape (acts,)."""

    acts: Acts
    advantage: FloatArray
    selection: TokenSelection
    temperature: float
    denominator: float
    """Divisor of the summed loss."""

    @property
    def conversations(self) -> int:
        """The number of conversations that the acts belong to."""
        return int(self.acts.conversation.max()) + 1


def act_batch(
    stack: RemedyStack,
    config: RunConfig,
    step: int,
    policy: TabularPolicy,
    acts: Acts,
    trace: TokenTrace,
    start_logp: FloatArray,
    rewards: FloatArray,
    redrawn: BoolArray | None = None,
    is_refined: BoolArray | None = None,
) -> ActBatch:
    """Return the acts of `policy` as a batch to learn from, with the remedies' selection.

    `rewards`: one per conversation, nan where there is none; `redrawn`: the mask of conversations
    from a redraw; `is_refined`: see `StepTokens`.
    """
    temperature, owner = config.policy.temperature, acts.conversation
    spread, lost = stack.spread(rewards), ~np.isfinite(rewards)[owner]
    tokens = StepTokens(
        logp=trace.logp,
        advantage=trace.advantage,
        entropy_nats=trace.entropy_nats,
        start_logp=start_logp,
        rng=rng_of(config, step, REMEDY_STREAM),
        touched=None if redrawn is None else redrawn[owner],
        lost=lost if lost.any() else None,
        conversation=trace.conversation,
        turn=trace.turn,
        group=None if spread is None else owner // config.algorithm.group_size,
        spread=None if spread is None else spread[owner],
        mean_discriminant=(
            mean_discriminants(policy, acts.seen, temperature) if stack.needs_distribution else None
        ),
        mismatched_ratio=(
            mismatched_ratios(policy, acts, temperature, config.algorithm.group_size)
            if stack.needs_mismatched
            else None
        ),
        is_refined=is_refined,
        progress=remedy_stack.progress(config, step),
    )
    total = denominator(stack.algorithm, config, max(1, int((~lost).sum())))
    return ActBatch(acts, trace.advantage, stack.select(tokens), temperature, total)


def actions_of(acts: Acts) -> Actions:
    """Return the acts as a critic's actions; the features are those of the observations."""
    return Actions(acts.conversation, acts.reply, acts.seen.features)


def trace_of(
    policy: TabularPolicy, acts: Acts, advantages: FloatArray, temperature: float
) -> TokenTrace:
    """Return measures of each act; `advantages`: per reply, shape (conversations, MAX_TURNS)."""
    return TokenTrace(
        entropy_nats=policy.entropy_nats(acts.seen, temperature),
        entropy_t1_nats=policy.entropy_nats(acts.seen, 1.0),
        logp=log_p_of_acts(policy, acts, temperature),
        advantage=advantages[acts.conversation, acts.reply],
        conversation=acts.conversation,
        turn=acts.reply + 1,
    )


def log_p_of_acts(policy: TabularPolicy, acts: Acts, temperature: float) -> FloatArray:
    """Return the log-probability of each act, shape (acts,)."""
    log_p = policy.log_probabilities(acts.seen, temperature)
    chosen: FloatArray = log_p[np.arange(len(acts.act)), acts.act]
    return chosen


def mismatched_ratios(
    policy: TabularPolicy, acts: Acts, temperature: float, group_size: int
) -> FloatArray:
    """Return `StepTokens.mismatched_ratio`; the start policy has a table of zeros."""
    start = replace(policy, table=np.zeros_like(policy.table))
    current, initial = (p.log_probabilities(acts.seen, temperature) for p in (policy, start))
    count = int(acts.conversation.max()) + 1
    index = np.full((count, MAX_TURNS), -1)
    index[acts.conversation, acts.reply] = np.arange(len(acts.act))
    other = index[partners(count, group_size)]
    ratio = np.where((index >= 0) & (other >= 0), (current - initial)[index, acts.act[other]], 0.0)
    ratios: FloatArray = ratio.sum(axis=1)
    return ratios


def mean_discriminants(
    policy: TabularPolicy, observations: Observations, temperature: float
) -> FloatArray:
    """Return the sum of p^2 (log p + H) over the strategies per observation, shape (n,)."""
    log_p = policy.log_probabilities(observations, temperature)
    p, entropy = np.exp(log_p), policy.entropy_nats(observations, temperature)
    mean: FloatArray = (p**2 * (log_p + entropy[:, None])).sum(axis=1)
    return mean
