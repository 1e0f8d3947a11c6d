"""What a run came to be worth at each named level, whichever it trained at."""

from __future__ import annotations

import numpy as np

from harness.config.run import LEVELS
from harness.law.io import clean
from harness.law.io.table import Table

Transfer = dict[str, dict[str, float]]


def of(table: Table) -> Transfer | None:
    """Level -> eval/LEVEL/reward at its first evaluation (start) and at its last (end).

    Of rows with the same step the last counts. None where no level was evaluated twice.
    """
    found = {level: _ends(table, f"eval/{level}/reward") for level in LEVELS}
    return {level: ends for level, ends in found.items() if ends} or None


def _ends(table: Table, column: str) -> dict[str, float] | None:
    if column not in table.names:
        return None
    steps, values = table.columns["step"], table.columns[column]
    known = clean.last_of_each_step(steps, np.isfinite(steps) & np.isfinite(values))
    if len(known) < 2:
        return None
    return {"start": float(values[known[0]]), "end": float(values[known[-1]])}
