"""The training loop of the tabular policy, in numpy, with the losses that language models have.

No random generator lives longer than a step: each batch and each evaluation draws from one of its
own, seeded by the run's seed and the step. So a checkpoint needs no random state, only the table of
logits, the curriculum, the state of remedies, critic and ledger, and what an algorithm with rounds
has kept; and a resumed run is equal to one that was never interrupted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from harness.config.run import MAX_TURNS, RunConfig
from harness.errors import DivergedError
from harness.policy.tabular import TabularPolicy
from harness.simulator.scripted import kept_replies
from harness.train.ledger import book
from harness.train.ledger.book import Ledger
from harness.train.loop import kept_conversations, slow_weights, tabular_ledger
from harness.train.loop.adaptation import adaptation
from harness.train.loop.kept_conversations import KeptConversations
from harness.train.loop.session import Session
from harness.train.loop.step_checks import RemedyWatch, SignalWatch
from harness.train.loop.tabular_step import (
    ActBatch,
    UpdateResult,
    act_batch,
    actions_of,
    evaluated,
    log_p_of_acts,
    trace_of,
    update_metrics,
)
from harness.train.metrics import card
from harness.train.metrics.conversation_metrics import conversation_metrics, learnt_from_metrics
from harness.train.metrics.token_metrics import Metrics, TokenTrace, entropy_metrics
from harness.train.metrics.turn_records import turn_records
from harness.train.objective import registry, remedy_stack, remedy_state
from harness.train.objective.remedy_stack import RemedyStack
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.critic import Critic
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
from harness.train.rollout.curriculum import CurriculumState
from harness.train.rollout.learning_signal import learning_signal
from harness.train.rollout.rewards import compute_rewards
from harness.train.rollout.tabular_refinement import RefinedBatch, refine
from harness.train.rollout.tabular_speaker import Acts, TabularSpeaker, gathered

FILE = "table.npy"


@dataclass(frozen=True, slots=True)
class TrainState:
    """A run between two steps: what its checkpoints hold."""

    policy: TabularPolicy
    """The weights that talk and learn."""
    curriculum: CurriculumState
    stack: RemedyStack
    critic: Critic | None
    ledger: Ledger
    slow: TabularPolicy | None = None
    """The slow weights; None where the algorithm has no outer loop."""
    kept: KeptConversations | None = None
    """Of all rounds; None where the algorithm has no rounds."""

    @property
    def evaluated(self) -> TabularPolicy:
        """The run's policy: what evaluations meet users with."""
        return self.slow or self.policy


def train(session: Session) -> None:
    """Train from the checkpoint, or from the start, to the last step."""
    config, saved = session.config, session.saved
    start = start_policy(config)
    policy = load(saved, start) if saved else start
    stack = remedy_state.begin(config, saved)
    slow = policy if stack.algorithm.inner_step(1, config) else None
    if slow and saved:
        policy = slow_weights.fast_weights(saved, slow)
    critic, ledger = stack.critic(saved), book.load(saved)
    kept = kept_conversations.load(saved) if stack.algorithm.refit() else None
    state = TrainState(policy, curriculum.begin(config, saved), stack, critic, ledger, slow, kept)
    watch, signals = RemedyWatch(session), SignalWatch(session)
    session.begin(card.of_tabular(config))
    keeping = kept_replies.kept() if config.simulator.kind == "scripted" else nullcontext()
    with keeping, ExitStack() as steps:
        steps.callback(session.end_deadline)  # others may keep us waiting for the cache
        for step in range(session.start + 1, config.trainer.steps + 1):
            state, unheard = _step(session, state, step, watch, signals)
            session.finish_step(step, partial(_save, state), unheard)


