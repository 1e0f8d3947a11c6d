"""Training a language model: conversations, their measurement, and TRL's updates between them."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from harness.errors import DivergedError
from harness.policy.chat import Chat
from harness.policy.grammar import covers
from harness.train import curriculum, engine_gap, engine_start, evaluate, rewards, thinking
from harness.train import start as starts
from harness.train.advantages import FloatArray
from harness.train.batch import SPEECH, advantages_of, converse, draws_of, waves
from harness.train.conversation import Conversation, InWaves
from harness.train.engine import Engine
from harness.train.engine_gap import GapWatch
from harness.train.language_card import measurement_card
from harness.train.language_look import look
from harness.train.language_loss import LossResult
from harness.train.measure import (
    Metrics,
    TokenTrace,
    conversation_metrics,
    entropy_metrics,
    turn_records,
)
from harness.train.rewards import Earned
from harness.train.session import Session
from harness.train.speaker import LanguageSpeaker, Transcript
from harness.train.trl_adapter import ConversationTrainer, Talk, make_trainer, resume_point


def train(session: Session) -> None:
    """Run every step that is left."""
    config = session.config
    torch.set_num_threads(config.trainer.threads)
    device = "cuda" if config.trainer.gpus else "cpu"
    start = starts.load(config, device)
    learner = LanguageRun(session, start.learner, start.judge, start.chat)
    scratch = session.run.path / ".scratch"
    learner.trainer = make_trainer(start.learner, start.tokenizer, config, learner, scratch)
    with engine_start.running(session, start) as learner.engine:
        session.begin(measurement_card(config, start.name))
        learner.trainer.train(resume_from_checkpoint=resume_point(_checkpoint(session)))


@dataclass(slots=True)
class StepAtHand:
    """What is known of a step before its updates are made."""

    number: int
    held: list[Conversation]
    transcripts: list[Transcript]
    earned: Earned
    advantages: FloatArray
    """Shape (conversations, MAX_TURNS)."""
    looked: Metrics
    """What does not depend on the updates."""
    passes: list[LossResult] = field(default_factory=list)
    grad_norm: float | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    talked_at: float = 0.0


class LanguageRun:
    """What happens around TRL's updates; implements the adapter's Learner."""

    trainer: ConversationTrainer
    engine: Engine

    def __init__(self, session: Session, model: Any, start: Any, chat: Chat) -> None:
        """`start`: the frozen start model that judges replies; None to leave that out."""
        self._session, self._config = session, session.config
        self._model, self._start, self._chat = model, start, chat
        self._course = curriculum.begin(session.config, _checkpoint(session))
        self._gap = GapWatch(session)

    def talk(self, step: int) -> Talk:
        """Hold the conversations of `step`; evaluate first where it is due."""
        self._model.eval()  # where memory is saved in training, no keys and values would be kept
        with starts.precision(self._config.policy, self._model.device.type), self.engine.awake():
            return self._talk(step)

    def _talk(self, step: int) -> Talk:
        config, began = self._config, time.monotonic()
        looked: Metrics = {}
        if evaluate.due(step, config):
            looked = look(self.engine, self._model, self._chat, config, self._start)
        seen = time.monotonic()
        speakers, course = self._speakers(step), self._course
        held = converse(course, InWaves(speakers), step)
        self._course = curriculum.advanced(course, held)
        earned = rewards.earned(held, config.reward)
        advantages = advantages_of(earned, config, step)
        looked |= curriculum.metrics(course, held)
        transcripts = [t for speaker in speakers for t in speaker.transcripts]
        self._step = StepAtHand(step, held, transcripts, earned, advantages, looked)
        self._step.talked_at = time.monotonic()
        self._step.seconds = {"look": seen - began, "talk": self._step.talked_at - seen}
        rows = [transcript.row for transcript in transcripts]
        opening = [next(n for n, turn in enumerate(row.turn) if turn) for row in rows]
        drawn = [transcript.logp for transcript in transcripts]
        return Talk(
            rows,
            opening,
            earned.rewards.tolist(),
            advantages.tolist(),
            drawn if self.engine.corrected else None,
        )

    def _speakers(self, step: int) -> list[LanguageSpeaker]:
        """One for each wave, with draws of its own."""
        config = self._config
        every_draws = [draws_of(config, step, SPEECH, wave) for wave in range(waves(config))]
        return [
            LanguageSpeaker(self.engine, self._chat, config.policy, draws, self._start)
            for draws in every_draws
        ]

    def scored(self, result: LossResult) -> None:
        self._step.passes.append(result)
        if not math.isfinite(result.value):
            self._diverged(f"loss {result.value:g}")

    def check_gradient(self, norm: float) -> None:
        self._step.grad_norm = norm
        if not math.isfinite(norm):
            self._diverged(f"gradient norm {norm:g}")

    def finish(self, step: int) -> None:
        """Record row `step`; save and stop where that is due."""
        gap_nats = self._record()
        self._session.finish_step(step, self._save)
        self._gap.judge(step, gap_nats)

    def _save(self, folder: Path) -> None:
        self.trainer.save(folder)
        curriculum.save(self._course, folder)

    def _record(self) -> float:
        """The gap between engine and trainer, in nats a token."""
        at = self._step
        trace = trace_of(at)
        drawn = np.concatenate([t.logp for t in at.transcripts])
        gap = engine_gap.metrics(trace.logp, drawn, self.engine.corrected)
        values = {
            **conversation_metrics(at.held, self._config, at.earned.rewards),
            **entropy_metrics(trace),
            **self._thoughts(at, trace),
            **at.looked,
            **_update_metrics(at.passes),
            "grad_norm": at.grad_norm,
            "kl": _divergence(trace, at.transcripts),
            **gap,
            "text/grammatical": self._grammatical(at.held),
        }
        learnt = time.monotonic() - at.talked_at
        self._session.record(
            at.number,
            values,
            lambda: turn_records(at.held, at.advantages, trace),
            **at.seconds,
            learn=learnt,
        )
        return gap[engine_gap.GAP]

    def _thoughts(self, at: StepAtHand, trace: TokenTrace) -> Metrics:
        """H of thinking and of replies; nothing of a policy that does not think."""
        if self._chat.thought is None:
            return {}
        return thinking.entropies(trace, [t.row for t in at.transcripts], self._chat.thought)

    def _grammatical(self, held: Sequence[Conversation]) -> float | None:
        """Share of replies in the phrase grammar's words; of a model that has learnt it only."""
        if self._config.policy.kind != "tiny":
            return None
        return float(np.mean([covers(e.reply.text) for c in held for e in c.exchanges]))

    def _diverged(self, what: str) -> None:
        self._record()
        raise DivergedError(
            f"{self._session.run.path}: step {self._step.number}: loss and gradient must be "
            f"finite, got {what} at algorithm.learning_rate "
            f"{self._config.algorithm.learning_rate:g}; lower the rate"
        )


