"""The diagnosis of runs as a data frame."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd

from harness.api.runs import Runs, load
from harness.law.diagnosis import diagnose as law
from harness.law.diagnosis.results import Diagnosis

if TYPE_CHECKING:
    from harness.api.runs import Paths

COLUMNS = (
    "run", "level", "seed", "regime", "mechanism", "measured", "flag", "because", "value", "low",
    "high",
)  # fmt: skip


def diagnose(runs: Runs | Paths) -> pd.DataFrame:
    """Diagnose whether exploration, reliability or direction has gone wrong in each finished run.

    Does what `harness diagnose` does (docs/diagnosis.md). Returns one row per run and mechanism:
    whether it was measured, the flag that is raised, if any, and the number with its 95% interval
    that the flag is based on. Raises DataError if no run is finished.
    """
    diagnoses, _ = law.diagnose((runs if isinstance(runs, Runs) else load(runs)).paths)
    rows = [row for diagnosis in diagnoses for row in _rows(diagnosis)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def _rows(diagnosis: Diagnosis) -> Iterator[tuple[Any, ...]]:
    for finding in diagnosis.findings:
        reason = finding.because
        value = None if reason is None else reason.value
        numbers = (None, None, None) if value is None else (value.value, value.low, value.high)
        labels = (
            diagnosis.run,
            diagnosis.level,
            diagnosis.seed,
            diagnosis.regime,
            finding.mechanism,
        )
        reason_name = None if reason is None else reason.name
        yield (*labels, finding.measured, finding.flag, reason_name, *numbers)