def _step(
    session: Session, state: TrainState, step: int, watch: RemedyWatch, signals: SignalWatch
) -> tuple[TrainState, str | None]:
    """Run one step: rollout, evaluation where one is due, updates. The row is on disk when this
    returns.

    Returns the state after the step, and why the run must stop for want of anything to learn from,
    None if it need not.
    """
    config, temperature = session.config, session.config.policy.temperature
    stack, algorithm = state.stack, state.stack.algorithm
    begin = time.monotonic()
    filled, drawn = _rollout(state, step, session.poll)
    refined = _refined(state, filled, drawn, step, session.poll)
    conversations, acts, rollout_end = refined.conversations, refined.acts, time.monotonic()
    rewards = compute_rewards(conversations, config.reward, algorithm.needs_qualities)
    signal = learning_signal(algorithm, state.critic, rewards, actions_of(acts), config, step)
    trace = trace_of(state.policy, acts, signal.advantages, temperature)
    measured = _evaluated(session, state, step)
    eval_end = time.monotonic()
    start = start_policy(config)
    start_logp = log_p_of_acts(start, acts, temperature)
    batch = _to_learn_from(state, filled, refined, rewards.total, trace, start_logp, step)
    by = state.kept, start, state.policy
    kept, result = kept_conversations.learn(*by, batch, stack, config, step)
    remedy = remedy_stack.metrics(stack, batch.selection, result.acted, filled.groups_drawn)
    update_end = time.monotonic()
    before = state.ledger, bool(measured)
    is_booked = state.slow is None and kept is None
    ledger, entries = tabular_ledger.kept(*before, is_booked, result, acts, config)
    values = {
        **_of_what_was_said(state, filled, drawn, refined, rewards.total, trace, start_logp),
        **refined.metrics,
        **measured,
        **entries,
        **update_metrics(result),
        **(kept.metrics() if kept else kept_conversations.NO_ROUNDS),
        **remedy,
        **signal.metrics,
    }
    session.record(
        step,
        values,
        lambda: turn_records(conversations, rewards.total, signal.advantages, trace),
        rollout=rollout_end - begin,
        eval=eval_end - rollout_end,
        update=update_end - eval_end,
        ledger=time.monotonic() - update_end,
    )
    _check_finite(result, session, step)
    watch.check(step, remedy["remedy/acted"])
    next_curriculum = curriculum.advanced(state.curriculum, filled.conversations)
    next_stack = remedy_state.advanced(stack, trace.mean_nats, batch.selection)
    where = f"{session.run.path}: step {step}"
    critic = signal.critic_batch.fitted_critic(where) if signal.critic_batch else None
    unheard = signals.check(step, values, signal.advantages)
    inner = algorithm.inner_step(step, config)
    slow, policy = slow_weights.outer_step(state.slow, result.policy, inner)
    return TrainState(policy, next_curriculum, next_stack, critic, ledger, slow, kept), unheard


def _evaluated(session: Session, state: TrainState, step: int) -> Metrics:
    """What an evaluation before step `step` measures, and the session's judgement of it."""
    config, policy = session.config, state.evaluated
    measured = evaluated(session, policy, step)
    if measured:
        who = policy, start_policy(config), state.stack, state.critic
        measured |= adaptation(*who, config, step, session.poll)
    session.judge_evaluation(step, measured)
    return measured


def _refined(
    state: TrainState,
    filled: FilledBatch,
    acts: Acts,
    step: int,
    before_turn: Callable[[], None],
) -> RefinedBatch:
    """The batch in which the algorithm has had conversations spoken again, if it does so."""
    critique, config = state.stack.algorithm.refines_by(), state.curriculum.config
    return refine(critique, state.policy, filled.conversations, acts, config, step, before_turn)


def _to_learn_from(
    state: TrainState,
    filled: FilledBatch,
    refined: RefinedBatch,
    rewards: FloatArray,
    trace: TokenTrace,
    start_logp: FloatArray,
    step: int,
) -> ActBatch:
    """The batch with what the remedies choose; `rewards`: of each conversation."""
    stack, owner = state.stack, refined.acts.conversation
    return act_batch(
        stack,
        state.curriculum.config,
        refined.acts,
        trace,
        start_logp,
        step,
        filled.redrawn[owner],
        ~np.isfinite(rewards)[owner],
        state.policy,
        stack.spread(rewards),
        refined.spoken_again,
    )


