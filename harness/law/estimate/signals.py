"""What the columns beside H and R say of a run: silent groups, the onset, the noise of H."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.law.estimate import at_onset, identifiability, onset, regime
from harness.law.estimate.at_onset import Ceiling
from harness.law.estimate.identifiability import Fitted
from harness.law.io import aux_columns
from harness.law.io.aux_columns import Trace
from harness.law.io.clean import FEWEST_POINTS, Cleaned
from harness.law.io.reading import Table
from harness.law.results import Interval, Onset


def silent_share(table: Table, cleaned: Cleaned) -> Interval | None:
    """Share of groups that carry no signal."""
    return regime.silent_share(
        [aux_columns.trace(table, cleaned, name) for name in aux_columns.SILENT]
    )


def fields(table: Table, cleaned: Cleaned, found: Onset | None, law: Fitted) -> dict[str, Any]:
    """Fields of a RunResult. `law` is the one whose ceiling the run was heading for."""
    columns = {name: aux_columns.trace(table, cleaned, name) for name in aux_columns.AT_ONSET}
    return {
        "at_onset": at_onset.at_onset(found, cleaned.points, _ceiling(law), columns),
        "onset_probe": _onset_probe(aux_columns.trace(table, cleaned, aux_columns.PROBE), cleaned),
        "reliability_from_se": _reliability(table, cleaned),
        "remedy_acted": _mean(aux_columns.trace(table, cleaned, aux_columns.ACTED)),
    }


def _ceiling(law: Fitted) -> Ceiling | None:
    known = identifiability.identified(law)["ceiling"]
    return Ceiling(law.spread.ceiling, known) if law.spread is not None else None


def _onset_probe(probe: Trace, cleaned: Cleaned) -> Onset | None:
    valid = probe.as_entropy()
    course = onset.course(valid.steps, valid.values)
    return onset.find(course, cleaned.points) if course is not None else None


def _mean(given: Trace) -> float | None:
    return float(given.values.mean()) if len(given) else None


def _reliability(table: Table, cleaned: Cleaned) -> float | None:
    """1 - mean of (exp(H) se)^2 / variance of exp(H), over steps with a standard error.

    That is what least squares keeps of a if H has no other noise (Fuller 1987, section 1.2).
    None below 16 such steps or where H does not vary more than that.
    """
    if aux_columns.ENTROPY_SE not in table.names:
        return None
    error = table.columns[aux_columns.ENTROPY_SE][cleaned.rows]
    known = np.isfinite(error) & (error >= 0)
    x = np.exp(cleaned.entropy[known])
    if len(x) < FEWEST_POINTS or not np.var(x) > 0:
        return None
    noise = float(np.mean((x * error[known]) ** 2))
    return 1 - noise / float(np.var(x)) if noise < np.var(x) else None
