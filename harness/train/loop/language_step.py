"""A language model's step: what is known of it before the updates, what is measured after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from harness.config.run import PolicyConfig, RunConfig
from harness.policy.chat import Chat
from harness.train.algorithms.advantages import FloatArray, IntArray
from harness.train.algorithms.losses import BoolArray
from harness.train.algorithms.remedy_roles import StepTokens
from harness.train.engines.engine import Engine
from harness.train.metrics import evaluate
from harness.train.metrics.token_metrics import Metrics, TokenTrace
from harness.train.objective.language_loss import Learning, LossResult, own_entropies
from harness.train.objective.remedy_stack import Treatment
from harness.train.rollout.batch import REMEDY, denominator, draws_of, waves
from harness.train.rollout.conversation import MAX_TURNS, Conversation, InWaves
from harness.train.rollout.rewards import Earned
from harness.train.rollout.speaker import LanguageSpeaker, Transcript


@dataclass(frozen=True, slots=True)
class Spoken:
    """A batch in tokens, and what it is learned from by."""

    transcripts: list[Transcript]
    advantages: FloatArray
    """Shape (conversations, MAX_TURNS)."""
    touched: BoolArray
    """The conversations that a remedy had held, or that lost something by one."""
    groups: int
    """Held in all to fill the batch."""
    known: BoolArray
    """The conversations that have a reward."""


@dataclass(slots=True)
class StepAtHand:
    """What is known of a step before its updates are made."""

    number: int
    held: list[Conversation]
    batch: Spoken
    earned: Earned
    how: Learning
    looked: Metrics
    """What does not depend on the updates."""
    passes: list[LossResult] = field(default_factory=list)
    grad_norm: float | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    talked_at: float = 0.0


def trace_of(at: StepAtHand) -> TokenTrace:
    """The batch's own tokens, conversation by conversation, under the weights before the update."""
    scored = at.passes[0].scored
    conversation, turn = _places(at.batch.transcripts)
    return TokenTrace(
        entropy_nats=_joined([row.entropy_nats for row in scored]),
        entropy_t1_nats=_joined([row.entropy_t1_nats for row in scored]),
        logp=_joined([row.logp for row in scored]),
        advantage=at.batch.advantages[conversation, turn - 1],
        conversation=conversation,
        turn=turn,
    )


def _places(transcripts: Sequence[Transcript]) -> tuple[IntArray, IntArray]:
    """The conversation, from 0, and the reply, from 1, of each own token."""
    turns = [[turn for turn in t.row.turn if turn] for t in transcripts]
    conversation = np.repeat(np.arange(len(turns)), [len(row) for row in turns])
    return conversation, np.array([turn for row in turns for turn in row], dtype=np.int64)


def learning(
    treatment: Treatment, batch: Spoken, config: RunConfig, step: int, model: Any
) -> Learning:
    """What the remedies choose of the conversations of `step`, before `model` learns from them.

    By the log-probabilities of the engine that drew the tokens. An engine that notes no entropies
    costs a pass over the batch where a remedy goes by them.
    """
    transcripts = batch.transcripts
    conversation, turn = _places(transcripts)
    drawn = np.array([logp for t in transcripts for logp in t.logp])
    start = np.array([logp for t in transcripts for logp in t.start_logp])
    tokens = StepTokens(
        logp=drawn,
        advantage=batch.advantages[conversation, turn - 1],
        entropy_nats=_entropies(transcripts, config, model) if treatment.needs_entropies else None,
        start_logp=start if treatment.needs_start else None,
        draws=draws_of(config, step, REMEDY),
        touched=batch.touched[conversation],
        lost=None if batch.known.all() else ~batch.known[conversation],
    )
    total = denominator(config, max(1, int(batch.known[conversation].sum())))
    return Learning(treatment, treatment.mark(tokens), config.policy.temperature, total)


def lost_to_length(
    treatment: Treatment, transcripts: Sequence[Transcript], config: RunConfig
) -> FloatArray | None:
    """What replies lose for their tokens, shape (conversations, MAX_TURNS), nan where none was."""
    tokens = np.array([np.bincount(t.row.turn, minlength=MAX_TURNS + 1)[1:] for t in transcripts])
    said = np.where(tokens > 0, tokens, np.nan)
    return treatment.penalties(said, config.policy.max_turn_tokens)


def _entropies(transcripts: Sequence[Transcript], config: RunConfig, model: Any) -> FloatArray:
    noted = [h for t in transcripts for h in t.entropy_nats]
    if noted:
        return np.array(noted)
    ids = [t.row.ids for t in transcripts]
    own = [[turn > 0 for turn in t.row.turn] for t in transcripts]
    return _joined(own_entropies(model, ids, own, config.policy.temperature))


def _joined(parts: Sequence[torch.Tensor]) -> FloatArray:
    joined: FloatArray = torch.cat(list(parts)).double().cpu().numpy()
    return joined


def update_metrics(passes: Sequence[LossResult]) -> Metrics:
    low = float(np.mean([p.low_share for p in passes]))
    high = float(np.mean([p.high_share for p in passes]))
    return {
        "clip_ratio/low_mean": low,
        "clip_ratio/high_mean": high,
        "clip_ratio/region_mean": low + high,
    }


def divergence(trace: TokenTrace, transcripts: Sequence[Transcript]) -> float | None:
    """Mean log-ratio of the policy against the start policy, on its own tokens."""
    start = np.concatenate([t.start_logp for t in transcripts])
    return float((trace.logp - start).mean()) if len(start) == len(trace.logp) else None


def look(engine: Engine, model: Any, chat: Chat, config: RunConfig, start: Any) -> Metrics:
    """eval/* and entropy/probe of `model` as it is, for which `engine` speaks."""
    speakers = [
        LanguageSpeaker(engine, chat, config.policy, evaluate.ByTurn(wave), start)
        for wave in range(waves(config))
    ]
    return {
        **evaluate.evaluate(config, InWaves(speakers)),
        "entropy/probe": probe_entropy_nats(engine, model, chat, config.policy),
    }


def probe_entropy_nats(engine: Engine, model: Any, chat: Chat, policy: PolicyConfig) -> float:
    """Mean exact entropy a token over one reply to each frozen prefix, by fixed uniforms."""
    prefixes = [chat.prefix(prefix.turns) for prefix in evaluate.prefixes()]
    draws = np.random.default_rng(evaluate.PROBE_SEED)
    uniforms = torch.from_numpy(draws.random((len(prefixes), policy.max_turn_tokens)))
    sampler = engine.sampler(len(prefixes), chat.end, policy.temperature)
    said = sampler.speak(range(len(prefixes)), prefixes, uniforms)
    ids = [[*prefix, *turn.ids] for prefix, turn in zip(prefixes, said, strict=True)]
    own = [
        [False] * len(prefix) + [True] * len(turn.ids)
        for prefix, turn in zip(prefixes, said, strict=True)
    ]
    return float(torch.cat(own_entropies(model, ids, own, policy.temperature)).double().mean())
