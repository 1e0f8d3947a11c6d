"""The rollout of a tabular run's step: conversations, rewards, advantages and their metrics.

It covers everything before the first update. The metrics describe the batch as the policy drew it,
before any refinement.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from harness.config.run import MAX_TURNS
from harness.policy.tabular import TabularPolicy
from harness.records.conversations import TurnRecord
from harness.train.loop.carried import CarriedState
from harness.train.loop.tabular_batch import (
    ActBatch,
    act_batch,
    actions_of,
    log_p_of_acts,
    trace_of,
)
from harness.train.metrics.conversation_metrics import conversation_metrics, learnt_from_metrics
from harness.train.metrics.token_metrics import Metrics, TokenTrace, entropy_metrics
from harness.train.metrics.turn_records import turn_records
from harness.train.objective import remedy_stack
from harness.train.objective.token_selection import TokenSelection
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.rewards import Rewards
from harness.train.rollout import curriculum
from harness.train.rollout.batch import (
    ROLLOUT_STREAM,
    FilledBatch,
    fill,
    rng_of,
    rollout_groups,
    stream_of,
)
from harness.train.rollout.conversation import Conversation
from harness.train.rollout.learning_signal import LearningSignal, learning_signal
from harness.train.rollout.rewards import compute_rewards
from harness.train.rollout.tabular_refinement import RefinedBatch, refine
from harness.train.rollout.tabular_speaker import Acts, TabularSpeaker, gather_acts


@dataclass(frozen=True, slots=True)
class TabularStepState:
    """A step before its updates."""

    step: int
    policy: TabularPolicy
    """The weights that held the conversations."""
    carried: CarriedState
    filled: FilledBatch
    drawn: Acts
    """The policy's acts in the conversations of `filled`."""
    refined: RefinedBatch
    """The batch to learn from: as drawn, except for the refined conversations."""
    rewards: Rewards
    """The rewards of `refined`. The attributes below describe `refined` too."""
    signal: LearningSignal
    trace: TokenTrace
    start_logp: FloatArray
    """Log-probability of each act under the start policy, shape (acts,)."""

    def batch(self) -> ActBatch:
        """Return the batch to learn from, with the remedies' selection."""
        return act_batch(
            self.carried.stack,
            self.carried.config,
            self.step,
            self.policy,
            self.refined.acts,
            self.trace,
            self.start_logp,
            self.rewards.total,
            self.filled.redrawn,
            self.refined.is_refined,
        )

    def carried_on(self, selection: TokenSelection, where: str) -> CarriedState:
        """Return the carried state for the next step; see `CarriedState.after_step`."""
        drawn, nats = self.filled.conversations, self.trace.mean_nats
        return self.carried.after_step(drawn, nats, selection, self.signal.critic_batch, where)

    def turn_records(self) -> list[TurnRecord]:
        """Return every turn of the batch to learn from, for conversations/."""
        learnt, advantages = self.refined.conversations, self.signal.advantages
        return turn_records(learnt, self.rewards.total, advantages, self.trace)

    def remedy_metrics(self, selection: TokenSelection, acted: Sequence[float]) -> Metrics:
        """Return the remedies' metrics; `acted`: share of acts that they change in each update."""
        stack = self.carried.stack
        return remedy_stack.metrics(stack, selection, acted, self.filled.groups_drawn)

    def metrics(self, start: TabularPolicy) -> Metrics:
        """Return the metrics of the batch as drawn; `start`: the start policy.

        If conversations were refined, `learnt_from_metrics` and the critic's metrics describe the
        refined batch.
        """
        config, groups = self.carried.config, self.carried.stack.groups()
        conversations, learnt_from = self.filled.conversations, Metrics()
        rewards, trace, start_logp = self.rewards.total, self.trace, self.start_logp
        if self.refined.is_refined is not None:
            learnt_from = learnt_from_metrics(rewards, trace, *groups)
            rewards = compute_rewards(conversations, config.reward).total
            no_advantages = np.zeros((len(conversations), MAX_TURNS))
            trace = trace_of(self.policy, self.drawn, no_advantages, config.policy.temperature)
            start_logp = log_p_of_acts(start, self.drawn, config.policy.temperature)
        return {
            **conversation_metrics(conversations, rewards, *groups),
            **entropy_metrics(trace, config.algorithm.group_size),
            **curriculum.metrics(self.carried.curriculum, conversations),
            "kl": float((trace.logp - start_logp).mean()),
            **learnt_from,
            **self.refined.metrics,
            **self.signal.metrics,
        }


def roll_out(
    policy: TabularPolicy,
    start: TabularPolicy,
    carried: CarriedState,
    step: int,
    before_turn: Callable[[], None] = lambda: None,
) -> TabularStepState:
    """Draw the conversations of `step` with `policy`; `start`: the start policy."""
    config, algorithm = carried.config, carried.stack.algorithm
    filled, drawn = filled_batch(policy, carried, step, before_turn)
    critique, conversations = algorithm.refines_by(), filled.conversations
    refined = refine(critique, policy, conversations, drawn, config, step, before_turn)
    acts, temperature = refined.acts, config.policy.temperature
    rewards = compute_rewards(refined.conversations, config.reward, algorithm.needs_qualities)
    actions = actions_of(acts)
    signal = learning_signal(algorithm, carried.critic, rewards, actions, config, step)
    trace = trace_of(policy, acts, signal.advantages, temperature)
    start_logp = log_p_of_acts(start, acts, temperature)
    parts = filled, drawn, refined, rewards, signal, trace, start_logp
    return TabularStepState(step, policy, carried, *parts)


def filled_batch(
    policy: TabularPolicy,
    carried: CarriedState,
    step: int,
    before_turn: Callable[[], None] = lambda: None,
) -> tuple[FilledBatch, Acts]:
    """Draw the conversations of `step` without refinement; return them and the policy's acts."""
    config, by_attempt = carried.config, list[Acts]()
    inner = carried.stack.algorithm.inner_step(step, config)
    temperament = inner.temperament if inner else None

    def rollout_once(attempt: int, groups: Sequence[int]) -> list[Conversation]:
        rng = rng_of(config, step, ROLLOUT_STREAM, stream_of(config, attempt, 0))
        speaker = TabularSpeaker(policy, config.policy.temperature, rng, before_turn)
        conversations = rollout_groups(carried.curriculum, speaker, step, groups, temperament)
        by_attempt.append(speaker.acts())
        return conversations

    filled = fill(rollout_once, config, carried.stack.most_tries)
    return filled, gather_acts(by_attempt, filled.source)