def _of_what_was_said(
    state: TrainState,
    filled: FilledBatch,
    drawn: Acts,
    refined: RefinedBatch,
    rewards: FloatArray,
    trace: TokenTrace,
    start_logp: FloatArray,
) -> Metrics:
    """The columns on the batch's conversations and acts: as the policy drew them by itself, but for
    the spread of the `rewards` and the `trace` that it learns from.
    """
    config, groups = state.curriculum.config, state.stack.groups()
    conversations, learnt_from = filled.conversations, Metrics()
    if refined.spoken_again is not None:
        learnt_from = learnt_from_metrics(rewards, trace, *groups)
        rewards = compute_rewards(conversations, config.reward).total
        unpaid = np.zeros((len(conversations), MAX_TURNS))
        trace = trace_of(state.policy, drawn, unpaid, config.policy.temperature)
        start_logp = log_p_of_acts(start_policy(config), drawn, config.policy.temperature)
    return {
        **conversation_metrics(conversations, rewards, *groups),
        **entropy_metrics(trace, config.algorithm.group_size),
        **curriculum.metrics(state.curriculum, conversations),
        "kl": float((trace.logp - start_logp).mean()),
        **learnt_from,
    }


def _rollout(
    state: TrainState, step: int, before_turn: Callable[[], None] = lambda: None
) -> tuple[FilledBatch, Acts]:
    """The conversations of step `step`, and what the policy did in them."""
    config, by_try = state.curriculum.config, list[Acts]()
    inner = state.stack.algorithm.inner_step(step, config)
    temperament = inner.temperament if inner else None

    def rollout_once(attempt: int, groups: Sequence[int]) -> list[Conversation]:
        rng = rng_of(config, step, ROLLOUT_STREAM, stream_of(config, attempt, 0))
        speaker = TabularSpeaker(state.policy, config.policy.temperature, rng, before_turn)
        conversations = rollout_groups(state.curriculum, speaker, step, groups, temperament)
        by_try.append(speaker.acts())
        return conversations

    filled = fill(rollout_once, config, state.stack.most_tries)
    return filled, gathered(by_try, filled.source)


def _check_finite(result: UpdateResult, session: Session, step: int) -> None:
    if not np.isfinite(result.policy.table).all():
        raise DivergedError(
            f"{session.run.path}: step {step}: logits must be finite after an update, got "
            f"gradient norm {result.gradient_norm:g} at algorithm.learning_rate "
            f"{session.config.algorithm.learning_rate:g}; lower the rate"
        )


def _save(state: TrainState, folder: Path) -> None:
    curriculum.save(state.curriculum, folder)
    remedy_state.save(state.stack, folder)
    if state.critic is not None:
        state.critic.save(folder)
    if state.kept is not None:
        state.kept.save(folder)
    state.ledger.save(folder)
    slow_weights.save_table(folder / FILE, state.evaluated.table)
    if state.slow is not None:
        slow_weights.save_table(folder / slow_weights.FILE, state.policy.table)


def start_policy(config: RunConfig) -> TabularPolicy:
    """The policy before the first step."""
    policy, slots = config.policy, registry.algorithm_of(config).slot_count()
    return TabularPolicy.start(
        policy.observation, policy.prior_temperature, policy.warm_start_strategies, slots
    )


def load(folder: Path, start: TabularPolicy) -> TabularPolicy:
    """The policy of a checkpoint of a run that began as `start`.

    Raises DataError for what is no table of this policy, though its manifest says so.
    """
    shape = start.table.shape
    by_turn = (MAX_TURNS, shape[0] // MAX_TURNS, shape[1])
    older = by_turn if start.observation == "last_words" else ()
    return replace(start, table=slow_weights.read_table(folder / FILE, shape, older))