def trace_of(at: StepAtHand) -> TokenTrace:
    """The batch's own tokens, conversation by conversation, under the weights before the update."""
    scored = at.passes[0].scored
    sizes = [len(row.logp) for row in scored]
    conversation = np.repeat(np.arange(len(sizes)), sizes)
    turn = np.array([turn for t in at.transcripts for turn in t.row.turn if turn], dtype=np.int64)
    return TokenTrace(
        entropy_nats=_joined([row.entropy_nats for row in scored]),
        entropy_t1_nats=_joined([row.entropy_t1_nats for row in scored]),
        logp=_joined([row.logp for row in scored]),
        advantage=at.advantages[conversation, turn - 1],
        conversation=conversation,
        turn=turn,
    )


def _joined(parts: Sequence[torch.Tensor]) -> FloatArray:
    joined: FloatArray = torch.cat(list(parts)).double().cpu().numpy()
    return joined


def _update_metrics(passes: Sequence[LossResult]) -> Metrics:
    low = float(np.mean([p.low_share for p in passes]))
    high = float(np.mean([p.high_share for p in passes]))
    return {
        "clip_ratio/low_mean": low,
        "clip_ratio/high_mean": high,
        "clip_ratio/region_mean": low + high,
    }


def _divergence(trace: TokenTrace, transcripts: Sequence[Transcript]) -> float | None:
    """Mean log-ratio of the policy against the start policy, on its own tokens."""
    start = np.concatenate([t.start_logp for t in transcripts])
    return float((trace.logp - start).mean()) if len(start) == len(trace.logp) else None


def _checkpoint(session: Session) -> Path | None:
    return session.checkpoint.path if session.checkpoint else None
