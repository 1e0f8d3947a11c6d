"""Checks after each step. They warn, or end a run that has no training signal or a wrong one.

* SignalWatch: the users do not understand the replies, or no group has an advantage.
* RemedyWatch: the remedy has changed nothing so far.
* GapWatch: the sampling engine and the trainer assign different log-probabilities to a token. The
  gap of an engine in bfloat16 with its own kernels is about 0.015 nats per token; that of an engine
  whose weights were not synced was 0.20, with no other sign (huggingface/trl issue 5312).
"""

from __future__ import annotations

import itertools
import math
import shlex
from collections.abc import Mapping
from functools import partial

import numpy as np

from harness.config import engine_choice
from harness.config.simulator import LANGUAGE_RULES
from harness.errors import StoppedError
from harness.train.loop.session import Session
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.policy_gradient.losses import MOST_IMPORTANCE
from harness.utils import safe_text

IDLE_STEPS = 20
"""RemedyWatch warns if the remedy changes no token in this many first steps of an attempt."""
LIMITS = {0.5: 3, 0.1: 20}
"""GapWatch: gap in nats per token -> number of steps in a row with a larger gap after which the run
ends. A gap above the smallest limit causes a warning at once: that is seven times the rounding
error, and half of the gap that stale weights caused.
"""
GAP = "sampling/sampling_logp_difference/mean"

MOST_FLAGGED = 0.5
"""SignalWatch: largest share of a step's replies that users may flag as not being language."""
SILENT_STEPS, SILENT_GROUPS = 3, 24
"""SignalWatch: a run ends after this many steps in a row without any advantage, if they have at
least this many groups in total; a few groups of demanding users may all lack a signal by chance.
"""


class SignalWatch:
    """Ends a run, or warns, when there is nothing to learn from its batches.

    It does so once per series of such batches, so the run can be resumed afterwards: the rows up to
    the checkpoint show that the series was already reported.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        groups = max(1, session.config.trainer.conversations // session.config.algorithm.group_size)
        self._most_silent = max(SILENT_STEPS, math.ceil(SILENT_GROUPS / groups))
        self._silent_steps = _silent_steps(session, self._most_silent)
        flagged = session.start > 0 and _share(session.row(session.start), None) > MOST_FLAGGED
        self._reported = flagged or self._silent_steps >= self._most_silent

    def check(
        self, step: int, row: Mapping[str, float | None], advantages: FloatArray
    ) -> str | None:
        """Check row `step` and its batch's advantages. Return why the run must end, or None."""
        self._silent_steps = 0 if np.nan_to_num(advantages).any() else self._silent_steps + 1
        why = None
        if (row["text/flagged"] or 0.0) > MOST_FLAGGED:
            share, rule = row["text/flagged"] or 0.0, max(LANGUAGE_RULES, key=partial(_share, row))
            why = (
                f"users do not recognise {share:.0%} of the replies as language, mostly by the "
                f"rule {rule} (text/flagged), so hardly anything is learnt"
            )
        elif self._silent_steps >= self._most_silent:
            cause = "within each group all rewards are equal (frac_reward_zero_std)"
            if row["frac_reward_zero_std"] != 1:
                kind = self._session.config.algorithm.kind
                cause = f"rewards differ too little for algorithm.kind={kind}"
            why = f"no advantage in {self._most_silent} steps: {cause}, so nothing is learnt"
        elif not self._silent_steps:
            self._reported = False
        if why is None or self._reported:
            return None
        self._reported = True
        self._session.note("unheard", step=step, why=why)
        config = self._session.config
        learns = config.policy.init != "random" and not config.algorithm.null_control
        may_stop = config.trainer.stop_unheard and learns
        if not may_stop or step >= config.trainer.steps:
            safe_text.say(f"step {step}: {why}")
            return None
        return (
            f"{why}; `harness resume {shlex.quote(str(self._session.run.path))}` continues "
            "anyway; with "
            "trainer.stop_unheard=false runs do not stop for this"
        )


