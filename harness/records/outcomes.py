"""outcomes.json: what each conversation of the run's last evaluation came to.

metrics.jsonl has means. How much of their spread is of the user, of the seed or of chance is told
by the outcomes alone: the users, and the draws of each conversation with them, are the same in
every run (harness/train/metrics/held_out.py), so that runs are crossed with both.
"""

from __future__ import annotations

import json
import math
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.config.run import SCHEMA
from harness.errors import DataError
from harness.records import atomic, plain_file

OWN = "own"
"""The key of the run's own level, beside those of the named ones."""
SHORT = reprlib.Repr()
SHORT.maxlevel, SHORT.maxlist, SHORT.maxdict = 2, 3, 3
"""Shows what was given in a line."""
Outcomes = Sequence[Sequence[float | None]]
"""A row for each user, a number for each conversation with them; None where it was lost."""


@dataclass(frozen=True)
class LastEvaluation:
    """The outcomes of one evaluation."""

    step: int
    by_level: Mapping[str, Outcomes]
    """Final emotion / 100 by OWN and by named level, of those that were evaluated."""


def write(path: Path, step: int, by_level: Mapping[str, Sequence[Sequence[float]]]) -> None:
    """Replace the file by the evaluation of `step`; NaN is a lost conversation."""
    rewards = {
        level: [[None if math.isnan(value) else value for value in row] for row in rows]
        for level, rows in by_level.items()
    }
    value = {"schema": SCHEMA, "step": step, "reward": rewards}
    atomic.write_text(path, json.dumps(value, allow_nan=False) + "\n")


def read(path: Path) -> LastEvaluation:
    """Read the file. Raises DataError where it is missing, and where it has another shape: which
    rule it breaks, where, and with what.
    """
    try:
        value = json.loads(plain_file.text(path))
    except (ValueError, RecursionError) as error:
        rule = "must be JSON, as a run writes it"
        raise DataError(f"{path}: {rule}; got {plain_file.one_line(error)}") from error
    keys = value if isinstance(value, dict) else {}
    step, rewards = keys.get("step"), keys.get("reward")
    if type(step) is not int or step < 1:
        raise _other(f"{path}: step", "must be that of the evaluation, from 1", step)
    if not isinstance(rewards, dict) or not rewards:
        raise _other(f"{path}: reward", "must hold the outcomes by level", rewards)
    return LastEvaluation(
        step, {name: _rows(f"{path}: reward.{name}", rows) for name, rows in rewards.items()}
    )


def _rows(where: str, rows: Any) -> Outcomes:
    """Raises DataError unless all rows have one length and hold shares or None."""
    if not isinstance(rows, list) or not rows:
        raise _other(where, "must be a list with a row for each user", rows)
    for user, row in enumerate(rows):
        if not isinstance(row, list) or not row or len(row) != len(rows[0]):
            rule = "must be a list of one length for all users, a number a conversation"
            raise _other(f"{where}[{user}]", rule, row)
        for repeat, value in enumerate(row):
            if not _is_outcome(value):
                rule = "must lie between 0 and 1, or be null for a lost conversation"
                raise _other(f"{where}[{user}][{repeat}]", rule, value)
    return [[None if value is None else float(value) for value in row] for row in rows]


def _is_outcome(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and 0 <= value <= 1)


def _other(where: str, rule: str, given: Any) -> DataError:
    return DataError(f"{where}: {rule}; got {SHORT.repr(given)}")


def differing(path: Path, found: LastEvaluation, row: Mapping[str, Any]) -> str | None:
    """How the outcomes differ from the means in `row`, the metrics of their step; None where they
    do not.
    """
    for level, rows in found.by_level.items():
        column = "eval/reward" if level == OWN else f"eval/{level}/reward"
        known = [value for of_user in rows for value in of_user if value is not None]
        mean, logged = (sum(known) / len(known) if known else None), row.get(column)
        if not _alike(mean, logged):
            rule = f"must have the mean that row {found.step} has as {column}, {logged}"
            return f"{path}: reward.{level}: {rule}; got {mean}"
    return None


def _alike(mean: float | None, logged: Any) -> bool:
    if mean is None or type(logged) not in (int, float):
        return mean is logged
    return math.isclose(mean, logged, abs_tol=1e-9)
