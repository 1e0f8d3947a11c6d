"""One followed log: its new rows, the advice after them, and the fit of the law so far.

A run's rows are read as they are written. The log of another program, in any format that
harness/law reads, is read as a whole once it has grown. Reading may cost SHARE of a core, so the
next one waits until the last one is paid for. The law is fitted again after a quarter more rows,
about 30 times in a run of 1,000 steps.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from harness.errors import DataError
from harness.law import one_run
from harness.law.io import clean, columns, identity, reading
from harness.law.io.columns import ColumnOptions
from harness.law.io.discover import DiscoveredRun
from harness.law.io.identity import FolderIdentity
from harness.law.io.table import ReadError
from harness.law.results import Onset
from harness.law.settings import setting
from harness.records import holder, metric_rows, plain_file, run_state, run_status
from harness.records.run_folder import RunFolder
from harness.stopping import rule
from harness.stopping.curve import RewardCurve, RewardRange
from harness.stopping.rule import StopAdvice

SHARE = 0.004
GROWN = 1.25
"""The law is fitted again once there are so many times the rows it was fitted on."""
KEPT = ("step", "entropy", columns.EVALUATION)
NO_ROWS = "metrics.jsonl has no rows"
SOUND = ("missing_reward", "missing_entropy", "missing_step", "duplicate_step")
"""Reasons why a row of another program's log is no point, though no line is damaged."""


@dataclass(frozen=True)
class LogState:
    """The current state of a log. A value that the log does not have is None."""

    run: str
    status: str = "no rows yet"
    reason: str | None = None
    ended: bool = False
    step: int = 0
    steps: int | None = None
    """Steps planned."""
    entropy: float | None = None
    reward: float | None = None
    reward_column: str = columns.EVALUATION
    """What `reward` is of: held-out users, or a column of another program's log."""
    regime: str | None = None
    onset: Onset | None = None
    advice: StopAdvice | None = None
    uncalibrated: str | None = None
    """Why the advice was not measured on logs of this kind; None where it was."""
    damaged: int = 0
    """Lines that are no rows, and rows with a reward that there cannot be."""
    rule: str | None = None
    """The rule that ended the run."""


@dataclass(frozen=True)
class FollowOptions:
    """How logs are followed: the columns to read, and what the files do not state."""

    choice: ColumnOptions
    steps: int | None = None
    idle_s: float = 600.0
    """A log of another program counts as ended once it has not grown for so long."""


@dataclass
class _MetricRows:
    """The rows of a run's own metrics.jsonl that were read so far."""

    read_bytes: int = 0
    damaged: int = 0
    by_step: dict[int, tuple[float | None, ...]] = field(default_factory=dict)

    def read_new(self, run: RunFolder) -> bool:
        """Read the whole lines that are new. Return whether there were any. Raises OSError."""
        with open(run.metrics, "rb", opener=plain_file.opener) as file:
            if file.seek(0, os.SEEK_END) < self.read_bytes:  # begun anew
                self.read_bytes, self.damaged, self.by_step = 0, 0, {}
            file.seek(self.read_bytes)
            new = file.read()
        complete = new[: new.rfind(b"\n") + 1]
        self.read_bytes += len(complete)
        for line in complete.splitlines():
            row = _row(line)
            if row is None:
                self.damaged += 1
            else:
                self.by_step[int(row[0] or 0)] = row[1:]
        return bool(complete)

    def curve(self, bounds: tuple[float, float] | None = None) -> RewardCurve:
        table = [(step, *row) for step, row in sorted(self.by_step.items())]
        rows = np.array(table, dtype=np.float64).reshape(-1, len(KEPT))
        evaluated, measured = np.isfinite(rows[:, 2]), np.isfinite(rows[:, 1])
        if bounds is not None:
            evaluated &= (rows[:, 2] >= bounds[0]) & (rows[:, 2] <= bounds[1])
        return RewardCurve(rows[evaluated, 0], rows[evaluated, 2], rows[measured, 1])