def _silent_steps(session: Session, limit: int) -> int:
    """Return how many rows in a row, `limit` at most, had no advantage up to the checkpoint."""
    steps = range(session.start, max(0, session.start - limit), -1)
    silent = (session.row(step)["cov/mean"] == 0 for step in steps)  # 0 if all advantages are 0
    return sum(1 for _ in itertools.takewhile(bool, silent))


def _share(row: Mapping[str, float | None], rule: str | None) -> float:
    """Return the share of a row's replies that were flagged by `rule`; by any rule if None.

    It is 0 for rows of versions that did not count by rule.
    """
    return row.get("text/flagged" if rule is None else f"text/flagged/{rule}") or 0.0


class RemedyWatch:
    """Warns once if a run's remedy has changed nothing, which makes it a run without a remedy."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._idle: int | None = 0

    def check(self, step: int, acted: float | None) -> None:
        """Check `acted`, the metric remedy/acted of row `step`; None without a remedy."""
        if self._idle is None or acted is None:
            return
        self._idle = self._idle + 1 if acted == 0 else None
        if self._idle == IDLE_STEPS:
            name = self._session.config.remedy.name
            self._session.note("remedy_inactive", step=step, steps=IDLE_STEPS)
            safe_text.say(
                f"step {step}: remedy={name} has acted on no token in {IDLE_STEPS} steps: so far "
                "the run is the same as without it (remedy/acted, docs/remedies.md)"
            )


def gap_metrics(trainer: FloatArray, engine: FloatArray, corrected: bool) -> dict[str, float]:
    """Return metrics of the gap between the trainer's and the engine's log-probabilities.

    `trainer`, `engine`: log-probabilities of the same tokens before the update, shape (tokens,);
    `corrected`: whether the loss weights tokens by the ratio of the two, whose metrics are then
    included.
    """
    gap = np.abs(trainer - engine)
    values = {
        GAP: float(gap.mean()),
        "sampling/sampling_logp_difference/max": float(gap.max()),
    }
    if corrected:
        ratio = np.minimum(np.exp(trainer - engine), MOST_IMPORTANCE)
        for name, value in (("min", ratio.min()), ("mean", ratio.mean()), ("max", ratio.max())):
            values[f"sampling/importance_sampling_ratio/{name}"] = float(value)
    return values


class GapWatch:
    """Warns of a large gap between engine and trainer, and ends the run if it persists."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._steps = dict.fromkeys(LIMITS, 0)

    def check(self, step: int, gap_nats: float) -> None:
        """Check the mean gap of row `step`, in nats per token.

        Raises StoppedError after a limit has been exceeded for its number of steps in a row.
        """
        for limit in LIMITS:
            within = gap_nats <= limit  # False for nan
            self._steps[limit] = 0 if within else self._steps[limit] + 1
        self._warn(step, gap_nats)
        for limit, count in LIMITS.items():
            if self._steps[limit] >= count and step < self._session.config.trainer.steps:
                raise StoppedError(
                    f"{self._session.run.path}: step {step}: engine gap: the log-probabilities of "
                    f"{engine_choice.engine_of(self._session.config)} and of the trainer must "
                    f"agree within {limit:g} nats a token, differed by {gap_nats:.3f} and by more "
                    f"than {limit:g} for {count} steps; a run with trainer.engine=transformers has "
                    f"no such gap, `harness resume` continues this one"
                )

    def _warn(self, step: int, gap_nats: float) -> None:
        limit = min(LIMITS)
        if self._steps[limit]:
            finite = gap_nats if math.isfinite(gap_nats) else None
            self._session.note("engine_gap", step=step, nats=finite)
        if self._steps[limit] == 1:
            safe_text.say(
                f"step {step}: the engine's log-probabilities differ from the trainer's by "
                f"{gap_nats:.3f} nats a token, more than {limit:g}: are its weights stale?"
            )
