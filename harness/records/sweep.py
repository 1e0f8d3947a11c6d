"""sweep.json: the axes, the planned runs and the ledger of how each ended."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.config import SCHEMA
from harness.errors import DataError
from harness.records import atomic

FILE = "sweep.json"


@dataclass(frozen=True)
class LedgerRow:
    """One run of a sweep: what was planned and how it stands."""

    name: str
    dir: str | None
    overrides: Sequence[str]
    status: str = "planned"
    reason: str | None = None
    exit_code: int | None = None


@dataclass(frozen=True)
class Sweep:
    """A set of runs from one command; one parent folder."""

    dir: str | None
    axes: Mapping[str, Sequence[Any]]
    """Swept key -> its expanded values, in their own types."""
    runs: Sequence[LedgerRow]
    command: Sequence[str] = ()
    """The words that were typed; a resume takes the launcher from them."""

    def to_json(self) -> dict[str, Any]:
        return {"schema": SCHEMA, **dataclasses.asdict(self)}


def write(folder: Path, sweep: Sweep) -> None:
    atomic.write_json(folder / FILE, sweep.to_json())


def read(folder: Path) -> Sweep:
    """Raises DataError if sweep.json is missing or malformed."""
    path = folder / FILE
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        runs = tuple(LedgerRow(**row) for row in values["runs"])
        return Sweep(values["dir"], values["axes"], runs, values.get("command", ()))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read: {' '.join(str(error).split())}") from error
