"""Detect that a run's files differ from what the run wrote.

A damaged run is left out completely, because the remaining rows would give different means and
components.
"""

from __future__ import annotations

import numpy as np

from harness.law.io import integrity
from harness.law.io.identity import FolderIdentity
from harness.law.io.table import FAULTS, NULL, LogTable
from harness.records import outcomes
from harness.records.outcomes import LastEvaluation
from harness.records.run_folder import RunFolder

WORDS = {
    "checksum": "a line that does not match its checksum",
    "malformed_line": "a malformed line",
    "torn_last_line": "an incomplete last line",
}
"""Kind of damage to a line -> its description."""


def row_damage(table: LogTable, identity: FolderIdentity) -> str | None:
    """Return the first damage to the rows of a finished run, as FILE:LINE: RULE; GIVEN, or None."""
    by_line = {line: kind for kind, lines in table.damage.items() for line in lines}
    if by_line:
        first = min(by_line)
        rule = f"damaged: {table.path}:{first}: every row must be as the run wrote it"
        more = f", and {len(by_line) - 1} more such lines" if len(by_line) > 1 else ""
        return f"{rule}; got {WORDS.get(by_line[first], by_line[first])}{more}"
    log_integrity = integrity.check(table, identity)
    if log_integrity.unfinished is not None:
        return log_integrity.unfinished.reason
    steps = table.columns["step"]
    if not np.array_equal(steps, np.arange(1, len(steps) + 1)):
        index = int(np.argmax(steps != np.arange(1, len(steps) + 1)))
        location = f"damaged: {table.path}:{table.lines[index]}"
        rule = f"{location}: row {index + 1} must be that of step {index + 1}"
        return f"{rule}; got step {steps[index]:g}"
    return _value_damage(table)


def _value_damage(table: LogTable) -> str | None:
    """Return an error for the first value that is neither a finite number nor null, or None."""
    for column, faults in table.faults.items():
        if len(indices := np.flatnonzero(faults > NULL)):
            index = int(indices[0])
            location = f"damaged: {table.path}:{table.lines[index]}: {column}"
            return f"{location}: must be a finite number or null; got {FAULTS[faults[index]]}"
    return None


def outcome_damage(
    run: RunFolder, evaluation: LastEvaluation, table: LogTable, column: str
) -> str | None:
    """Return why outcomes.json does not belong to the run's last evaluation; None if it does.

    `column`: the reward column of the one level in `evaluation`.
    """
    evaluated = np.flatnonzero(np.isfinite(table.columns[column]))
    last = int(table.columns["step"][evaluated[-1]]) if len(evaluated) else 0
    if evaluation.step != last:
        rule = f"{run.outcomes}: step: must be of the last evaluation, that of step {last}"
        return f"{rule}; got {evaluation.step}"
    row = {column: float(table.columns[column][evaluated[-1]])}
    return outcomes.describe_difference(run.outcomes, evaluation, row)
