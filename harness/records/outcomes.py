"""outcomes.json: what each conversation of the run's last evaluation came to.

metrics.jsonl has means. How much of their spread is of the user, of the seed or of chance is told
by the outcomes alone: the users, and the draws of each conversation with them, are the same in
every run (harness/train/metrics/held_out.py), so that runs are crossed with both.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.config.run import SCHEMA
from harness.errors import DataError
from harness.records import atomic, plain_file

OWN = "own"
"""The key of the run's own level, beside those of the named ones."""
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
    """Raises DataError where the file is missing, or is not of this shape."""
    try:
        value = json.loads(plain_file.text(path))
        rewards = {str(level): _rows(rows) for level, rows in value["reward"].items()}
        return LastEvaluation(int(value["step"]), rewards)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DataError(f"{path}: must hold the outcomes of an evaluation, got other") from error


def _rows(rows: Any) -> Outcomes:
    """Raises ValueError unless all rows have one length and hold shares or None."""
    table = [[_outcome(value) for value in row] for row in rows]
    if not table or not table[0] or len({len(row) for row in table}) > 1:
        raise ValueError(rows)
    return table


def _outcome(value: Any) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise ValueError(value)
    return float(value)
