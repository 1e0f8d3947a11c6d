"""The section on probes: the probe.json files in the folders of the runs.

A folder may contain files from anybody, so one that is no answer of a probe is left out and
counted. The page shows what was written; no probe is asked again.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import DataError
from harness.records import plain_file
from harness.report.html.blocks import HEADING, HtmlTable, TableRow, row
from harness.report.html.folders import LocatedRun
from harness.report.tables import typeset
from harness.report.text import wording

FOLDER, FILE = "probes", "probe.json"
LARGEST_BYTES = 4_000_000
MOST_TABLES, MOST_ROWS, LONGEST_TEXT = 24, 150, 300
HEADINGS = ("quantity", "held against", "policy", "change [95%]", "others")
DAMAGED = (
    ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError, DataError,
    OSError,
)  # fmt: skip


@dataclass(frozen=True)
class ProbeSection:
    """The content of the section."""

    tables: Sequence[HtmlTable]
    notes: Sequence[str]


def probe_section(runs: Sequence[LocatedRun], run_names: Mapping[str, str]) -> ProbeSection:
    """Return the answers of all probes, run by run. `run_names`: path of a run -> name."""
    tables: list[HtmlTable] = []
    damaged = left_out = 0
    for run, path in _files(runs):
        if len(tables) == MOST_TABLES:
            left_out += 1
            continue
        try:
            value = json.loads(plain_file.text(path, LARGEST_BYTES))
            tables.append(_table(run_names.get(run.run, run.run), value))
        except DAMAGED:
            damaged += 1
    notes = [f"{wording.plural(left_out, 'more answer')} of probes: not shown"] if left_out else []
    if damaged:
        notes.append(f"{wording.plural(damaged, FILE)} not written by a probe: not shown")
    return ProbeSection(tables, notes)


def _files(runs: Sequence[LocatedRun]) -> Iterator[tuple[LocatedRun, Path]]:
    for run in runs:
        folder = None if run.folder is None else run.folder / FOLDER
        if folder is None or folder.is_symlink() or not folder.is_dir():
            continue
        for path in sorted(folder.glob(f"*/{FILE}")):
            if not path.is_symlink() and not path.parent.is_symlink():
                yield run, path


def _table(run: str, value: Mapping[str, Any]) -> HtmlTable:
    """Return the last step of one answer. Raises one of DAMAGED for a file that no probe wrote."""
    step = value["steps"][-1]
    reference_by_key = {_reading_key(reading): reading for reading in value["reference"]}
    readings = [reading for reading in value["readings"] if reading["step"] == step]
    rows = list(_rows(readings, reference_by_key))[:MOST_ROWS]
    against = "its start" if value["against"] == "start" else Path(value["against"]).name
    caption = f"{run}: {value['asks']} Step {int(step)}, compared with {against}"
    reasons = [f"not measured: {reason}" for reason in value.get("not_measured", ())]
    notes = [str(value.get("verdict") or ""), *reasons]
    return HtmlTable(_text(caption), HEADINGS, tuple(rows), [_text(note) for note in notes if note])


def _rows(
    readings: Sequence[Mapping[str, Any]], reference_by_key: Mapping[Any, Mapping[str, Any]]
) -> Iterator[TableRow]:
    level = None
    for reading in readings:
        if reading["level"] != level:
            level = reading["level"]
            yield row(_text(level), *("" for _ in HEADINGS[1:]), kind=HEADING)
        setting = f", {reading['setting']}" if reading["setting"] else ""
        name = _text(f"{reading['quantity']}{setting} ({reading['unit']})")
        reference = reference_by_key.get(_reading_key(reading), {}).get("estimate")
        others = [reading.get(key) for key in ("people", "published")]
        yield row(
            name,
            _estimate(reference),
            _estimate(reading["estimate"]),
            _estimate(reading["change"]),
            ", ".join(f"{_number(other):g}" for other in others if other is not None),
        )


def _reading_key(reading: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(reading["level"]), str(reading["quantity"]), str(reading["setting"])


def _estimate(estimate: Mapping[str, Any] | None) -> str:
    """Return a number with its interval on the next line."""
    if estimate is None or estimate["value"] is None:
        return typeset.NOTHING
    value = _number(estimate["value"])
    if estimate["low"] is None or estimate["high"] is None:
        return wording.number(value)
    number, _, interval = wording.estimate(
        value, _number(estimate["low"]), _number(estimate["high"])
    ).partition(" ")
    return f"{number}\n{interval}"


def _number(value: Any) -> float:
    """Return the number. Raises ValueError if it is not finite or not a number."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError("must be a finite number")
    return float(value)


def _text(value: Any) -> str:
    return str(value).replace("\n", " ")[:LONGEST_TEXT]
