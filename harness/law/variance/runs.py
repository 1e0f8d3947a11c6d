"""Read runs for the analysis of variance: their settings, outcomes and cost.

Only finished, undamaged run folders of harness are used. A run that stopped half way has a
different policy, and damage to rows changes the means.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import DataError
from harness.law.compare import groups
from harness.law.estimate import entropy_ledger
from harness.law.estimate.entropy_ledger import EntropyLedger
from harness.law.estimate.yardsticks import PREFIX
from harness.law.io import discover, identity, reading
from harness.law.io.table import LogTable, ReadError
from harness.law.result_parts import SkippedPath
from harness.law.results import Floats
from harness.law.settings import setting
from harness.law.variance import damage, run_cost
from harness.law.variance.run_cost import RunCost
from harness.records import outcomes
from harness.records.outcomes import OWN
from harness.records.run_folder import RunFolder

MEASURES = ("reward", "reward_se", "within_sd", "between_sd", "listening")


@dataclass(frozen=True)
class RunAtLevel:
    """A counted run at the requested level."""

    run: str
    seed: int
    axes: Mapping[str, Any]
    """Dotted config key -> value, without the seed."""
    outcomes: Floats | None
    """Outcomes of the last evaluation, shape (users, repeats); None if the run has none."""
    columns: Mapping[str, float]
    """The last measured value of each of MEASURES that the log has."""
    users: int | None
    repeats: int | None
    levels: int
    """The number of levels in an evaluation."""
    cost: RunCost | None
    ledger: EntropyLedger | None
    """None if the run kept none: eval.ledger=false, eval.ledger_draws=0 with a language model, or
    an older version."""
    conversations: int | None
    """Conversations per step."""


def read(paths: Sequence[Path], level: str) -> tuple[list[RunAtLevel], list[SkippedPath]]:
    """Read the finished runs at or below `paths`, at `level` (OWN or a name).

    Null controls are left out, because they learn nothing. Of several runs with the same config and
    seed only the last is kept. The second list has the runs left out, with reasons.
    """
    discovered = discover.discover(paths)
    by_key: dict[str, RunAtLevel] = {}
    skipped = list(discovered.skipped)
    for run in discovered.runs:
        outcome = (
            _read_run(run.folder, run.run, level) if run.folder else _reason_without_folder(run)
        )
        if isinstance(outcome, str):
            skipped.append(SkippedPath(run.run, outcome))
            continue
        key = json.dumps([outcome.axes, outcome.seed], sort_keys=True, default=str)
        if key in by_key:
            skipped.append(SkippedPath(by_key[key].run, f"repeat of {outcome.run}"))
        by_key[key] = outcome
    return list(by_key.values()), skipped


def _reason_without_folder(run: discover.DiscoveredRun) -> str:
    if run.problem is None:
        return "a log has no outcomes of single users: a run folder of harness is needed"
    return run.problem.message.removeprefix(f"{run.run}: ")


def _read_run(folder: Path, name: str, level: str) -> RunAtLevel | str:
    """Read a run, or return why it is left out."""
    folder_identity = identity.read(folder)
    if folder_identity.config is None or folder_identity.seed is None:
        return "not a run folder, or its config has no seed"
    if folder_identity.status != "done":
        return f"not done: {folder_identity.status or 'no status'}"
    if folder_identity.null_control:
        return "a null control"
    run = RunFolder(folder)
    names = [f"{PREFIX[level]}/{measure}" for measure in MEASURES]
    try:
        table = reading.read(run.metrics, ["step", *names, *entropy_ledger.COLUMNS])
    except ReadError as error:
        return error.problem.message
    if damaged := damage.row_damage(table, folder_identity):
        return damaged
    columns = dict(_last_values(table, level))
    if "reward" not in columns:
        return f"not evaluated at {level}" if level != OWN else "not evaluated"
    try:
        last_outcomes = _outcomes(run, level, table)
    except DataError as error:
        return f"damaged: {error}"
    config = folder_identity.full_config or {}
    levels = set(setting(config, "eval", "levels") or ()) | {folder_identity.level}
    return RunAtLevel(
        run=name,
        seed=folder_identity.seed,
        axes=groups.flatten_config(dict(config)),
        outcomes=last_outcomes,
        columns=columns,
        users=_count(setting(config, "eval", "users")),
        repeats=_count(setting(config, "eval", "repeats")),
        levels=len(levels),
        cost=run_cost.read(run.events, _evaluated_steps(table, level)),
        ledger=entropy_ledger.read(table.columns),
        conversations=_count(setting(config, "trainer", "conversations")),
    )


def _count(value: Any) -> int | None:
    return value if type(value) is int and value > 0 else None


def _last_values(table: LogTable, level: str) -> Iterator[tuple[str, float]]:
    for measure in MEASURES:
        column = f"{PREFIX[level]}/{measure}"
        if column in table.names:
            values = table.columns[column]
            measured = values[np.isfinite(values)]
            if len(measured):
                yield measure, float(measured[-1])


def _evaluated_steps(table: LogTable, level: str) -> set[int]:
    """Return the steps with an evaluation. All levels are evaluated at the same steps."""
    steps, rewards = table.columns["step"], table.columns[f"{PREFIX[level]}/reward"]
    return {int(step) for step in steps[np.isfinite(steps) & np.isfinite(rewards)]}


def _outcomes(run: RunFolder, level: str, table: LogTable) -> Floats | None:
    """Read the outcomes at a level; None if there are none. Raise DataError for a damaged file."""
    if not run.outcomes.exists():
        return None
    evaluation = outcomes.read(run.outcomes)
    if level not in evaluation.by_level:
        return None
    at_level = replace(evaluation, by_level={level: evaluation.by_level[level]})
    if difference := damage.outcome_damage(run, at_level, table, f"{PREFIX[level]}/reward"):
        raise DataError(difference)
    return np.array(evaluation.by_level[level], dtype=float)
