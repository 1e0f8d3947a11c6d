"""The training loop of a language model: rollout, evaluation, updates by TRL, one row per step.

TRL owns the loop and calls a `LanguageRun`. In each step it asks for the rollout
(`language_rollout.py`) and for the gradient of each update, has each gradient checked, and reports
the end of the step, at which the row (`language_row.py`) and the checkpoint are written and the run
may end.
"""

from __future__ import annotations

import math
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from harness.errors import DivergedError, StoppedError
from harness.train.ledger.language_book import LanguageLedger
from harness.train.loop import carried as carrying
from harness.train.loop import language_rounds, language_row, rank_launcher, step_checks
from harness.train.loop import start as starts
from harness.train.loop.carried import CarriedState
from harness.train.loop.kept_conversations import KeptConversations
from harness.train.loop.language_evaluation import evaluate_model
from harness.train.loop.language_ledger import LedgerKeeper
from harness.train.loop.language_rollout import roll_out
from harness.train.loop.language_rounds import KeptTokens, Rounds
from harness.train.loop.language_row import trace_of
from harness.train.loop.saving import Fill
from harness.train.loop.session import Session
from harness.train.loop.start import StartModels
from harness.train.loop.step_checks import GapWatch, RemedyWatch, SignalWatch
from harness.train.loop.trl_adapter import ConversationTrainer, make_trainer, resume_point
from harness.train.loop.trl_batches import RolloutBatch
from harness.train.metrics import card, evaluate
from harness.train.metrics.entropy_splits import PlanningTokens
from harness.train.metrics.token_metrics import Metrics
from harness.train.metrics.turn_records import turn_records
from harness.train.objective import micro_batches
from harness.train.objective.loss_batch import LossBatch
from harness.train.ranks.team import Team
from harness.train.ranks.work import RankWork
from harness.utils import safe_text


def train(session: Session) -> None:
    """Train to the last step, from the checkpoint if there is one."""
    config = session.config
    torch.set_num_threads(config.trainer.threads)
    starts.build(session)
    carried = carrying.begin(config, session.saved)
    note_entropies = carried.stack.needs_entropies
    with rank_launcher.start_ranks(session, note_entropies) as other_ranks:
        start = starts.load(config, starts.device_of(config))
        session.start_from(start.sum)
        learner = LanguageRun(session, start, carried)
        scratch = session.run.path / ".scratch"
        learner.trainer = make_trainer(start.learner, start.tokenizer, config, learner, scratch)
        connections = rank_launcher.link_ranks(session, start.learner.device.type, other_ranks)
        callbacks = session.poll, session.stop_handlers.on_hang
        running = starts.running_engine(
            config, start, note_entropies, *callbacks, scratch, connections.mates
        )
        with connections.with_engine(running) as engine:
            work = RankWork(config, start.learner, start.judge, start.chat, engine, learner.limit)
            learner.team = connections.team(session, work)
            session.begin(card.of_language(config, start.name))
            learner.trainer.train(resume_from_checkpoint=resume_point(session.saved))


