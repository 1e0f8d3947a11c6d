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


def probe_section(places: Sequence[LocatedRun], called: Mapping[str, str]) -> ProbeSection:
    """Return the answers of all probes, run by run. `called`: path of a run -> name."""
    tables: list[HtmlTable] = []
    damaged = left_out = 0
    for place, path in _files(places):
        if len(tables) == MOST_TABLES:
            left_out += 1
            continue
        try:
            value = json.loads(plain_file.text(path, LARGEST_BYTES))
            tables.append(_table(called.get(place.run, place.run), value))
        except DAMAGED:
            damaged += 1
    notes = [f"{wording.plural(left_out, 'more answer')} of probes: not shown"] if left_out else []
    if damaged:
        notes.append(f"{wording.plural(damaged, FILE)} not written by a probe: not shown")
    return ProbeSection(tables, notes)


def _files(places: Sequence[LocatedRun]) -> Iterator[tuple[LocatedRun, Path]]:
    for place in places:
        folder = None if place.folder is None else place.folder / FOLDER
        if folder is None or folder.is_symlink() or not folder.is_dir():
            continue
        for path in sorted(folder.glob(f"*/{FILE}")):
            if not path.is_symlink() and not path.parent.is_symlink():
                yield place, path


def _table(run: str, value: Mapping[str, Any]) -> HtmlTable:
    """Return the last step of one answer. Raises one of DAMAGED for a file that no probe wrote."""
    step = value["steps"][-1]
    before = {_place(one): one for one in value["reference"]}
    last = [one for one in value["readings"] if one["step"] == step]
    rows = list(_rows(last, before))[:MOST_ROWS]
    against = "its start" if value["against"] == "start" else Path(value["against"]).name
    caption = f"{run}: {value['asks']} Step {int(step)}, compared with {against}"
    reasons = [f"not measured: {reason}" for reason in value.get("not_measured", ())]
    notes = [str(value.get("verdict") or ""), *reasons]
    return HtmlTable(_text(caption), HEADINGS, tuple(rows), [_text(note) for note in notes if note])


def _rows(
    readings: Sequence[Mapping[str, Any]], before: Mapping[Any, Mapping[str, Any]]
) -> Iterator[TableRow]:
    level = None
    for one in readings:
        if one["level"] != level:
            level = one["level"]
            yield row(_text(level), *("" for _ in HEADINGS[1:]), kind=HEADING)
        setting = f", {one['setting']}" if one["setting"] else ""
        name = _text(f"{one['quantity']}{setting} ({one['unit']})")
        reference = before.get(_place(one), {}).get("estimate")
        others = [one.get(key) for key in ("people", "published")]
        yield row(
            name,
            _estimate(reference),
            _estimate(one["estimate"]),
            _estimate(one["change"]),
            ", ".join(f"{_number(other):g}" for other in others if other is not None),
        )


def _place(reading: Mapping[str, Any]) -> tuple[str, str, str]:
    return str(reading["level"]), str(reading["quantity"]), str(reading["setting"])


def _estimate(one: Mapping[str, Any] | None) -> str:
    """Return a number with its interval on the next line."""
    if one is None or one["value"] is None:
        return typeset.NOTHING
    value = _number(one["value"])
    if one["low"] is None or one["high"] is None:
        return wording.number(value)
    number, _, interval = wording.estimate(
        value, _number(one["low"]), _number(one["high"])
    ).partition(" ")
    return f"{number}\n{interval}"


def _number(value: Any) -> float:
    """Return the number. Raises ValueError if it is not finite or not a number."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError("must be a finite number")
    return float(value)


def _text(value: Any) -> str:
    return str(value).replace("\n", " ")[:LONGEST_TEXT]
