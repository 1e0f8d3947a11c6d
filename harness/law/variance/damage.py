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


def row_damage(table: LogTable, who: FolderIdentity) -> str | None:
    """Return the first damage to the rows of a finished run, as FILE:LINE: RULE; GIVEN, or None."""
    by_line = {line: kind for kind, lines in table.damage.items() for line in lines}
    if by_line:
        first = min(by_line)
        rule = f"damaged: {table.path}:{first}: every row must be as the run wrote it"
        more = f", and {len(by_line) - 1} more such lines" if len(by_line) > 1 else ""
        return f"{rule}; got {WORDS.get(by_line[first], by_line[first])}{more}"
    standing = integrity.check(table, who)
    if standing.unfinished is not None:
        return standing.unfinished.reason
    steps = table.columns["step"]
    if not np.array_equal(steps, np.arange(1, len(steps) + 1)):
        place = int(np.argmax(steps != np.arange(1, len(steps) + 1)))
        where = f"damaged: {table.path}:{table.lines[place]}"
        rule = f"{where}: row {place + 1} must be that of step {place + 1}"
        return f"{rule}; got step {steps[place]:g}"
    return _of_values(table)


def _of_values(table: LogTable) -> str | None:
    """Return an error for the first value that is neither a finite number nor null, or None."""
    for column, faults in table.faults.items():
        if len(places := np.flatnonzero(faults > NULL)):
            place = int(places[0])
            where = f"damaged: {table.path}:{table.lines[place]}: {column}"
            return f"{where}: must be a finite number or null; got {FAULTS[faults[place]]}"
    return None


def outcome_damage(
    run: RunFolder, found: LastEvaluation, table: LogTable, column: str
) -> str | None:
    """Return why outcomes.json does not belong to the run's last evaluation; None if it does.

    `column`: the reward column of the one level in `found`.
    """
    evaluated = np.flatnonzero(np.isfinite(table.columns[column]))
    last = int(table.columns["step"][evaluated[-1]]) if len(evaluated) else 0
    if found.step != last:
        rule = f"{run.outcomes}: step: must be of the last evaluation, that of step {last}"
        return f"{rule}; got {found.step}"
    row = {column: float(table.columns[column][evaluated[-1]])}
    return outcomes.describe_difference(run.outcomes, found, row)
