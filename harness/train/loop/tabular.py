"""Training the tabular policy: rollout, the same loss as a language model's, numpy updates.

Nothing is sampled from a generator that lives longer than a step: each batch and each evaluation
has a stream of its own, keyed by seed and step. So a checkpoint holds the logits, the curriculum,
the remedies' state and the critic, and a resumed run cannot differ.
"""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from harness.config.run import STRATEGIES
from harness.errors import DataError, DivergedError
from harness.policy.tabular import NOTHING_YET, TabularPolicy, observe, one_hot
from harness.records import atomic
from harness.train.loop.session import Session
from harness.train.loop.step_checks import RemedyWatch, SignalWatch
from harness.train.metrics import card, evaluate
from harness.train.metrics.conversation_metrics import conversation_metrics
from harness.train.metrics.held_out import TableDraws
from harness.train.metrics.token_metrics import Metrics, TokenTrace, entropy_metrics, turn_records
from harness.train.objective import remedy_stack
from harness.train.objective.remedy_stack import RemedyStack, TokenSelection
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.critic import Critic
from harness.train.policy_gradient.losses import BoolArray, LossTokens
from harness.train.policy_gradient.remedy_roles import StepTokens
from harness.train.rollout import curriculum
from harness.train.rollout.batch import (
    REMEDY_STREAM,
    ROLLOUT_STREAM,
    FilledBatch,
    fill,
    rng_of,
    rollout_groups,
    stream_of,
)
from harness.train.rollout.conversation import Conversation
from harness.train.rollout.curriculum import CurriculumState
from harness.train.rollout.learning_signal import Replies, denominator, learning_signal
from harness.train.rollout.rewards import compute_rewards
from harness.train.rollout.tabular_speaker import Acts, TabularSpeaker, gathered


@dataclass(frozen=True, slots=True)
class TrainState:
    """A run between two steps: what its checkpoints hold."""

    policy: TabularPolicy
    curriculum: CurriculumState
    stack: RemedyStack
    critic: Critic | None


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
        """Number of conversations that the acts are of."""
        return int(self.acts.conversation.max()) + 1


@dataclass(frozen=True, slots=True)
class UpdateResult:
    """The policy after the updates on one batch, and their measures."""

    policy: TabularPolicy
    gradient_norm: float
    """Norm of the last update's gradient."""
    low_share: float
    """Share of tokens clipped from below, mean over the updates."""
    high_share: float
    """The same from above."""
    acted: tuple[float, ...]
    """Share of tokens that a remedy acted on, in each update."""


def train(session: Session) -> None:
    """Run every step that is left."""
    config = session.config
    saved = session.checkpoint.path if session.checkpoint else None
    policy = _load(saved) if saved else TabularPolicy.start()
    stack = remedy_stack.begin(config, saved)
    state = TrainState(policy, curriculum.begin(config, saved), stack, stack.critic(saved))
    watch, signals = RemedyWatch(session), SignalWatch(session)
    session.begin(card.of_tabular(config))
    for step in range(session.start + 1, config.trainer.steps + 1):
        state, unheard = _step(session, state, step, watch, signals)
        session.finish_step(step, partial(_save, state), unheard)