class LanguageRun:
    """The work of a run around TRL's updates; implements trl_adapter's Learner."""

    trainer: ConversationTrainer
    team: Team

    def __init__(self, session: Session, models: StartModels, carried: CarriedState) -> None:
        self._session, self._config = session, session.config
        self._models, self._carried = models, carried
        self.limit = micro_batches.begin(
            session.config.trainer, session.saved, self._report_halving, session.poll
        )
        self._ledger = LedgerKeeper(session.config, session.saved)
        self._rounds = language_rounds.begin(session.config, models.learner, session.saved)
        self._remedy_watch, self._gap_watch = RemedyWatch(session), GapWatch(session)
        self._signal_watch = SignalWatch(session)
        self._planning = PlanningTokens(models.chat)

    def rollout(self, step: int) -> RolloutBatch:
        """Evaluate if due, then draw the conversations of `step`."""
        try:
            with self.team.awake():
                began = time.monotonic()
                evaluated = self._evaluate(step)
                eval_end = time.monotonic()
                state = self._step = roll_out(
                    self.team, self._carried, self._models, self._planning, step
                )
                state.rollout_end = time.monotonic()
        except StoppedError:  # for example, a server is out of reach
            if not self.team.is_sharded:  # else a rank is lost with its shard
                self._session.save_last()
            raise
        state.metrics = evaluated | state.metrics
        state.seconds = {"eval": eval_end - began, "rollout": state.rollout_end - eval_end}
        return RolloutBatch(
            rows=[trajectory.row for trajectory in state.batch.trajectories],
            rewards=state.rewards.total.tolist(),
            advantages=state.batch.advantage_lists(),
            engine_logp=state.engine_logp() if self._is_corrected else None,
        )

    def _evaluate(self, step: int) -> Metrics:
        """Return eval/* and the probe's metrics before step `step`; empty if none is due."""
        if not evaluate.is_due(step, self._config):
            return {}
        with self._session.evaluation(step) as watch:
            metrics = evaluate_model(
                self.team,
                watch,
                keep=evaluate.keep_in(self._session.run.outcomes, step),
                timed=self._session.timed,
                keep_probe=self._ledger.probed,
            )
        self._session.judge_evaluation(step, metrics)
        return metrics

    @property
    def _is_corrected(self) -> bool:
        """Whether the loss weights tokens by the ratio of learner's to engine's probability."""
        return self.team.own.engine.corrected

    def learn(self, batch: LossBatch) -> float:
        """Compute the gradient of the loss in one pass and return the loss.

        With rounds the gradient is dropped, and the step may end a round. Raises DivergedError,
        after writing the row, if the loss is not finite.
        """
        self._keep_ledger(batch)
        state = self._step
        result = self.team.learn(batch, state.settings)
        state.scored = state.scored or result.scored
        self._check_loss(result.value)
        if self._rounds is None:
            state.passes.append(result)
        else:
            self.team.own.learner.zero_grad(set_to_none=True)
            self._finish_in_round(self._rounds, batch)
        return result.value

    def _finish_in_round(self, rounds: Rounds, batch: LossBatch) -> None:
        """Keep the best conversations of `batch`; refit the start weights if a round ends."""
        rounds.keep(batch)
        state = self._step
        state.metrics |= rounds.kept.metrics()
        if not rounds.is_due(state.step):
            return
        self._session.before_update()  # a stop may come between the passes
        for result, norm in rounds.passes(self.team, self.trainer.optimizer, state.settings):
            state.passes.append(replace(result, scored=[]))
            self._check_loss(result.value)
            self._check_norm(norm)

    def _check_loss(self, value: float) -> None:
        if not math.isfinite(value):
            self._raise_diverged(f"loss {value:g}")

    def _keep_ledger(self, batch: LossBatch) -> None:
        """Take the ledger's measurements before the update, if there is a ledger."""
        if not self._ledger.is_due:
            return
        state, began = self._step, time.monotonic()
        inputs = self.team.own, self.trainer.optimizer, batch, state.settings
        state.metrics |= self._ledger.before_update(state.step, *inputs)
        state.seconds["ledger"] = time.monotonic() - began

    def check_gradient(self, norm: float) -> None:
        """Raise DivergedError, after writing the row, if the gradient norm is not finite.

        With rounds TRL's optimiser has no gradient to step by.
        """
        if self._rounds is not None:
            return
        several = self._config.trainer.updates_per_batch > 1 and not self.team.is_sharded
        if several and len(self._step.passes) == 1:  # a stop may come between updates
            self._session.before_update()
        self._check_norm(norm)
        self._ledger.with_gradient(self._models.learner)

    def _check_norm(self, norm: float) -> None:
        self._step.grad_norm = norm
        if not math.isfinite(norm):
            self._raise_diverged(f"gradient norm {norm:g}")

    def finish(self, step: int) -> None:
        """Write row `step`; save a checkpoint and end the run if due."""
        row, state = self._record(), self._step
        self._ledger.finish()
        self._carried = self._carried.after_step(
            state.drawn,
            row["entropy"] or 0.0,
            state.settings.selection,
            state.critic_batch,
            f"{self._session.run.path}: step {step}",
        )
        self._remedy_watch.check(step, row["remedy/acted"])
        unheard = self._signal_watch.check(step, row, state.batch.advantages)
        kept = None if self._rounds is None else self._rounds.kept
        parts = self._carried, self._ledger.ledger, kept

        def copy() -> Fill:
            return partial(self._save, self.trainer.copy_state(), *parts)

        own = partial(self._save, self.trainer.save, *parts)
        self._session.finish_step(step, own, unheard, copy)
        self._gap_watch.check(step, row[step_checks.GAP] or 0.0)

    def _save(
        self,
        save: Fill,
        carried: CarriedState,
        ledger: LanguageLedger,
        kept: KeptConversations[KeptTokens] | None,
        folder: Path,
    ) -> None:
        """Write a checkpoint's files to `folder`; `save` writes TRL's."""
        save(folder)
        carried.save(folder)
        micro_batches.save(self.limit, folder)
        ledger.save(folder)
        if kept is not None:
            language_rounds.save(kept, folder)

    def _record(self) -> Metrics:
        """Write the row of the current step to disk and return its values."""
        state, chat = self._step, self._models.chat
        inputs = self._carried.stack, self._config, chat, self._planning, self._is_corrected
        values = language_row.row_of(state, *inputs)
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

    def _report_halving(self, tokens: int, rank: int) -> None:
        """Report that rank `rank` ran out of memory.

        All ranks now learn from at most `tokens` tokens at once.
        """
        step, ranks = self._session.last_step + 1, self._config.trainer.world
        self._session.note("out_of_memory", step=step, tokens_at_once=tokens, rank=rank)
        where = f" on rank {rank} of {ranks}" if ranks > 1 else ""
        safe_text.say(
            f"step {step}: out of memory{where}; continuing with at most {tokens} tokens at once "
            f"(trainer.tokens_at_once={tokens})"
        )

    def _raise_diverged(self, problem: str) -> None:
        self._record()
        advice = "lower the rate"
        if self._step.step == 1 and len(self._step.passes) <= 1:  # before any update
            advice = "the weights that the run starts from are at fault, not the rate"
        raise DivergedError(
            f"{self._session.run.path}: step {self._step.step}: loss and gradient must be "
            f"finite, got {problem} at algorithm.learning_rate "
            f"{self._config.algorithm.learning_rate:g}; {advice}"
        )