def _row(line: bytes) -> tuple[float | None, ...] | None:
    """Return the columns KEPT of a line, or None if it is damaged or no row."""
    try:
        row = json.loads(line)
        values = tuple(row.get(name) for name in KEPT)
    except (ValueError, RecursionError, AttributeError):
        return None
    is_numeric = all(v is None or type(v) in (int, float) for v in values)
    is_numeric = is_numeric and not any(
        abs(v) >= metric_rows.LARGEST for v in values if v is not None
    )
    has_step = type(values[0]) is int and values[0] > 0
    return (
        values
        if is_numeric and has_step and metric_rows.checksum_matches(line) is not False
        else None
    )


class FollowedLog:
    """A log that is looked at repeatedly."""

    def __init__(self, discovered: DiscoveredRun, following: FollowOptions) -> None:
        self._found, self._following = discovered, following
        self._view = LogState(discovered.run)
        self._rows = _MetricRows()
        self._next_s = 0.0
        self._size, self._grew_s = -1, time.monotonic()
        self._seen_rows = self._fitted_rows = 0
        self._fitting_s, self._reads = 0.0, 0
        self._who: FolderIdentity | None = None

    def read_state(self) -> LogState:
        """Return the log's state now, or as last read if that is not yet paid for."""
        now = time.monotonic()
        if now >= self._next_s and not self._view.ended:
            began, self._fitting_s = time.process_time(), 0.0
            self._view = self._current_state(now)
            reading_s = time.process_time() - began - self._fitting_s
            self._next_s = now + reading_s / SHARE if self._reads else now
            self._reads += 1  # the first one also imports what reads, once in the process
        return self._view

    def _current_state(self, now: float) -> LogState:
        if self._found.folder is None:
            return self._foreign_log_state(now)
        if self._who is None or self._who.config is None:  # a run keeps its config
            self._who = identity.read(self._found.folder)
        return self._run_state(RunFolder(self._found.folder), self._who)

    def _run_state(self, run: RunFolder, folder_identity: FolderIdentity) -> LogState:
        """Read the status before the rows, so that all rows of a run that has ended are seen."""
        is_held, state = holder.holder(run) is not None, run_state.of(run)
        status, reason = state.status, run_state.reason_alone(run.path, state.status, state.reason)
        ended = status in run_state.ENDED and not is_held
        ending_rule = _rule(run) if status == "done" else None
        view = replace(self._view, status=status, reason=reason, ended=ended, rule=ending_rule)
        try:
            has_new_rows = self._rows.read_new(run)
        except OSError:
            return view  # its first row is still to come
        if not has_new_rows and not self._rows.by_step:
            return LogState(self._found.run, status, reason or NO_ROWS, ended, rule=ending_rule)
        if not has_new_rows:
            return self._with_law(view, folder_identity) if ended else view
        rows, steps = self._rows, setting(folder_identity.config, "trainer", "steps")
        curve = rows.curve(self._following.choice.reward_range)
        outside_range = len(rows.curve().steps) - len(curve.steps)
        planned = steps if isinstance(steps, int) else self._following.steps
        view = replace(view, steps=planned, damaged=rows.damaged + outside_range)
        view = replace(view, uncalibrated=_why_uncalibrated(folder_identity))
        return self._with_advice(
            view, curve, max(rows.by_step, default=0), self._unit(True, curve), folder_identity
        )

    def _foreign_log_state(self, now: float) -> LogState:
        """Read the log of another program if it has grown."""
        path, following = self._found.metrics, self._following
        if path is None:
            problem = self._found.problem
            return replace(self._view, status="unreadable", ended=True, reason=str(problem))
        size = path.stat().st_size if path.exists() else 0
        if size == self._size:
            if now - self._grew_s < following.idle_s:
                return self._view
            return self._with_law(replace(self._view, ended=True, status="ended"), FolderIdentity())
        self._size, self._grew_s = size, now
        try:
            column_names = columns.columns_to_read(following.choice, ())
            table = reading.read(path, column_names, True, following.choice.step)
            chosen = columns.choose_columns(table, following.choice, False)
        except ReadError as error:
            return replace(self._view, status="unreadable", reason=error.problem.message)
        cleaned = clean.clean(table, chosen.entropy, chosen.reward, following.choice.reward_range)
        points = cleaned.points
        curve = RewardCurve(points.steps, points.reward, cleaned.entropy)
        last = int(cleaned.steps.max(initial=0))
        kind = "rows of another program"
        kind += "" if following.steps else " with an unknown last step (give --steps)"
        damaged = sum(n for why, n in cleaned.dropped.items() if why not in SOUND)
        view = replace(
            self._view, status="running", reason=None, steps=following.steps, damaged=damaged,
            uncalibrated=kind, reward_column=chosen.reward,
        )  # fmt: skip
        return self._with_advice(view, curve, last, self._unit(False, curve), FolderIdentity())

    def _unit(self, ours: bool, curve: RewardCurve) -> RewardRange:
        """Return the range of the reward: as the user states it, of our column, or as observed."""
        bounds = self._following.choice.reward_range or ((0.0, 1.0) if ours else None)
        return (
            RewardRange.observed(curve)
            if bounds is None
            else RewardRange(bounds[1] - bounds[0], bounds[1])
        )

    def _with_advice(
        self,
        view: LogState,
        curve: RewardCurve,
        step: int,
        reward_range: RewardRange,
        folder_identity: FolderIdentity,
    ) -> LogState:
        view = replace(
            view,
            step=step,
            entropy=float(curve.entropy[-1]) if len(curve.entropy) else None,
            reward=float(curve.reward[-1]) if len(curve.reward) else None,
            advice=_advice(curve, step, view.steps, reward_range),
        )
        self._seen_rows = len(curve.entropy)
        return self._with_law(view, folder_identity)

    def _with_law(self, view: LogState, folder_identity: FolderIdentity) -> LogState:
        """Fit the law again if a quarter more rows were seen, or at the end if any were."""
        rows, fitted_rows = self._seen_rows, self._fitted_rows
        if not (rows > fitted_rows if view.ended else rows >= GROWN * fitted_rows):
            return view
        self._fitted_rows, began = rows, time.process_time()
        result = one_run.analyse(self._found, folder_identity, self._following.choice).result
        self._fitting_s = time.process_time() - began
        if result.status != "ok":
            return view
        return replace(view, regime=result.regime, onset=result.onset)