def _step(
    session: Session, state: TrainState, step: int, watch: RemedyWatch, signals: SignalWatch
) -> tuple[TrainState, str | None]:
    """Rollout, evaluation, updates; the row is durable when this returns.

    Returns the state after it, and why the run stops here, where there is nothing to learn from.
    """
    config, temperature = session.config, session.config.policy.temperature
    stack, algorithm = state.stack, state.stack.algorithm
    begin = time.monotonic()
    filled, acts = _rollout(state, step)
    conversations, rollout_end = filled.conversations, time.monotonic()
    rewards = compute_rewards(conversations, config.reward)
    signal = learning_signal(algorithm, state.critic, rewards, _replies(acts), config, step)
    trace = _trace(state.policy, acts, signal.advantages, temperature)
    evaluated = _evaluate(session, state.policy, step) if evaluate.due(step, config) else {}
    session.judge_evaluation(step, evaluated)
    eval_end = time.monotonic()
    start_logp = log_p_of_acts(TabularPolicy.start(), acts, temperature)
    touched = filled.redrawn[acts.conversation]
    lost = ~np.isfinite(rewards.total)[acts.conversation]
    batch = _act_batch(state, acts, trace, start_logp, step, touched, lost)
    result = update(state.policy, batch, stack, config.trainer.updates_per_batch)
    remedy = remedy_stack.metrics(stack, batch.selection, result.acted, filled.groups_drawn)
    values = {
        **conversation_metrics(conversations, rewards.total, *stack.groups()),
        **entropy_metrics(trace),
        **curriculum.metrics(state.curriculum, conversations),
        **evaluated,
        **_update_metrics(result),
        **remedy,
        **signal.metrics,
        "kl": float((trace.logp - start_logp).mean()),
    }
    session.record(
        step,
        values,
        lambda: turn_records(conversations, signal.advantages, trace),
        rollout=rollout_end - begin,
        eval=eval_end - rollout_end,
        update=time.monotonic() - eval_end,
    )
    _check_finite(result, session, step)
    watch.check(step, remedy["remedy/acted"])
    next_curriculum = curriculum.advanced(state.curriculum, conversations)
    next_stack = remedy_stack.advanced(stack, float(trace.entropy_nats.mean()))
    where = f"{session.run.path}: step {step}"
    critic = signal.critic_batch.fitted_critic(where) if signal.critic_batch else None
    unheard = signals.check(step, values, signal.advantages)
    return TrainState(result.policy, next_curriculum, next_stack, critic), unheard


def _rollout(state: TrainState, step: int) -> tuple[FilledBatch, Acts]:
    """The conversations of step `step`, and what the policy did in them."""
    config, by_try = state.curriculum.config, list[Acts]()

    def rollout_once(attempt: int, groups: Sequence[int]) -> list[Conversation]:
        rng = rng_of(config, step, ROLLOUT_STREAM, stream_of(config, attempt, 0))
        speaker = TabularSpeaker(state.policy, config.policy.temperature, rng)
        conversations = rollout_groups(state.curriculum, speaker, step, groups)
        by_try.append(speaker.acts())
        return conversations

    filled = fill(rollout_once, config, state.stack.most_tries)
    return filled, gathered(by_try, filled.source)


def _replies(acts: Acts) -> Replies:
    """The batch's acts as a critic sees them: by one-hot rows of its observations."""
    return Replies(acts.conversation, acts.reply, one_hot(acts.seen))


def _trace(
    policy: TabularPolicy, acts: Acts, advantages: FloatArray, temperature: float
) -> TokenTrace:
    return TokenTrace(
        entropy_nats=policy.entropy_nats(acts.seen, temperature),
        entropy_t1_nats=policy.entropy_nats(acts.seen, 1.0),
        logp=log_p_of_acts(policy, acts, temperature),
        advantage=advantages[acts.conversation, acts.reply],
        conversation=acts.conversation,
        turn=acts.reply + 1,
    )


def _evaluate(session: Session, policy: TabularPolicy, step: int) -> Metrics:
    """eval/* and entropy/probe of the policy before step `step`."""
    config, temperature = session.config, session.config.policy.temperature
    return {
        **evaluate.evaluate(config, speakers(policy, temperature), session.watch(step)),
        "entropy/probe": probe_entropy_nats(policy, temperature),
    }


def speakers(policy: TabularPolicy, temperature: float) -> evaluate.Speakers:
    """Makes the speaker of some held-out conversations."""
    return lambda held: TabularSpeaker(policy, temperature, TableDraws(held))


def probe_entropy_nats(policy: TabularPolicy, temperature: float) -> float:
    """Mean exact entropy of an act, in nats, on the frozen prefixes."""
    prefixes = evaluate.prefixes()
    own = [STRATEGIES.index(p.strategies[-1]) if p.strategies else NOTHING_YET for p in prefixes]
    seen = observe([len(p.strategies) for p in prefixes], [p.heard[-1] for p in prefixes], own)
    return float(policy.entropy_nats(seen, temperature).mean())


