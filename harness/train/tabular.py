"""Training the tabular policy: sampled conversations, the same loss as a language model's, numpy.

Nothing is sampled from a generator that lives longer than a step: each batch and each evaluation
draws from a stream of its own, keyed by seed and step. So a checkpoint holds the logits and the
step and nothing else, and a resumed run cannot differ.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.config import STRATEGIES, AlgorithmConfig, RunConfig
from harness.errors import DivergedError
from harness.policy.grammar import speak
from harness.policy.tabular import (
    MAX_TURNS,
    NOTHING_YET,
    Observations,
    TabularPolicy,
    observe,
)
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey, SupporterReply
from harness.train import evaluate, probe
from harness.train.advantages import (
    FloatArray,
    IntArray,
    group_relative,
    permuted_within_groups,
)
from harness.train.conversation import Conversation, hold
from harness.train.losses import clipped_loss
from harness.train.measure import (
    Metrics,
    TokenTrace,
    conversation_metrics,
    entropy_metrics,
    turn_records,
)
from harness.train.session import Session

WORDING_DRAWS = 8
"""Uniform draws that one reply may use for its wording, beside one for its strategy."""
_SPEECH, _PERMUTATION = 1, 2
"""Streams of random numbers within a step."""


@dataclass(frozen=True, slots=True)
class Acts:
    """What the policy did in a batch of conversations, one entry a reply."""

    seen: Observations
    act: IntArray
    """Index into STRATEGIES."""
    conversation: IntArray


class TabularSpeaker:
    """The policy in conversation. Conversation i draws from row i of a table made in `begin`."""

    def __init__(
        self, policy: TabularPolicy, temperature: float, draws: np.random.Generator
    ) -> None:
        self._policy, self._temperature, self._draws = policy, temperature, draws

    def begin(self, count: int) -> None:
        """Start `count` conversations, numbered from 0."""
        self._uniform = self._draws.random((count, MAX_TURNS, 1 + WORDING_DRAWS))
        self._heard: list[list[str]] = [[] for _ in range(count)]
        self._own = np.full(count, NOTHING_YET)
        self._log: list[tuple[Observations, IntArray, IntArray]] = []

    def speak(self, live: Sequence[int], heard: Sequence[str]) -> list[SupporterReply]:
        """Choose a strategy for each conversation in `live` and put it into words."""
        turn, mine = len(self._log), np.array(live, dtype=np.int64)
        seen = observe([turn] * len(live), heard, self._own[mine].tolist())
        cumulative = np.exp(self._policy.log_probabilities(seen, self._temperature)).cumsum(axis=1)
        drawn = self._uniform[mine, turn, 0] * cumulative[:, -1]
        act = (cumulative <= drawn[:, None]).sum(axis=1)
        self._own[mine] = act
        self._log.append((seen, act, mine))
        replies = []
        for i, words, a in zip(live, heard, act.tolist(), strict=True):
            self._heard[i].append(words)
            draw = iter(self._uniform[i, turn, 1:].tolist()).__next__
            replies.append(SupporterReply(speak(STRATEGIES[a], self._heard[i], draw)))
        return replies

    def acts(self) -> Acts:
        """Everything said since `begin`."""
        seen, act, conversation = zip(*self._log, strict=True)
        turns = np.concatenate([s.turn for s in seen])
        rows = np.concatenate([s.rows for s in seen])
        return Acts(Observations(turns, rows), np.concatenate(act), np.concatenate(conversation))


@dataclass(frozen=True, slots=True)
class Update:
    """What came of the updates on one batch."""

    policy: TabularPolicy
    gradient_norm: float
    """Of the last update."""
    low_share: float
    """Of tokens clipped from below, mean over the updates."""
    high_share: float


def train(session: Session) -> None:
    """Run every step that is left."""
    config = session.config
    policy = _load(session.checkpoint.path) if session.checkpoint else TabularPolicy.start()
    session.begin(measurement_card(config))
    for step in range(session.start + 1, config.trainer.steps + 1):
        policy = _step(session, policy, step)
        session.finish_step(step, lambda folder, now=policy: _save(folder, now))  # type: ignore[misc]


def measurement_card(config: RunConfig) -> dict[str, Any]:
    """Over what, how and when H and R of this rung are measured."""
    return {
        "entropy": {
            "tokens": "acts",
            "support": "eight strategies",
            "estimator": "exact",
            "average": "mean over acts",
            "temperature": config.policy.temperature,
            "weights": "before update",
            "prompts": "training users, states visited",
            "unit": "nats",
        },
        "reward": {
            "mode": config.reward.name,
            "conversations": "the batch that H is measured on",
        },
        "eval": {
            "conversations": f"{evaluate.USERS} held-out users a level, fixed draws",
            "temperature": config.policy.temperature,
            "weights": "before update",
        },
        "probe": f"{probe.OPENERS} openers, {probe.MID_CONVERSATION} mid-conversation",
    }


def probe_entropy_nats(policy: TabularPolicy, temperature: float) -> float:
    """Mean exact entropy on the frozen prefixes."""
    prefixes = probe.prefixes()
    own = [STRATEGIES.index(p.strategies[-1]) if p.strategies else NOTHING_YET for p in prefixes]
    seen = observe([len(p.strategies) for p in prefixes], [p.heard[-1] for p in prefixes], own)
    return float(policy.entropy_nats(seen, temperature).mean())


def update(
    policy: TabularPolicy,
    acts: Acts,
    advantage: FloatArray,
    algorithm: AlgorithmConfig,
    temperature: float,
    passes: int,
) -> Update:
    """`passes` gradient steps on the clipped loss of the whole batch; `advantage` is per act.

    The step is the plain gradient times the rate, and algorithm.max_grad_norm is not applied: it
    is there to keep one bad batch from spoiling Adam's moments, and there are none here. The
    gradient is bounded by the largest advantage, and a clip would shrink real runs and null
    controls by different factors.
    """
    old = _log_p_of_acts(policy, acts, temperature)
    shares, norm = [], 0.0
    for _ in range(passes):
        logp = _log_p_of_acts(policy, acts, temperature)
        loss = clipped_loss(logp, old, advantage, algorithm.clip_low, algorithm.clip_high)
        gradient = policy.gradient(acts.seen, acts.act, loss.gradient, temperature)
        norm = float(np.sqrt((gradient**2).sum()))
        policy = TabularPolicy(policy.table - algorithm.learning_rate * gradient)
        shares.append((loss.low_share, loss.high_share))
    low, high = np.mean(shares, axis=0).tolist()
    return Update(policy, norm, low, high)


def _step(session: Session, policy: TabularPolicy, step: int) -> TabularPolicy:
    """Talk, measure, update; the row is durable when this returns."""
    config, clock = session.config, [time.monotonic()]
    held, acts = _batch(policy, config, step)
    clock.append(time.monotonic())
    rewards = np.array([c.reward for c in held])
    advantages = _advantages(rewards, config, step)
    trace = _trace(policy, acts, advantages, config.policy.temperature)
    yardsticks = _yardsticks(policy, config) if evaluate.due(step, config) else {}
    clock.append(time.monotonic())
    done = update(
        policy,
        acts,
        trace.advantage,
        config.algorithm,
        config.policy.temperature,
        config.trainer.updates_per_batch,
    )
    values = {
        **conversation_metrics(held, config, rewards),
        **entropy_metrics(trace),
        **_update_metrics(done),
        **yardsticks,
        "kl": _divergence(trace, acts, config.policy.temperature),
    }
    clock.append(time.monotonic())
    phases = dict(zip(("talk", "look", "learn"), np.diff(clock).tolist(), strict=True))
    session.record(step, values, lambda: turn_records(held, advantages, trace), **phases)
    if not np.isfinite(done.policy.table).all():
        raise DivergedError(
            f"{session.run.path}: step {step}: logits must be finite after an update, got "
            f"gradient norm {done.gradient_norm:g} at algorithm.learning_rate "
            f"{config.algorithm.learning_rate:g}; lower the rate"
        )
    return done.policy


def _batch(policy: TabularPolicy, config: RunConfig, step: int) -> tuple[list[Conversation], Acts]:
    """The conversations of step `step`, and what the policy did in them."""
    size = config.algorithm.group_size
    keys = [
        ConversationKey(config.seed, step, n // size, n % size)
        for n in range(config.trainer.conversations)
    ]
    draws = np.random.default_rng([config.seed, step, _SPEECH])
    speaker = TabularSpeaker(policy, config.policy.temperature, draws)
    held = hold(make(config.simulator, config.difficulty), speaker, keys)
    return held, speaker.acts()


def _advantages(rewards: FloatArray, config: RunConfig, step: int) -> FloatArray:
    algorithm = config.algorithm
    advantages = group_relative(rewards, algorithm.group_size, algorithm.std_floor)
    if not algorithm.null_control:
        return advantages
    draws = np.random.default_rng([config.seed, step, _PERMUTATION])
    return permuted_within_groups(advantages, algorithm.group_size, draws)


def _trace(
    policy: TabularPolicy, acts: Acts, advantages: FloatArray, temperature: float
) -> TokenTrace:
    return TokenTrace(
        entropy_nats=policy.entropy_nats(acts.seen, temperature),
        entropy_t1_nats=policy.entropy_nats(acts.seen, 1.0),
        logp=_log_p_of_acts(policy, acts, temperature),
        advantage=advantages[acts.conversation],
        conversation=acts.conversation,
        turn=acts.seen.turn + 1,
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


def _divergence(trace: TokenTrace, acts: Acts, temperature: float) -> float:
    """Mean log-ratio of the policy against the start policy, on its own acts."""
    start = _log_p_of_acts(TabularPolicy.start(), acts, temperature)
    return float((trace.logp - start).mean())


def _log_p_of_acts(policy: TabularPolicy, acts: Acts, temperature: float) -> FloatArray:
    log_p = policy.log_probabilities(acts.seen, temperature)
    chosen: FloatArray = log_p[np.arange(len(acts.act)), acts.act]
    return chosen


def _save(folder: Path, policy: TabularPolicy) -> None:
    np.save(folder / "table.npy", policy.table, allow_pickle=False)


def _load(folder: Path) -> TabularPolicy:
    return TabularPolicy(np.load(folder / "table.npy", allow_pickle=False))
