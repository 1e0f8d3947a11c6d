"""Reads the results of a probe from the folder of a run.

`harness probe NAME RUN` writes RUN/probes/NAME/probe.json. Studies read their numbers from it, and
a probe that was already run in the same way is not run again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import DataError
from harness.records import plain_file
from harness.records.provenance import MadeBy

FOLDER, FILE = "probes", "probe.json"
BY_START = "start"
"""The default reference: the policy at the start of training."""
MARKS = {"schema", "probe", "asks", "run", "against", "reference", "steps", "readings"}
"""Keys that a result of any version has."""
LARGEST_BYTES = 16_000_000
Change = tuple[float, float, float]
"""Value and bounds of its 95% interval; an unknown bound is infinite."""
DAMAGED = (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError)


@dataclass(frozen=True)
class ProbeRecord:
    """Result of a probe for the last checkpoint that it was run on."""

    against: str
    """The reference: `start`, or the folder of another policy."""
    step: int
    """Step of the checkpoint."""
    checkpoint: str | None
    """sha256 of the checkpoint's manifest; None in a result of an older version."""
    users: int
    repeats: int
    items: int | None
    item_file: str | None
    """None for the items that are shipped."""
    made_by: MadeBy
    """The code that ran the probe; without versions in a result of an older version."""
    changes: Mapping[tuple[str, str], Change | None]
    """Level and name of a reading -> its change; None if it was not measured."""


def path_of(run: Path, probe: str) -> Path:
    """Return the path of a probe's result."""
    return run / FOLDER / probe / FILE


def name_of(quantity: str, setting: str) -> str:
    """Return the name of a reading: a quantity and the setting that it was measured in."""
    return f"{quantity}, {setting}" if setting else quantity


def read(run: Path, probe: str) -> ProbeRecord | None:
    """Read the result; None if there is none. Raises DataError if it is malformed."""
    path = path_of(run, probe)
    if not path.is_file():
        return None
    try:
        return _parse(json.loads(plain_file.text(path, LARGEST_BYTES)))
    except DAMAGED as error:
        rule = "must be what `harness probe` writes"
        raise DataError(f"{path}: {rule}, got {plain_file.one_line(error)}") from error


def is_answer(path: Path) -> bool:
    """Whether the file was written by `harness probe` of any version."""
    try:
        value = json.loads(plain_file.text(path, LARGEST_BYTES))
    except (DataError, ValueError, RecursionError):
        return False
    return isinstance(value, dict) and value.keys() >= MARKS


def _parse(value: Mapping[str, Any]) -> ProbeRecord:
    step = int(value["steps"][-1])
    made_by = value.get("made_by") or {"versions": {}, "git": ""}
    return ProbeRecord(
        against=str(value["against"]),
        step=step,
        checkpoint=(value.get("checkpoints") or {}).get(str(step)),
        users=int(value["users"]),
        repeats=int(value["repeats"]),
        items=None if value.get("items") is None else int(value["items"]),
        item_file=value.get("item_file"),
        made_by=MadeBy(dict(made_by["versions"]), str(made_by["git"])),
        changes={
            (
                str(reading["level"]),
                name_of(str(reading["quantity"]), str(reading["setting"])),
            ): _change(reading)
            for reading in value["readings"]
            if reading["step"] == step
        },
    )


def _change(reading: Mapping[str, Any]) -> Change | None:
    """Return the change of a reading. Raises ValueError for a number that is not finite."""
    change = reading["change"]
    if change["value"] is None:
        return None
    low, high = (-math.inf if change["low"] is None else _finite(change["low"]),
                 math.inf if change["high"] is None else _finite(change["high"]))  # fmt: skip
    return _finite(change["value"]), low, high


def _finite(value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"a change must be a finite number or null, got {value!r:.40}")
    return float(value)