def _advice(
    curve: RewardCurve, step: int, last: int | None, reward_range: RewardRange
) -> StopAdvice:
    """Return the advice of the rule if steps remain."""
    if last is None or step < last:
        return rule.advise(curve, last, reward_range)
    if step == last:
        return StopAdvice("watch", f"no steps are left: {last} is the last step", step)
    return StopAdvice("watch", f"no advice: step {step} is beyond the last step, {last}", step)


def _rule(run: RunFolder) -> str | None:
    """Return the rule that ended the run, or None if no rule did or the run went on since."""
    with contextlib.suppress(DataError):
        status = run_status.read(run.status)
        if not status.is_over and status.stopped_by_rule:
            return str(status.stopped_by_rule.get("rule"))
    return None


def _why_uncalibrated(folder_identity: FolderIdentity) -> str | None:
    """Return why the advice was not calibrated for such a run, or None if it was."""
    config: Mapping[str, Any] = folder_identity.config or {}
    if setting(config, "policy", "kind") != "tabular":
        return "measured on policy=tabular only"
    if folder_identity.null_control:
        return "a null control gains only by chance"
    if setting(config, "curriculum", "kind") not in (None, "none"):
        return "measured without a curriculum"
    options = setting(config, "algorithm", "options")
    if isinstance(options, Mapping) and options.get("fit_from") == "start":
        return "reward is constant until a round of algorithm.options.round_steps ends"
    return None
