"""Training a language model: conversations, their measurement, and TRL's updates between them."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from harness.errors import DivergedError
from harness.policy.chat import Chat
from harness.policy.grammar import covers
from harness.train.engines.engine import Engine
from harness.train.loop import run_watches
from harness.train.loop import start as engine_start
from harness.train.loop import start as starts
from harness.train.loop.language_step import (
    Spoken,
    StepAtHand,
    divergence,
    learning,
    look,
    lost_to_length,
    trace_of,
    update_metrics,
)
from harness.train.loop.run_watches import GapWatch, RemedyWatch
from harness.train.loop.session import Session
from harness.train.loop.trl_adapter import ConversationTrainer, Talk, make_trainer, resume_point
from harness.train.metrics import card, entropy_splits, evaluate
from harness.train.metrics.conversation_metrics import conversation_metrics
from harness.train.metrics.entropy_splits import Planning
from harness.train.metrics.token_metrics import Metrics, TokenTrace, entropy_metrics, turn_records
from harness.train.objective import remedy_stack
from harness.train.objective.language_loss import LossResult
from harness.train.rollout import curriculum, rewards
from harness.train.rollout.batch import (
    SPEECH,
    Filled,
    advantages_of,
    converse,
    draws_of,
    fill,
    stream_of,
    waves,
)
from harness.train.rollout.conversation import Conversation, InWaves
from harness.train.rollout.speaker import LanguageSpeaker, Transcript


def train(session: Session) -> None:
    """Run every step that is left."""
    config = session.config
    torch.set_num_threads(config.trainer.threads)
    device = starts.device_of(config)
    start = starts.load(config, device)
    session.start_from(start.sum)
    learner = LanguageRun(session, start.learner, start.judge, start.chat)
    scratch = session.run.path / ".scratch"
    learner.trainer = make_trainer(start.learner, start.tokenizer, config, learner, scratch)
    noted = learner.treatment.needs_entropies
    with engine_start.running(session, start, noted) as learner.engine:
        session.begin(card.of_language(config, start.name))
        learner.trainer.train(resume_from_checkpoint=resume_point(_checkpoint(session)))


class LanguageRun:
    """What happens around TRL's updates; implements the adapter's Learner."""

    trainer: ConversationTrainer
    engine: Engine

    def __init__(self, session: Session, model: Any, start: Any, chat: Chat) -> None:
        """`start`: the frozen start model that judges replies; None to leave that out."""
        self._session, self._config = session, session.config
        self._model, self._start, self._chat = model, start, chat
        self._course = curriculum.begin(session.config, _checkpoint(session))
        self.treatment = remedy_stack.begin(session.config, _checkpoint(session))
        self._watch = RemedyWatch(session)
        self._gap, self._planning = GapWatch(session), Planning(chat)

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
            self._session.judge_evaluation(step, looked)
        seen = time.monotonic()
        filled, transcripts = self._converse(step)
        held, course = filled.held, self._course
        self._course = curriculum.advanced(course, held)
        earned = rewards.earned(held, config.reward)
        lost = lost_to_length(self.treatment, transcripts, config)
        counted = earned if lost is None else rewards.penalised(earned, lost)
        advantages = advantages_of(counted, config, step)
        touched = filled.put_in if lost is None else filled.put_in | (np.nansum(lost, axis=1) < 0)
        looked |= curriculum.metrics(course, held)
        known = np.isfinite(earned.rewards)
        batch = Spoken(transcripts, advantages, touched, filled.groups, known)
        how = learning(self.treatment, batch, config, step, self._model)
        self._step = StepAtHand(step, held, batch, earned, how, looked)
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
            how,
            drawn if self.engine.corrected else None,
        )

    def _converse(self, step: int) -> tuple[Filled, list[Transcript]]:
        """The conversations of step `step`, in words and in tokens."""
        spoken: list[list[Transcript]] = []

        def hold(time: int, groups: Sequence[int]) -> list[Conversation]:
            speakers = self._speakers(step, time)
            held = converse(self._course, InWaves(speakers), step, groups)
            spoken.append([t for speaker in speakers for t in speaker.transcripts])
            return held

        filled = fill(hold, self._config, self.treatment.most_tries)
        return filled, [spoken[time][number] for time, number in filled.source]

    def _speakers(self, step: int, time: int) -> list[LanguageSpeaker]:
        """One for each wave, with draws of its own, for the n-th time that groups are held."""
        config = self._config
        return [
            LanguageSpeaker(
                self.engine,
                self._chat,
                config.policy,
                draws_of(config, step, SPEECH, stream_of(config, time, wave)),
                self._start,
            )
            for wave in range(waves(config))
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
        row = self._record()
        self.treatment = remedy_stack.advanced(self.treatment, row["entropy"] or 0.0)
        self._watch.look(step, row["remedy/acted"])
        self._session.finish_step(step, self._save)
        self._gap.judge(step, row[run_watches.GAP] or 0.0)

    def _save(self, folder: Path) -> None:
        self.trainer.save(folder)
        curriculum.save(self._course, folder)
        remedy_stack.save(self.treatment, folder)

    def _record(self) -> Metrics:
        """Make the row of the step at hand durable; its values."""
        at = self._step
        trace = trace_of(at)
        drawn = np.concatenate([t.logp for t in at.batch.transcripts])
        acted = [p.acted_share for p in at.passes]
        values: Metrics = {
            **conversation_metrics(at.held, self._config, at.earned.rewards),
            **entropy_metrics(trace),
            **self._thoughts(at, trace),
            **self._planning.entropies(trace, [t.row for t in at.batch.transcripts]),
            **at.looked,
            **update_metrics(at.passes),
            **remedy_stack.metrics(self.treatment, at.how.marks, acted, at.batch.groups),
            "grad_norm": at.grad_norm,
            "kl": divergence(trace, at.batch.transcripts),
            **run_watches.metrics(trace.logp, drawn, self.engine.corrected),
            "text/grammatical": self._grammatical(at.held),
        }
        learnt = time.monotonic() - at.talked_at
        self._session.record(
            at.number,
            values,
            lambda: turn_records(at.held, at.batch.advantages, trace),
            **at.seconds,
            learn=learnt,
        )
        return values

    def _thoughts(self, at: StepAtHand, trace: TokenTrace) -> Metrics:
        """H of thinking and of replies; nothing of a policy that does not think."""
        if self._chat.thought is None:
            return {}
        return entropy_splits.entropies(
            trace, [t.row for t in at.batch.transcripts], self._chat.thought
        )

    def _grammatical(self, held: Sequence[Conversation]) -> float | None:
        """Share of replies in the phrase grammar's words; of a model that has learnt it only."""
        if self._config.policy.kind != "tiny":
            return None
        return float(np.mean([covers(e.reply.text) for c in held for e in c.exchanges]))

    def _diverged(self, what: str) -> None:
        self._record()
        advice = "lower the rate"
        if self._step.number == 1 and len(self._step.passes) == 1:  # no update was made yet
            advice = "the weights that the run starts from are at fault, not the rate"
        raise DivergedError(
            f"{self._session.run.path}: step {self._step.number}: loss and gradient must be "
            f"finite, got {what} at algorithm.learning_rate "
            f"{self._config.algorithm.learning_rate:g}; {advice}"
        )


def _checkpoint(session: Session) -> Path | None:
    return session.checkpoint.path if session.checkpoint else None
