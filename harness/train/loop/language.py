"""The training loop of a language model: rollout, evaluation, updates by TRL, one row a step."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import torch

from harness.errors import DivergedError, StoppedError
from harness.train.ledger.language_book import LanguageLedger
from harness.train.loop import language_row, rank_launcher, step_checks
from harness.train.loop import start as starts
from harness.train.loop.language_critic import actions_of, shared_trunk_term
from harness.train.loop.language_ledger import LedgerKeeper
from harness.train.loop.language_refinement import refine
from harness.train.loop.language_step import (
    StepState,
    TokenBatch,
    evaluate_model,
    length_penalties,
    loss_settings,
    trace_of,
)
from harness.train.loop.saving import Fill
from harness.train.loop.session import Session
from harness.train.loop.start import StartModels
from harness.train.loop.step_checks import GapWatch, RemedyWatch, SignalWatch
from harness.train.loop.trl_adapter import (
    ConversationTrainer,
    RolloutBatch,
    make_trainer,
    resume_point,
)
from harness.train.metrics import card, evaluate
from harness.train.metrics.entropy_splits import Planning
from harness.train.metrics.token_metrics import Metrics
from harness.train.metrics.turn_records import turn_records
from harness.train.objective import micro_batches, remedy_state
from harness.train.objective.loss_batch import LossBatch
from harness.train.objective.remedy_stack import RemedyStack
from harness.train.policy_gradient.critic import Critic
from harness.train.policy_gradient.rewards import Rewards
from harness.train.ranks.team import Team
from harness.train.ranks.work import Work
from harness.train.rollout import curriculum
from harness.train.rollout.batch import FilledBatch, fill
from harness.train.rollout.conversation import Conversation
from harness.train.rollout.curriculum import CurriculumState
from harness.train.rollout.learning_signal import CriticBatch, LearningSignal, learning_signal
from harness.train.rollout.rewards import compute_rewards, penalised
from harness.train.rollout.speaker import TokenTrajectory
from harness.utils import safe_text


def train(session: Session) -> None:
    """Train from the checkpoint, or from the start, to the last step."""
    config = session.config
    torch.set_num_threads(config.trainer.threads)
    starts.build(session)
    stack = remedy_state.begin(config, session.saved)
    note = stack.needs_entropies
    with rank_launcher.started(session, note) as others:
        start = starts.load(config, starts.device_of(config))
        session.start_from(start.sum)
        learner = LanguageRun(session, start, stack)
        scratch = session.run.path / ".scratch"
        learner.trainer = make_trainer(start.learner, start.tokenizer, config, learner, scratch)
        joined = rank_launcher.joined(session, start.learner.device.type, others)
        asks = session.poll, session.leaving.on_hang
        running = starts.running_engine(config, start, note, *asks, scratch, joined.mates)
        with joined.with_engine(running) as engine:
            work = Work(config, start.learner, start.judge, start.chat, engine, learner.limit)
            learner.team = joined.team(session, work)
            session.begin(card.of_language(config, start.name))
            learner.trainer.train(resume_from_checkpoint=resume_point(session.saved))


class LanguageRun:
    """What a run does before and after TRL's updates: the Learner that trl_adapter calls."""

    trainer: ConversationTrainer
    team: Team

    def __init__(self, session: Session, start: StartModels, stack: RemedyStack) -> None:
        self._session, self._config, self.stack = session, session.config, stack
        self._model, self._judge, self._chat = start.learner, start.judge, start.chat
        self._curriculum = curriculum.begin(session.config, session.saved)
        self._critic = self.stack.critic(session.saved)
        self._critic_batch: CriticBatch | None = None
        self.limit = micro_batches.begin(
            session.config.trainer, session.saved, self._halved, session.poll
        )
        self._ledger = LedgerKeeper(session.config, session.saved)
        self._remedy_watch, self._gap_watch = RemedyWatch(session), GapWatch(session)
        self._signal_watch = SignalWatch(session)
        self._planning = Planning(start.chat)

    def rollout(self, step: int) -> RolloutBatch:
        """Draw the conversations of `step`; evaluate first where that is due."""
        try:
            with self.team.awake():
                return self._rollout(step)
        except StoppedError:  # as where a server is out of reach
            if not self.team.is_sharded:  # where it is a rank that is lost, with its part
                self._session.save_last()
            raise

    def _rollout(self, step: int) -> RolloutBatch:
        config, begin = self._config, time.monotonic()
        metrics: Metrics = {}
        if evaluate.due(step, config):
            with self._session.evaluation(step) as watch:
                metrics = evaluate_model(
                    self.team,
                    watch,
                    keep=evaluate.keep_in(self._session.run.outcomes, step),
                    timed=self._session.timed,
                    probed=self._ledger.probed,
                )
            self._session.judge_evaluation(step, metrics)
        eval_end = time.monotonic()
        filled, drawn = self._filled_batch(step)
        metrics |= curriculum.metrics(self._curriculum, filled.conversations)
        self._curriculum = curriculum.advanced(self._curriculum, filled.conversations)
        refined = refine(self.stack, self.team, filled.conversations, drawn, step)
        conversations, trajectories = refined.conversations, refined.trajectories
        rewards = compute_rewards(conversations, config.reward)
        penalties = length_penalties(self.stack, trajectories, config)
        touched, shaped = filled.redrawn, rewards
        if penalties is not None:
            shaped = penalised(rewards, penalties)
            touched = touched | (np.nansum(penalties, axis=1) < 0)
        signal = self._learning_signal(shaped, trajectories, step)
        advantages, known = signal.advantages, np.isfinite(rewards.total)
        metrics |= signal.metrics | refined.metrics
        self._critic_batch = signal.critic_batch
        spread = self.stack.spread(rewards.total)
        batch = TokenBatch(
            trajectories,
            advantages,
            touched,
            filled.groups_drawn,
            known,
            spread,
            refined.again_from,
            signal.token_advantages,
            shared_trunk_term(self.stack.algorithm, signal, trajectories),
        )
        settings = loss_settings(
            self.stack, batch, config, step, self._model, self._planning, self.limit, self._judge
        )
        self._step = StepState(
            step, conversations, batch, rewards, settings, metrics, refined.as_drawn
        )
        self._step.rollout_end = time.monotonic()
        self._step.seconds = {
            "eval": eval_end - begin,
            "rollout": self._step.rollout_end - eval_end,
        }
        return RolloutBatch(
            rows=[trajectory.row for trajectory in trajectories],
            prompt_lengths=[trajectory.row.prompt_length for trajectory in trajectories],
            rewards=rewards.total.tolist(),
            advantages=batch.advantage_lists(),
            engine_logp=[t.logp for t in trajectories] if self._corrected else None,
        )

    def _learning_signal(
        self, rewards: Rewards, trajectories: Sequence[TokenTrajectory], step: int
    ) -> LearningSignal:
        actions, algorithm = None, self.stack.algorithm
        if self._critic is not None:
            by_token = algorithm.has_token_values()
            actions = actions_of(trajectories, self._model, self.limit, by_token)
        return learning_signal(algorithm, self._critic, rewards, actions, self._config, step)

    def _filled_batch(self, step: int) -> tuple[FilledBatch, list[TokenTrajectory]]:
        """The conversations of step `step`, in words and in tokens."""
        by_try: list[list[TokenTrajectory]] = []

        def rollout_once(attempt: int, groups: Sequence[int]) -> list[Conversation]:
            drawn = self.team.draw(self._curriculum, step, attempt, groups)
            by_try.append(drawn.trajectories)
            return drawn.conversations

        filled = fill(rollout_once, self._config, self.stack.most_tries)
        return filled, [by_try[attempt][number] for attempt, number in filled.source]

    @property
    def _corrected(self) -> bool:
        return self.team.own.engine.corrected

    def learn(self, batch: LossBatch) -> float:
        """Compute the gradient of the loss of one pass; return the loss. Raises DivergedError, with
        the row written, where it is not finite.
        """
        self._keep_ledger(batch)
        result = self.team.learn(batch, self._step.settings)
        self._step.passes.append(result)
        if not math.isfinite(result.value):
            self._diverged(f"loss {result.value:g}")
        return result.value

    def _keep_ledger(self, batch: LossBatch) -> None:
        """Measure what the ledger books the update by, where one is kept."""
        if not self._ledger.is_due:
            return
        state, began = self._step, time.monotonic()
        given = self.team.own, self.trainer.optimizer, batch, state.settings
        state.metrics |= self._ledger.before_update(state.step, *given)
        state.seconds["ledger"] = time.monotonic() - began

    def check_gradient(self, norm: float) -> None:
        """Raise DivergedError, with the row written, for a gradient that is not finite."""
        self._step.grad_norm = norm
        several = self._config.trainer.updates_per_batch > 1 and not self.team.is_sharded
        if several and len(self._step.passes) == 1:  # a stop request is obeyed between them
            self._session.before_update()
        if not math.isfinite(norm):
            self._diverged(f"gradient norm {norm:g}")
        self._ledger.with_gradient(self._model)

    def finish(self, step: int) -> None:
        """Record row `step`; save and stop where that is due."""
        row = self._record()
        self._ledger.finish()
        if self._critic_batch is not None:
            self._critic = self._critic_batch.fitted_critic(
                f"{self._session.run.path}: step {step}"
            )
        selection = self._step.settings.selection
        self.stack = remedy_state.advanced(self.stack, row["entropy"] or 0.0, selection)
        self._remedy_watch.check(step, row["remedy/acted"])
        state = self._curriculum, self.stack, self._critic, self._ledger.ledger
        unheard = self._signal_watch.check(step, row, self._step.batch.advantages)

        def copied() -> Fill:
            return partial(self._save, self.trainer.copied(), *state)

        own = partial(self._save, self.trainer.save, *state)
        self._session.finish_step(step, own, unheard, copied)
        self._gap_watch.check(step, row[step_checks.GAP] or 0.0)

    def _save(
        self,
        save: Fill,
        at: CurriculumState,
        stack: RemedyStack,
        critic: Critic | None,
        ledger: LanguageLedger,
        folder: Path,
    ) -> None:
        """Write what the end of a step has; `save` writes TRL's part of it."""
        save(folder)
        curriculum.save(at, folder)
        remedy_state.save(stack, folder)
        micro_batches.save(self.limit, folder)
        ledger.save(folder)
        if critic is not None:
            critic.save(folder)

    def _record(self) -> Metrics:
        """Write the row of the current step to disk; return its values."""
        state = self._step
        values = language_row.row_of(
            state, self.stack, self._config, self._chat, self._planning, self._corrected
        )
        self._session.record(
            state.step,
            values,
            lambda: turn_records(
                state.conversations, state.rewards.total, state.batch.advantages, trace_of(state)
            ),
            **state.seconds,
            update=time.monotonic() - state.rollout_end - state.seconds.get("ledger", 0.0),
        )
        return values

    def _halved(self, tokens: int, number: int) -> None:
        """Report that memory ran out on a rank, and that each learns from at most `tokens` at once
        now.
        """
        step, ranks = self._session.last_step + 1, self._config.trainer.world
        self._session.note("out_of_memory", step=step, tokens_at_once=tokens, rank=number)
        where = f" on rank {number} of {ranks}" if ranks > 1 else ""
        safe_text.say(
            f"step {step}: out of memory{where}; goes on with at most {tokens} tokens at once "
            f"(trainer.tokens_at_once={tokens})"
        )

    def _diverged(self, what: str) -> None:
        self._record()
        advice = "lower the rate"
        if self._step.step == 1 and len(self._step.passes) == 1:  # no update was made yet
            advice = "the weights that the run starts from are at fault, not the rate"
        raise DivergedError(
            f"{self._session.run.path}: step {self._step.step}: loss and gradient must be "
            f"finite, got {what} at algorithm.learning_rate "
            f"{self._config.algorithm.learning_rate:g}; {advice}"
        )
