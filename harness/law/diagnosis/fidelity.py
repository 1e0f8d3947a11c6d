"""Read the answer of the probe `reliability` from a run's folder."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.errors import DataError
from harness.law.diagnosis.results import Sign
from harness.law.results import Interval
from harness.records import plain_file

ANSWER = Path("probes") / "reliability" / "probe.json"
"""Path of the answer in the run's folder."""
TRUE_FACT, FALSE_FACT = "takes up a true fact", "takes up a false one"
"""Quantities of the probe for runs whose users tell facts."""
ERROR = ("error", "mean of four", "all items")
"""Quantity, setting and level of the error of a model that answers knowledge questions."""
WARMTH = "warmth: kind minus cold reply"
"""Quantity for the warmth of such a model. Its error is used only if the model is significantly
warmer than at its start, because the probe measures the cost of warmth."""

NO_POLICY = "a log without its run folder has no policy to ask"
NOT_WARMER = (
    "the policy is not shown to be warmer than its start; only the cost of warmth is counted"
)


def read(run: Path) -> tuple[Sign, ...]:
    """Return the changes since the start: of the uptake of facts for each framing, or of the error
    of a model that is significantly warmer.

    Empty if the probe was not asked, or compared with another run. Raise DataError if the file is
    no answer of a probe.
    """
    path, answer = run / ANSWER, _answer(run)
    if answer is None or answer.get("against") != "start":
        return ()
    return _last_signs(path, answer["readings"])


def why_nothing(run: Path) -> str | None:
    """Return why reliability is unknown; None if the probe was not asked.

    Raise DataError as `read` does.
    """
    path, answer = run / ANSWER, _answer(run)
    if answer is None:
        return None if (run / "config.yaml").is_file() else NO_POLICY
    if answer.get("against") != "start":
        return "the probe was compared with another run, not with the start"
    reasons = answer.get("not_measured")
    if isinstance(reasons, list) and reasons:
        return plain_file.one_line("; ".join(map(str, reasons)))
    readings = _last_readings(answer["readings"])
    if any(_condition(reading) == ERROR for reading in readings) and not _is_warmer(path, readings):
        return NOT_WARMER
    return "no change since the start was measured"


def _answer(run: Path) -> dict[str, Any] | None:
    """Read the probe's answer and check its readings; None if it was not asked."""
    path = run / ANSWER
    if not path.is_file():
        return None
    try:
        value = json.loads(plain_file.text(path))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: must be JSON; got {plain_file.one_line(error)}") from error
    answer = value if isinstance(value, dict) else {}
    readings = answer.get("readings")
    if not isinstance(readings, list) or not all(isinstance(reading, dict) for reading in readings):
        raise DataError(f"{path}: readings must be a list of objects, as `harness probe` writes it")
    return answer


def _last_readings(readings: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the readings of the last probed step."""
    steps = [reading.get("step") for reading in readings]
    last = max((step for step in steps if type(step) is int), default=None)
    return [reading for reading in readings if last is not None and reading.get("step") == last]


def _last_signs(path: Path, readings: Sequence[dict[str, Any]]) -> tuple[Sign, ...]:
    """Return the signs of the last probed step."""
    last = _last_readings(readings)
    facts = [reading for reading in last if reading.get("quantity") in (TRUE_FACT, FALSE_FACT)]
    errors = []
    if _is_warmer(path, last):
        errors = [reading for reading in last if _condition(reading) == ERROR]
    units = ((facts, "change of the share"), (errors, "change of the error, %"))
    return tuple(
        Sign(_name(reading), unit, _interval(path, reading.get("change")))
        for group, unit in units
        for reading in group
    )


def _condition(reading: dict[str, Any]) -> tuple[Any, Any, Any]:
    return reading.get("quantity"), reading.get("setting"), reading.get("level")


def _is_warmer(path: Path, readings: Sequence[dict[str, Any]]) -> bool:
    """Return whether the policy is significantly warmer than at its start."""
    changes = [
        _interval(path, reading.get("change"))
        for reading in readings
        if reading.get("quantity") == WARMTH
    ]
    return any(change is not None and change.low > 0 for change in changes)


def _name(reading: dict[str, Any]) -> str:
    parts = (reading["quantity"], reading.get("setting"), reading.get("level"))
    return ", ".join(str(part) for part in parts if part)


def _interval(path: Path, change: Any) -> Interval | None:
    """Return the interval of a change; None if it was not measured."""
    ends = change if isinstance(change, dict) else {}
    values: list[Any] = [ends.get(name) for name in ("value", "low", "high")]
    if any(value is None for value in values):
        return None
    numbers = [number for number in map(_number, values) if number is not None]
    if len(numbers) < len(values):
        raise DataError(f"{path}: change must hold finite numbers, or null; got {values!r:.80}")
    return Interval(*numbers)


def _number(value: Any) -> float | None:
    """Return a finite number as a float, else None."""
    try:
        number = float(value) if type(value) in (int, float) else math.nan
    except OverflowError:  # an integer too large for a float
        return None
    return number if math.isfinite(number) else None
