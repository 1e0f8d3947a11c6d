"""One step of the tabular policy: its batch of acts, what is measured, and the updates on it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from harness.config.run import MAX_TURNS, RunConfig
from harness.policy.tabular import Observations, TabularPolicy, observe, recall, with_slots
from harness.train.ledger.moves import Pass
from harness.train.loop.session import Session
from harness.train.metrics import evaluate
from harness.train.metrics.deaf import Speakers
from harness.train.metrics.held_out import TableDraws, slots_of
from harness.train.metrics.token_metrics import Metrics, TokenTrace
from harness.train.objective import remedy_stack
from harness.train.objective.remedy_stack import RemedyStack
from harness.train.objective.token_selection import RemedyLoss, TokenSelection
from harness.train.policy_gradient.advantages import FloatArray, partners
from harness.train.policy_gradient.losses import BoolArray, LossTokens
from harness.train.policy_gradient.remedy_roles import StepTokens
from harness.train.rollout.batch import REMEDY_STREAM, rng_of
from harness.train.rollout.learning_signal import Actions, denominator
from harness.train.rollout.tabular_speaker import RECEPTION, Acts, TabularSpeaker


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
    passes: tuple[Pass, ...]
    """The updates, for the ledger; empty where a round goes on, and the rest says nothing."""


def actions_of(acts: Acts) -> Actions:
    """The batch's acts as a critic sees them: by the features of its observations."""
    return Actions(acts.conversation, acts.reply, acts.seen.features)


