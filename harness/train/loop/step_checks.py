"""Checks of a run's rows, step by step: a remedy that does not act, an engine that drifts, replies
that nothing is learnt from.

In bfloat16, with kernels of its own, an engine's log-probabilities are some 0.015 nats a token off
the trainer's; with weights that were not synced they were 0.20 off (huggingface/trl issue 5312),
and nothing else showed it.
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
"""Steps of an attempt in which a remedy must have acted once."""
LIMITS = {0.5: 3, 0.1: 20}
"""Gap in nats a token -> steps in a row after which a wider one ends the run. The smallest is
warned of from the first step: seven times what rounding does, half of what stale weights did.
"""
GAP = "sampling/sampling_logp_difference/mean"


MOST_FLAGGED = 0.5
"""Share of a step's replies that may be no language to the users."""
SILENT_STEPS, SILENT_GROUPS = 3, 24
"""Steps in a row without any advantage after which a run stops, and groups that they must have: of
a few groups with demanding users, all are silent now and then."""


class SignalWatch:
    """Says when there is nothing to learn from; once for each time that it begins.

    A run that is resumed after it was told so goes on: the rows up to its checkpoint say that it
    was.
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
        """Note row `step` and the advantages of its batch; why the run stops here, if it does."""
        self._silent_steps = 0 if np.nan_to_num(advantages).any() else self._silent_steps + 1
        why = None
        if (row["text/flagged"] or 0.0) > MOST_FLAGGED:
            share, rule = row["text/flagged"] or 0.0, max(LANGUAGE_RULES, key=partial(_share, row))
            why = (
                f"{share:.0%} of the replies are no language to the users, most by the rule {rule} "
                "(text/flagged), so that hardly anything is learnt"
            )
        elif self._silent_steps >= self._most_silent:
            why = (
                f"no advantage in {self._most_silent} steps: within each group all rewards are "
                "equal (frac_reward_zero_std), so that nothing is learnt"
            )
        elif not self._silent_steps:
            self._told = False
        if why is None or self._told:
            return None
        self._told = True
        self._session.note("unheard", step=step, why=why)
        config = self._session.config
        may_stop = config.trainer.stop_unheard and config.policy.init != "random"
        if not may_stop or step >= config.trainer.steps:
            safe_text.say(f"step {step}: {why}")
            return None
        return (
            f"{why}; `harness resume {self._session.run.path}` goes on all the same, and with "
            "trainer.stop_unheard=false no run stops for this"
        )


def _silent_steps(session: Session, most: int) -> int:
    """Return how many rows in a row, of `most`, are silent up to that which a run goes on from."""
    last = range(session.start, max(0, session.start - most), -1)
    silent = (session.row(step)["frac_reward_zero_std"] == 1 for step in last)
    return sum(1 for _ in itertools.takewhile(bool, silent))


def _share(row: Mapping[str, float | None], rule: str | None) -> float:
    """Share of a row's replies that were flagged, by one rule or by any; rows of before have none
    by rule.
    """
    return row.get("text/flagged" if rule is None else f"text/flagged/{rule}") or 0.0


class RemedyWatch:
    """Warns once if a run's remedy has not acted: its numbers are then those of a run without."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._idle: int | None = 0

    def check(self, step: int, acted: float | None) -> None:
        """Note `acted`, remedy/acted of row `step`, which is None without a remedy."""
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
    """The gap between two log-probabilities of the same tokens, before the update.

    `trainer`, `engine`: shape (tokens,); `corrected`: whether the loss weighs tokens by their
    ratio, which is then measured too.
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
        """Note the gap of row `step`.

        Raises StoppedError once it has been too wide for too many steps in a row.
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
