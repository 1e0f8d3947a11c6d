"""Training the tabular policy: sampled conversations, the same loss as a language model's, numpy.

Nothing is sampled from a generator that lives longer than a step: each batch and each evaluation
draws from a stream of its own, keyed by seed and step. So a checkpoint holds the logits, the step
and where the curriculum stands, and a resumed run cannot differ.
"""

from __future__ import annotations

import io
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from harness.config.run import STRATEGIES, RunConfig
from harness.errors import DataError, DivergedError
from harness.policy.tabular import NOTHING_YET, TabularPolicy, observe
from harness.records import atomic
from harness.train.algorithms.advantages import FloatArray
from harness.train.algorithms.losses import BoolArray
from harness.train.algorithms.remedy_roles import StepTokens
from harness.train.loop.run_watches import RemedyWatch
from harness.train.loop.session import Session
from harness.train.metrics import card, evaluate
from harness.train.metrics.conversation_metrics import conversation_metrics
from harness.train.metrics.token_metrics import Metrics, TokenTrace, entropy_metrics, turn_records
from harness.train.objective import remedy_stack as treatment
from harness.train.objective.remedy_stack import Marks, Treatment
from harness.train.rollout import curriculum, rewards
from harness.train.rollout.batch import (
    REMEDY,
    SPEECH,
    Filled,
    advantages_of,
    converse,
    denominator,
    draws_of,
    fill,
    stream_of,
)
from harness.train.rollout.conversation import Conversation
from harness.train.rollout.curriculum import Course
from harness.train.rollout.tabular_speaker import Acts, TabularSpeaker, gathered


def train(session: Session) -> None:
    """Run every step that is left."""
    config = session.config
    saved = session.checkpoint.path if session.checkpoint else None
    policy = _load(saved) if saved else TabularPolicy.start()
    at = Standing(policy, curriculum.begin(config, saved), treatment.begin(config, saved))
    watch = RemedyWatch(session)
    session.begin(card.of_tabular(config))
    for step in range(session.start + 1, config.trainer.steps + 1):
        at = _step(session, at, step, watch)
        session.finish_step(step, partial(_save, at))


def probe_entropy_nats(policy: TabularPolicy, temperature: float) -> float:
    """Mean exact entropy on the frozen prefixes."""
    prefixes = evaluate.prefixes()
    own = [STRATEGIES.index(p.strategies[-1]) if p.strategies else NOTHING_YET for p in prefixes]
    seen = observe([len(p.strategies) for p in prefixes], [p.heard[-1] for p in prefixes], own)
    return float(policy.entropy_nats(seen, temperature).mean())


@dataclass(frozen=True, slots=True)
class Standing:
    """What a run goes on from, and what its checkpoints hold."""

    policy: TabularPolicy
    course: Course
    treatment: Treatment


def _step(session: Session, at: Standing, step: int, watch: RemedyWatch) -> Standing:
    """Talk, measure, learn; the row is durable when this returns."""
    config, temperature = session.config, session.config.policy.temperature
    began = time.monotonic()
    filled, acts = _batch(at, step)
    held, talked = filled.held, time.monotonic()
    earned = rewards.earned(held, config.reward)
    advantages = advantages_of(earned, config, step)
    trace = _trace(at.policy, acts, advantages, temperature)
    looked = _yardsticks(at.policy, config) if evaluate.due(step, config) else {}
    session.judge_evaluation(step, looked)
    measured = time.monotonic()
    start = log_p_of_acts(TabularPolicy.start(), acts, temperature)
    touched = filled.put_in[acts.conversation]
    lost = ~np.isfinite(earned.rewards)[acts.conversation]
    batch = _to_learn_from(at, acts, trace, start, step, touched, lost)
    done = update(at.policy, batch, at.treatment, config.trainer.updates_per_batch)
    treated = treatment.metrics(at.treatment, batch.marks, done.acted, filled.groups)
    values = {
        **conversation_metrics(held, config, earned.rewards),
        **entropy_metrics(trace),
        **curriculum.metrics(at.course, held),
        **looked,
        **_update_metrics(done),
        **treated,
        "kl": float((trace.logp - start).mean()),
    }
    session.record(
        step,
        values,
        lambda: turn_records(held, advantages, trace),
        talk=talked - began,
        look=measured - talked,
        learn=time.monotonic() - measured,
    )
    _check_finite(done, session, step)
    watch.look(step, treated["remedy/acted"])
    entropy_nats = float(trace.entropy_nats.mean())
    next_treatment = treatment.advanced(at.treatment, entropy_nats)
    return Standing(done.policy, curriculum.advanced(at.course, held), next_treatment)


def _to_learn_from(
    at: Standing,
    acts: Acts,
    trace: TokenTrace,
    start_logp: FloatArray,
    step: int,
    touched: BoolArray,
    lost: BoolArray,
) -> Batch:
    """The batch with what the remedies choose of it; `lost`: of conversations without a reward."""
    config = at.course.config
    draws = draws_of(config, step, REMEDY)
    known = trace.logp, trace.advantage, trace.entropy_nats, start_logp
    marks = at.treatment.mark(StepTokens(*known, draws, touched, lost if lost.any() else None))
    total = denominator(config, max(1, int((~lost).sum())))
    return Batch(acts, trace.advantage, marks, config.policy.temperature, total)


def _check_finite(done: Update, session: Session, step: int) -> None:
    if not np.isfinite(done.policy.table).all():
        raise DivergedError(
            f"{session.run.path}: step {step}: logits must be finite after an update, got "
            f"gradient norm {done.gradient_norm:g} at algorithm.learning_rate "
            f"{session.config.algorithm.learning_rate:g}; lower the rate"
        )


def _batch(at: Standing, step: int) -> tuple[Filled, Acts]:
    """The conversations of step `step`, and what the policy did in them."""
    config, course, spoken = at.course.config, at.course, list[Acts]()

    def hold(time: int, groups: Sequence[int]) -> list[Conversation]:
        draws = draws_of(config, step, SPEECH, stream_of(config, time, 0))
        speaker = TabularSpeaker(at.policy, config.policy.temperature, draws)
        held = converse(course, speaker, step, groups)
        spoken.append(speaker.acts())
        return held

    filled = fill(hold, config, at.treatment.most_tries)
    return filled, gathered(spoken, filled.source)


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


def _yardsticks(policy: TabularPolicy, config: RunConfig) -> Metrics:
    temperature = config.policy.temperature
    speaker = TabularSpeaker(policy, temperature, np.random.default_rng(evaluate.SEED))
    return {
        **evaluate.evaluate(config, speaker),
        "entropy/probe": probe_entropy_nats(policy, temperature),
    }


def _update_metrics(done: Update) -> Metrics:
    return {
        "grad_norm": done.gradient_norm,
        "clip_ratio/low_mean": done.low_share,
        "clip_ratio/high_mean": done.high_share,
        "clip_ratio/region_mean": done.low_share + done.high_share,
    }


def _save(at: Standing, folder: Path) -> None:
    curriculum.save(at.course, folder)
    treatment.save(at.treatment, folder)
    table = io.BytesIO()
    np.save(table, at.policy.table, allow_pickle=False)
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
