"""sweep.json: the axes and the ledger of a sweep, its planned runs with their status."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.config.run import SCHEMA
from harness.errors import DataError
from harness.records import atomic, plain_file
from harness.utils import shape

FILE = "sweep.json"
CAME_LATER = ("name", "note")
"""Keys that files of older versions lack."""
PLANNED = "planned_hash"
"""Key of a row that files of older versions lack."""
RUN_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}")


@dataclass(frozen=True)
class LedgerRow:
    """One run of a sweep: its overrides and its status."""

    name: str
    dir: str | None
    overrides: Sequence[str]
    status: str = "planned"
    reason: str | None = None
    exit_code: int | None = None
    planned_hash: str | None = None
    """config_file.choices_hash of the planned config; None in files of older versions."""


@dataclass(frozen=True)
class Sweep:
    """The runs of one command, in one parent folder."""

    dir: str | None
    axes: Mapping[str, Sequence[Any]]
    """Swept key -> its expanded values, with their own types."""
    runs: Sequence[LedgerRow]
    command: Sequence[str] = ()
    """The words of the command line; a resume takes the launcher from them."""
    name: str | None = None
    note: str | None = None
    """Values of --name and --note; sweep.json contains only those that were given."""

    def by_run(self) -> dict[str, dict[str, Any]]:
        """Return the swept values: run -> swept key -> value."""
        return {row.name: self._swept_values(row) for row in self.runs}

    def _swept_values(self, row: LedgerRow) -> dict[str, Any]:
        texts = dict(word.lstrip("+").split("=", 1) for word in row.overrides if "=" in word)
        return {
            key: value
            for key, values in self.axes.items()
            for value in values
            if key in texts and _is_text_of(texts[key], value)
        }

    def to_json(self) -> dict[str, Any]:
        values = dataclasses.asdict(self)
        kept = {k: v for k, v in values.items() if v is not None or k not in CAME_LATER}
        for row in kept["runs"]:
            if row[PLANNED] is None:
                del row[PLANNED]
        return {"schema": SCHEMA, **kept}


def _is_text_of(text: str, value: Any) -> bool:
    """Return whether Hydra writes `value` as `text`: null for None, [a,b] for a list of words."""
    if text == str(value) or (isinstance(value, str) and _without_escapes(text) == value):
        return True
    try:
        return repr(yaml.safe_load(text)) == repr(value)  # 1 is not True
    except yaml.YAMLError:
        return False


def _without_escapes(text: str) -> str:
    """Return the text that Hydra writes as `text`, in quotes or with backslashes before blanks and
    signs.
    """
    quote = text[:1]
    if len(text) > 1 and quote in ("'", '"') and text.endswith(quote):
        escapes = rf"(\\+)(?={quote}|$)"
        return re.sub(escapes, lambda match: match[1][: len(match[1]) // 2], text[1:-1])
    return re.sub(r"\\([\\()\[\]{}:=, \t])", r"\1", text)


def write(folder: Path, sweep: Sweep) -> None:
    atomic.write_json(folder / FILE, sweep.to_json())


def read(folder: Path) -> Sweep:
    """Read sweep.json. Raises DataError if it is missing or malformed."""
    path = folder / FILE
    content = plain_file.text(path)
    try:
        values = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read: {plain_file.one_line(error)}") from error
    for key in CAME_LATER if isinstance(values, dict) else ():
        values.setdefault(key, None)
    problem = shape.problem(Sweep, values) or _bad_run(values["runs"])
    if problem:
        raise DataError(f"{path}: cannot be read: {problem}")
    parts = [f.name for f in dataclasses.fields(LedgerRow)]
    runs = tuple(LedgerRow(**{name: row[name] for name in parts}) for row in values["runs"])
    later = {key: values[key] for key in CAME_LATER}
    return Sweep(values["dir"], values["axes"], runs, values["command"], **later)


def _bad_run(rows: Sequence[Any]) -> str | None:
    """Describe the first malformed row, or the first name that is not valid for a folder.

    Adds PLANNED to rows that lack it.
    """
    for number, row in enumerate(rows):
        if isinstance(row, dict):
            row.setdefault(PLANNED, None)
        problem = shape.problem(LedgerRow, row, f"runs[{number}]")
        if problem:
            return problem
        if not RUN_NAME.fullmatch(row["name"]):
            rule = "must be at most 96 letters, digits, '.', '_' or '-', since it names a folder"
            return f"runs[{number}].name {rule} in the sweep's, got {row['name']!r}"
    return None
