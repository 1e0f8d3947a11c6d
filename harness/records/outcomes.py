"""outcomes.json: the outcome of each conversation of the run's last evaluation.

metrics.jsonl contains only means. Their variance can be split into parts for users, seeds and
chance only with the single outcomes. Users and the random draws of each conversation are the same
in every run (harness/train/metrics/held_out.py), so that runs are crossed with both.
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
"""Key of the run's own level, next to the names of the named levels."""
SHORT = reprlib.Repr()
SHORT.maxlevel, SHORT.maxlist, SHORT.maxdict = 2, 3, 3
"""Abbreviates values in error messages."""
Outcomes = Sequence[Sequence[float | None]]
"""One row per user, one number per conversation with them; None for a failed conversation."""


@dataclass(frozen=True)
class LastEvaluation:
    """The outcomes of one evaluation."""

    step: int
    by_level: Mapping[str, Outcomes]
    """Level (OWN or a named level) -> final emotions / 100. Only the levels evaluated."""


def write(path: Path, step: int, by_level: Mapping[str, Sequence[Sequence[float]]]) -> None:
    """Replace the file by the evaluation of `step`. NaN marks a failed conversation."""
    rewards = {
        level: [[None if math.isnan(value) else value for value in row] for row in rows]
        for level, rows in by_level.items()
    }
    value = {"schema": SCHEMA, "step": step, "reward": rewards}
    atomic.write_text(path, json.dumps(value, allow_nan=False) + "\n")


def read(path: Path) -> LastEvaluation:
    """Read the file. Raises DataError if it is missing or malformed."""
    try:
        value = json.loads(plain_file.text(path))
    except (ValueError, RecursionError) as error:
        rule = "must be JSON, as a run writes it"
        raise DataError(f"{path}: {rule}; got {plain_file.one_line(error)}") from error
    keys = value if isinstance(value, dict) else {}
    step, rewards = keys.get("step"), keys.get("reward")
    if type(step) is not int or step < 1:
        raise _value_error(f"{path}: step", "must be that of the evaluation, from 1", step)
    if not isinstance(rewards, dict) or not rewards:
        raise _value_error(f"{path}: reward", "must hold the outcomes by level", rewards)
    return LastEvaluation(
        step, {name: _rows(f"{path}: reward.{name}", rows) for name, rows in rewards.items()}
    )


def _rows(where: str, rows: Any) -> Outcomes:
    """Return the rows of one level. Raises DataError unless all have the same length and contain
    numbers from 0 to 1, or None.
    """
    if not isinstance(rows, list) or not rows:
        raise _value_error(where, "must be a list with a row for each user", rows)
    for user, row in enumerate(rows):
        if not isinstance(row, list) or not row or len(row) != len(rows[0]):
            rule = "must be a list of one length for all users, a number a conversation"
            raise _value_error(f"{where}[{user}]", rule, row)
        for repeat, value in enumerate(row):
            if not _is_outcome(value):
                rule = "must lie between 0 and 1, or be null for a lost conversation"
                raise _value_error(f"{where}[{user}][{repeat}]", rule, value)
    return [[None if value is None else float(value) for value in row] for row in rows]


def _is_outcome(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and 0 <= value <= 1)


def _value_error(where: str, rule: str, value: Any) -> DataError:
    return DataError(f"{where}: {rule}; got {SHORT.repr(value)}")


def describe_difference(
    path: Path, evaluation: LastEvaluation, row: Mapping[str, Any]
) -> str | None:
    """Describe how the outcomes differ from the means in `row`, the metrics of the same step; None
    if they do not.
    """
    for level, rows in evaluation.by_level.items():
        column = "eval/reward" if level == OWN else f"eval/{level}/reward"
        values = [value for row_values in rows for value in row_values if value is not None]
        mean, logged = (sum(values) / len(values) if values else None), row.get(column)
        if not _are_equal(mean, logged):
            rule = f"must have the mean that row {evaluation.step} has as {column}, {logged}"
            return f"{path}: reward.{level}: {rule}; got {mean}"
    return None


def _are_equal(mean: float | None, logged: Any) -> bool:
    if mean is None or type(logged) not in (int, float):
        return mean is logged
    return math.isclose(mean, logged, abs_tol=1e-9)
