"""The training loop of the tabular policy, in numpy, with the losses of language models.

A step is a rollout (`tabular_rollout.py`), an evaluation if one is due, and updates
(`tabular_update.py`); the session writes its row. `TrainState` is the state that the next step and
checkpoints need.
"""

from __future__ import annotations

import time
from contextlib import ExitStack, nullcontext

import numpy as np

from harness.errors import DivergedError
from harness.policy.tabular import TabularPolicy
from harness.simulator.scripted import kept_replies
from harness.train.loop import tabular_ledger, tabular_rounds, tabular_state
from harness.train.loop.adaptation import adaptation
from harness.train.loop.kept_conversations import NO_ROUNDS
from harness.train.loop.session import Session
from harness.train.loop.step_checks import RemedyWatch, SignalWatch
from harness.train.loop.tabular_evaluation import evaluated
from harness.train.loop.tabular_rollout import roll_out
from harness.train.loop.tabular_state import TrainState
from harness.train.loop.tabular_update import update_metrics
from harness.train.metrics import card
from harness.train.metrics.token_metrics import Metrics


def train(session: Session) -> None:
    """Train to the last step, from the checkpoint if there is one."""
    config = session.config
    run = TabularRun(session)
    session.begin(card.of_tabular(config))
    cache = kept_replies.reading_cache() if config.simulator.kind == "scripted" else nullcontext()
    with cache, ExitStack() as steps:
        steps.callback(session.end_deadline)  # leaving `cache` may wait for other processes
        for step in range(session.start + 1, config.trainer.steps + 1):
            unheard = run.step(step)
            session.finish_step(step, run.state.save, unheard)


class TabularRun:
    """Runs the steps of one attempt."""

    def __init__(self, session: Session) -> None:
        """Load the session's checkpoint, if any. Raises DataError if it is damaged."""
        self._session, self._config = session, session.config
        self._start = tabular_state.start_policy(session.config)
        self.state = tabular_state.begin(session.config, session.saved)
        """The state after the last step."""
        self._remedy_watch, self._signal_watch = RemedyWatch(session), SignalWatch(session)

    def step(self, step: int) -> str | None:
        """Run one step: rollout, evaluation if due, updates. Its row is on disk when this returns.

        Returns why the run must stop, if there is nothing to learn from; else None.
        """
        session, config, state = self._session, self._config, self.state
        stack, start = state.carried.stack, self._start
        began = time.monotonic()
        rollout = roll_out(state.policy, start, state.carried, step, session.poll)
        rollout_end = time.monotonic()
        evaluation = self._evaluate(step)
        eval_end = time.monotonic()
        batch = rollout.batch()
        kept, result = tabular_rounds.learn(
            state.kept, start, state.policy, batch, stack, config, step
        )
        update_end = time.monotonic()
        ledger, entries = tabular_ledger.update_ledger(
            state.ledger, bool(evaluation), state.is_booked, result, batch.acts, config
        )
        ledger_end = time.monotonic()
        values = {
            **rollout.metrics(start),
            **evaluation,
            **entries,
            **update_metrics(result),
            **(kept.metrics() if kept else NO_ROUNDS),
            **rollout.remedy_metrics(batch.selection, result.acted),
        }
        session.record(
            step,
            values,
            rollout.turn_records,
            rollout=rollout_end - began,
            eval=eval_end - rollout_end,
            update=update_end - eval_end,
            ledger=ledger_end - update_end,
            measures=time.monotonic() - ledger_end,
        )
        self._check_finite(result.policy, result.gradient_norm, step)
        self._remedy_watch.check(step, values["remedy/acted"])
        carried = rollout.carried_on(batch.selection, f"{session.run.path}: step {step}")
        inner = stack.algorithm.inner_step(step, config)
        slow, policy = tabular_state.outer_step(state.slow, result.policy, inner)
        self.state = TrainState(policy, carried, ledger, slow, kept)
        return self._signal_watch.check(step, values, rollout.signal.advantages)

    def _evaluate(self, step: int) -> Metrics:
        """Return the metrics of the evaluation before step `step`; empty if none is due.

        Raises EndpointError if the evaluation lost too many served users.
        """
        session, policy = self._session, self.state.evaluated
        evaluation = evaluated(session, policy, step)
        if evaluation:
            inputs = policy, self._start, self.state.carried.stack, self.state.carried.critic
            evaluation |= adaptation(*inputs, self._config, step, session.poll)
        session.judge_evaluation(step, evaluation)
        return evaluation

    def _check_finite(self, policy: TabularPolicy, gradient_norm: float, step: int) -> None:
        """Raise DivergedError if the updated logits are not finite."""
        if not np.isfinite(policy.table).all():
            raise DivergedError(
                f"{self._session.run.path}: step {step}: logits must be finite after an update, "
                f"got gradient norm {gradient_norm:g} at algorithm.learning_rate "
                f"{self._config.algorithm.learning_rate:g}; lower the rate"
            )
