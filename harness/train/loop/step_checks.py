"""Checks after each step, which warn or end a run that trains on nothing, or wrongly.

* SignalWatch: the users do not understand the replies, or no group has an advantage.
* RemedyWatch: the remedy has changed nothing so far.
* GapWatch: the engine that samples and the trainer give one token different log-probabilities. An
  engine in bfloat16 with kernels of its own differs by some 0.015 nats a token; one whose weights
  were not synced differed by 0.20, and nothing else showed it (huggingface/trl issue 5312).
"""

from __future__ import annotations

import itertools
import math
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
"""RemedyWatch warns if the remedy acts on no token in the first so many steps of an attempt."""
LIMITS = {0.5: 3, 0.1: 20}
"""GapWatch: gap in nats a token -> steps in a row with a wider gap after which the run ends. A gap
above the smallest is warned of at once: it is seven times what rounding makes, and half of what
stale weights made.
"""
GAP = "sampling/sampling_logp_difference/mean"


MOST_FLAGGED = 0.5
"""SignalWatch: share of a step's replies that users may take for not being language."""
SILENT_STEPS, SILENT_GROUPS = 3, 24
"""SignalWatch: a run stops after so many steps in a row without any advantage, and not before they
had so many groups together: a few groups of demanding users may all lack a signal by chance."""


class SignalWatch:
    """Ends a run, or warns, when its batches hold nothing to learn from.

    It does so once each time that this begins, so a run that is resumed afterwards goes on: the
    rows up to its checkpoint show that it was told.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        groups = max(1, session.config.trainer.conversations // session.config.algorithm.group_size)
        self._most_silent = max(SILENT_STEPS, math.ceil(SILENT_GROUPS / groups))
        self._silent_steps = _silent_steps(session, self._most_silent)
        flagged = session.start > 0 and _share(session.row(session.start), None) > MOST_FLAGGED
        self._told = flagged or self._silent_steps >= self._most_silent

    def check(
        self, step: int, row: Mapping[str, float | None], advantages: FloatArray
    ) -> str | None:
        """Take in row `step` and the advantages of its batch; return why the run must stop here,
        None if it goes on.
        """
        self._silent_steps = 0 if np.nan_to_num(advantages).any() else self._silent_steps + 1
        why = None
        if (row["text/flagged"] or 0.0) > MOST_FLAGGED:
            share, rule = row["text/flagged"] or 0.0, max(LANGUAGE_RULES, key=partial(_share, row))
            why = (
                f"{share:.0%} of the replies are no language to the users, most by the rule {rule} "
                "(text/flagged), so that hardly anything is learnt"
            )
        elif self._silent_steps >= self._most_silent:
            cause = "within each group all rewards are equal (frac_reward_zero_std)"
            if row["frac_reward_zero_std"] != 1:
                kind = self._session.config.algorithm.kind
                cause = f"rewards differ too little for algorithm.kind={kind}"
            why = f"no advantage in {self._most_silent} steps: {cause}, so that nothing is learnt"
        elif not self._silent_steps:
            self._told = False
        if why is None or self._told:
            return None
        self._told = True
        self._session.note("unheard", step=step, why=why)
        config = self._session.config
        learns = config.policy.init != "random" and not config.algorithm.null_control
        may_stop = config.trainer.stop_unheard and learns
        if not may_stop or step >= config.trainer.steps:
            safe_text.say(f"step {step}: {why}")
            return None
        return (
            f"{why}; `harness resume {self._session.run.path}` goes on all the same, and with "
            "trainer.stop_unheard=false no run stops for this"
        )


def _silent_steps(session: Session, most: int) -> int:
    """Return how many of the last rows, `most` at most, had no advantage: those in an unbroken
    series up to the checkpoint.
    """
    last = range(session.start, max(0, session.start - most), -1)
    silent = (session.row(step)["cov/mean"] == 0 for step in last)  # as all advantages are
    return sum(1 for _ in itertools.takewhile(bool, silent))


def _share(row: Mapping[str, float | None], rule: str | None) -> float:
    """Share of a row's replies that were flagged, by `rule`, or by any if it is None. Rows of
    versions that did not count by rule have 0.
    """
    return row.get("text/flagged" if rule is None else f"text/flagged/{rule}") or 0.0


class RemedyWatch:
    """Warns once if a run's remedy has changed nothing, so that the run is one without a remedy."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._idle: int | None = 0

    def check(self, step: int, acted: float | None) -> None:
        """Take in `acted`: remedy/acted of row `step`, None without a remedy."""
        if self._idle is None or acted is None:
            return
        self._idle = self._idle + 1 if acted == 0 else None
        if self._idle == IDLE_STEPS:
            name = self._session.config.remedy.name
            self._session.note("remedy_inactive", step=step, steps=IDLE_STEPS)
            safe_text.say(
                f"step {step}: remedy={name} has acted on no token in {IDLE_STEPS} steps: so far "
                "this run is one without it (remedy/acted, docs/remedies.md)"
            )


def gap_metrics(trainer: FloatArray, engine: FloatArray, corrected: bool) -> dict[str, float]:
    """Columns on how far the engine's log-probabilities are from the trainer's, before the update.

    `trainer`, `engine`: log-probabilities of the same tokens, shape (tokens,); `corrected`: whether
    the loss weighs tokens by the ratio of the two, which then has columns as well.
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
    """Warns of a wide gap between engine and trainer, and ends a run in which it persists."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._steps = dict.fromkeys(LIMITS, 0)

    def check(self, step: int, gap_nats: float) -> None:
        """Take in the mean gap of row `step`, in nats a token.

        Raises StoppedError once it has been above a limit for that limit's steps in a row.
        """
        for limit in LIMITS:
            within = gap_nats <= limit  # False for nan
            self._steps[limit] = 0 if within else self._steps[limit] + 1
        self._warn(step, gap_nats)
        for limit, most in LIMITS.items():
            if self._steps[limit] >= most and step < self._session.config.trainer.steps:
                raise StoppedError(
                    f"{self._session.run.path}: step {step}: engine gap: the log-probabilities of "
                    f"{engine_choice.chosen(self._session.config)} and of the trainer must agree "
                    f"within {limit:g} nats a token, differed by {gap_nats:.3f} and by more than "
                    f"{limit:g} for {most} steps; a run with trainer.engine=transformers has no "
                    f"such gap, `harness resume` goes on with this one"
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