def _act_batch(
    state: TrainState,
    acts: Acts,
    trace: TokenTrace,
    start_logp: FloatArray,
    step: int,
    touched: BoolArray,
    lost: BoolArray,
) -> ActBatch:
    """The batch with what the remedies choose; `lost`: acts of conversations without a reward."""
    config = state.curriculum.config
    tokens = StepTokens(
        logp=trace.logp,
        advantage=trace.advantage,
        entropy_nats=trace.entropy_nats,
        start_logp=start_logp,
        rng=rng_of(config, step, REMEDY_STREAM),
        touched=touched,
        lost=lost if lost.any() else None,
    )
    total = denominator(state.stack.algorithm, config, max(1, int((~lost).sum())))
    selection = state.stack.select(tokens)
    return ActBatch(acts, trace.advantage, selection, config.policy.temperature, total)


def update(policy: TabularPolicy, batch: ActBatch, stack: RemedyStack, passes: int) -> UpdateResult:
    """Take `passes` gradient steps on the loss of the whole batch.

    The step is the plain gradient times the rate, and algorithm.max_grad_norm is not applied: it
    is there to keep one bad batch from spoiling Adam's moments, and there are none here. The
    gradient is bounded by the largest advantage, and a clip would shrink real runs and null
    controls by different factors.
    """
    acts, temperature = batch.acts, batch.temperature
    old_logp = log_p_of_acts(policy, acts, temperature)
    shares, norm, counted = [], 0.0, batch.selection.counted
    for _ in range(passes):
        logp = log_p_of_acts(policy, acts, temperature)
        tokens = LossTokens(logp, old_logp, batch.advantage, acts.conversation, batch.conversations)
        loss = stack.loss(tokens, batch.selection)
        slope = counted * loss.loss.slope / batch.denominator
        gradient = policy.gradient(acts.seen, acts.act, slope, temperature)
        if batch.selection.bonus:
            by_entropy = policy.entropy_gradient(acts.seen, temperature, counted)
            gradient -= batch.selection.bonus / batch.denominator * by_entropy
        norm = float(np.sqrt((gradient**2).sum()))
        policy = TabularPolicy(policy.table - stack.config.learning_rate * gradient)
        masks = (loss.loss.low, loss.loss.high, loss.acted)
        shares.append([float(mask.mean()) for mask in masks])
    low, high, _ = np.mean(shares, axis=0).tolist()
    return UpdateResult(policy, norm, low, high, tuple(acted for _, _, acted in shares))


def log_p_of_acts(policy: TabularPolicy, acts: Acts, temperature: float) -> FloatArray:
    """Log-probability of each act that was chosen, shape (acts,)."""
    log_p = policy.log_probabilities(acts.seen, temperature)
    chosen: FloatArray = log_p[np.arange(len(acts.act)), acts.act]
    return chosen


def _update_metrics(result: UpdateResult) -> Metrics:
    return {
        "grad_norm": result.gradient_norm,
        "clip_ratio/low_mean": result.low_share,
        "clip_ratio/high_mean": result.high_share,
        "clip_ratio/region_mean": result.low_share + result.high_share,
    }


def _check_finite(result: UpdateResult, session: Session, step: int) -> None:
    if not np.isfinite(result.policy.table).all():
        raise DivergedError(
            f"{session.run.path}: step {step}: logits must be finite after an update, got "
            f"gradient norm {result.gradient_norm:g} at algorithm.learning_rate "
            f"{session.config.algorithm.learning_rate:g}; lower the rate"
        )


def _save(state: TrainState, folder: Path) -> None:
    curriculum.save(state.curriculum, folder)
    remedy_stack.save(state.stack, folder)
    if state.critic is not None:
        state.critic.save(folder)
    table, values = io.BytesIO(), state.policy.table
    np.save(table, values, allow_pickle=False)
    atomic.write_bytes(folder / "table.npy", table.getbuffer(), durable=False)


def _load(folder: Path) -> TabularPolicy:
    """Raises DataError for what is no table of this policy, though its manifest says so."""
    path, shape = folder / "table.npy", TabularPolicy.start().table.shape
    try:
        table = np.load(path, allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise DataError(f"{path}: must hold logits as an array, and does not: {error}") from error
    if table.shape != shape or table.dtype != np.float64:
        got = f"{table.dtype} of shape {table.shape}"
        raise DataError(f"{path}: must hold float64 logits of shape {shape}, got {got}")
    return TabularPolicy(table)
