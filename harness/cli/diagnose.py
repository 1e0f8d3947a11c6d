"""The diagnose command: which of three mechanisms has gone wrong in each run."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.console import Console

from harness.cli import exit_codes
from harness.config.run import SCHEMA
from harness.errors import EXIT_PARTIAL
from harness.law.diagnosis import diagnose as law
from harness.law.diagnosis.results import Diagnosis, MechanismFinding, Sign
from harness.law.result_parts import SkippedPath
from harness.report.tables import diagnosis as table


def diagnose(paths: tuple[Path, ...], *, as_json: bool) -> int:
    """Print a line for each run at or below `paths`; nothing is written. Return the exit code,
    EXIT_PARTIAL where one of `paths` could not be read.

    Raises DataError where no finished run could be read.
    """
    diagnoses, left_out = law.diagnose(paths)
    with exit_codes.tolerate_closed_stdout():
        if as_json:
            print(json.dumps(to_json(diagnoses, left_out), indent=1, allow_nan=False))
        else:
            table.print_diagnosis(diagnoses, left_out, Console())
    unread = {str(skipped.path) for skipped in left_out} & set(map(str, paths))
    return EXIT_PARTIAL if unread else 0


def to_json(diagnoses: Sequence[Diagnosis], left_out: Sequence[SkippedPath]) -> dict[str, Any]:
    """Return the value of --json. It is null for what was not measured, or not known at the run's
    end.
    """
    return {
        "schema": SCHEMA,
        "runs": [
            {
                "run": diagnosis.run,
                "level": diagnosis.level,
                "seed": diagnosis.seed,
                "regime": diagnosis.regime,
                "rows_left_out": dict(diagnosis.dropped),
                **{finding.mechanism: _finding(finding) for finding in diagnosis.findings},
            }
            for diagnosis in diagnoses
        ],
        "left_out": [asdict(skipped) for skipped in left_out],
    }


def _finding(finding: MechanismFinding) -> dict[str, Any]:
    cause = None if finding.because is None else finding.because.name
    return {
        "measured": finding.measured,
        "flag": finding.flag,
        "because": cause,
        "why_not_measured": finding.why,
        "signs": [_sign(sign) for sign in finding.signs],
    }


def _sign(sign: Sign) -> dict[str, Any]:
    value = sign.value
    numbers = (None, None, None) if value is None else (value.value, value.low, value.high)
    finite = [n if n is not None and math.isfinite(n) else None for n in numbers]
    values = dict(zip(("value", "low", "high"), finite, strict=True))
    return {"name": sign.name, "unit": sign.unit, **values}