def trace_of(
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


def evaluated(session: Session, policy: TabularPolicy, step: int) -> Metrics:
    """eval/* and entropy/probe of the policy before step `step`; nothing where none is due."""
    config, temperature = session.config, session.config.policy.temperature
    if not evaluate.due(step, config):
        return {}
    meet = evaluate.meet_here(config, speakers(policy, temperature, session.poll))
    with session.evaluation(step) as watch:
        return {
            **evaluate.evaluate(
                config,
                meet,
                watch,
                keep=evaluate.keep_in(session.run.outcomes, step),
                timed=session.timed,
            ),
            "entropy/probe": probe_entropy_nats(policy, temperature, config.eval.prefixes),
        }


def speakers(
    policy: TabularPolicy, temperature: float, before_turn: Callable[[], None] = lambda: None
) -> Speakers:
    """Makes the speaker of some held-out conversations."""
    return lambda held: TabularSpeaker(
        policy, temperature, TableDraws(held), before_turn, slot=slots_of(held, policy.slots)
    )


def probe_entropy_nats(
    policy: TabularPolicy, temperature: float, count: int = evaluate.PREFIXES
) -> float | None:
    """Mean exact entropy of an act, in nats, on `count` of the frozen prefixes; None of none."""
    if not count:
        return None
    seen = probe(policy.observation, count, policy.slots)
    return float(policy.entropy_nats(seen, temperature).mean())


@lru_cache(maxsize=4)
def probe(observation: str, count: int = evaluate.PREFIXES, slots: int = 1) -> Observations:
    """The observations at the first `count` frozen prefixes, the n-th by slot n modulo `slots`."""
    seen = [
        observe(observation, recall(p.heard, p.strategies, RECEPTION))
        for p in evaluate.prefixes(count)
    ]
    alike = Observations(np.concatenate([s.features for s in seen]))
    return with_slots(alike, np.arange(count) % slots, slots)


def act_batch(
    stack: RemedyStack,
    config: RunConfig,
    acts: Acts,
    trace: TokenTrace,
    start_logp: FloatArray,
    step: int,
    touched: BoolArray,
    lost: BoolArray,
    policy: TabularPolicy,
    spread: FloatArray | None,
    spoken_again: BoolArray | None = None,
) -> ActBatch:
    """The batch with what the remedies choose; `lost`: acts of conversations without a reward.

    `spread`: of each conversation, see `StepTokens`; `spoken_again`: likewise.
    """
    temperature = config.policy.temperature
    tokens = StepTokens(
        logp=trace.logp,
        advantage=trace.advantage,
        entropy_nats=trace.entropy_nats,
        start_logp=start_logp,
        rng=rng_of(config, step, REMEDY_STREAM),
        touched=touched,
        lost=lost if lost.any() else None,
        conversation=trace.conversation,
        turn=trace.turn,
        group=None if spread is None else acts.conversation // config.algorithm.group_size,
        spread=None if spread is None else spread[acts.conversation],
        mean_discriminant=(
            mean_discriminants(policy, acts.seen, temperature) if stack.needs_distribution else None
        ),
        mismatched_ratio=(
            mismatched_ratios(policy, acts, temperature, config.algorithm.group_size)
            if stack.needs_mismatched
            else None
        ),
        spoken_again=spoken_again,
        progress=remedy_stack.progress(config, step),
    )
    total = denominator(stack.algorithm, config, max(1, int((~lost).sum())))
    selection = stack.select(tokens)
    return ActBatch(acts, trace.advantage, selection, temperature, total)


def mismatched_ratios(
    policy: TabularPolicy, acts: Acts, temperature: float, group_size: int
) -> FloatArray:
    """See `StepTokens.mismatched_ratio`; the policy's start is its prior, a table of zeros."""
    start = replace(policy, table=np.zeros_like(policy.table))
    now, then = (p.log_probabilities(acts.seen, temperature) for p in (policy, start))
    count = int(acts.conversation.max()) + 1
    place = np.full((count, MAX_TURNS), -1)
    place[acts.conversation, acts.reply] = np.arange(len(acts.act))
    other = place[partners(count, group_size)]
    ratio = np.where((place >= 0) & (other >= 0), (now - then)[place, acts.act[other]], 0.0)
    ratios: FloatArray = ratio.sum(axis=1)
    return ratios


def mean_discriminants(policy: TabularPolicy, seen: Observations, temperature: float) -> FloatArray:
    """sum p^2 (log p + H) over the acts at each observation, shape (n,)."""
    log_p = policy.log_probabilities(seen, temperature)
    p, entropy = np.exp(log_p), policy.entropy_nats(seen, temperature)
    mean: FloatArray = (p**2 * (log_p + entropy[:, None])).sum(axis=1)
    return mean


def update(policy: TabularPolicy, batch: ActBatch, stack: RemedyStack, passes: int) -> UpdateResult:
    """Take `passes` gradient steps on the loss of the whole batch.

    The step is the plain gradient times the rate, and algorithm.max_grad_norm is not applied: it
    is there to keep one bad batch from spoiling Adam's moments, and there are none here. The
    gradient is bounded by the largest advantage, and a clip would shrink real runs and null
    controls by different factors.
    """
    acts, temperature = batch.acts, batch.temperature
    old_logp = log_p_of_acts(policy, acts, temperature)
    shares, norm = [], 0.0
    done: list[Pass] = []
    for _ in range(passes):
        logp = log_p_of_acts(policy, acts, temperature)
        tokens = LossTokens(logp, old_logp, batch.advantage, acts.conversation, batch.conversations)
        loss = stack.loss(tokens, batch.selection)
        done.append(_pass(policy, batch, stack, tokens, loss))
        gradient = done[-1].by_log_p(acts.seen, acts.act, slice(None), temperature)
        if batch.selection.has_bonus:
            gradient -= _bonus_gradient(policy, batch)
        norm = float(np.sqrt((gradient**2).sum()))
        policy = replace(policy, table=policy.table - stack.config.learning_rate * gradient)
        masks = (loss.policy.low, loss.policy.high, loss.acted)
        shares.append([float(mask.mean()) for mask in masks])
    low, high, _ = np.mean(shares, axis=0).tolist()
    acted = tuple(acted for _, _, acted in shares)
    return UpdateResult(policy, norm, low, high, acted, tuple(done))


def _bonus_gradient(policy: TabularPolicy, batch: ActBatch) -> FloatArray:
    """The gradient of what the entropy bonus adds."""
    selection, temperature, seen = batch.selection, batch.temperature, batch.acts.seen
    if isinstance(selection.bonus, float):  # multiplied last, as older runs were: to the last bit
        whole = policy.entropy_gradient(seen, temperature, selection.counted)
        return selection.bonus / batch.denominator * whole
    weights = selection.counted * selection.bonus / batch.denominator
    return policy.entropy_gradient(seen, temperature, weights)


def _pass(
    policy: TabularPolicy,
    batch: ActBatch,
    stack: RemedyStack,
    tokens: LossTokens,
    loss: RemedyLoss,
) -> Pass:
    """An update beside what it would be without remedies."""
    selection, counted = batch.selection, batch.selection.counted
    by_entropy = counted * selection.bonus / batch.denominator if selection.has_bonus else None
    slope, sharpened = counted * loss.loss.slope / batch.denominator, None
    if selection.factor is not None:
        sharpened = counted * loss.policy.slope / batch.denominator, selection.factor
        slope = slope - sharpened[0]
    if not stack.remedies:
        return Pass(policy, slope, None, by_entropy)
    plain = counted * stack.plain_loss(tokens, selection).slope / batch.denominator
    return Pass(policy, slope, plain, by_entropy, sharpened)


def log_p_of_acts(policy: TabularPolicy, acts: Acts, temperature: float) -> FloatArray:
    """Log-probability of each act that was chosen, shape (acts,)."""
    log_p = policy.log_probabilities(acts.seen, temperature)
    chosen: FloatArray = log_p[np.arange(len(acts.act)), acts.act]
    return chosen


def update_metrics(result: UpdateResult) -> Metrics:
    """The columns of the updates on a batch; null where there were none."""
    columns: Metrics = {
        "grad_norm": result.gradient_norm,
        "clip_ratio/low_mean": result.low_share,
        "clip_ratio/high_mean": result.high_share,
        "clip_ratio/region_mean": result.low_share + result.high_share,
    }
    return columns if result.passes else dict.fromkeys(columns, None)
