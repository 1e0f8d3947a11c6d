"""The list command: runs and sweeps at or below a folder, a line each, the newest last."""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.cli import exit_codes
from harness.config.run import SCHEMA
from harness.records import overview, removal, run_state, sweep_file
from harness.records.overview import OverviewEntry, Range
from harness.utils import safe_text, terminal

HEADS = ("path", "status", "step", "H", "batch R", "when", "what", "note")
PATH, STATUS, STEP, ENTROPY, REWARD, WHEN, WHAT, NOTE = range(len(HEADS))
UNSOUND = (run_state.DAMAGED, run_state.CRASHED, "failed")
LEAST = {NOTE: 20, WHAT: 24, STATUS: 15}
LEAST_PATH, LEAST_NAME = 28, 20
SHORT = 16
"""A parent folder of at most so many characters is told with each path, which can be copied, as
long as that leaves room for the date."""
DROPPED_FIRST = (WHAT, STEP, WHEN)


def list_(path: Path, *, as_json: bool) -> None:
    """Print the runs and sweeps at or below `path`. Raises DataError if `path` cannot be listed."""
    entries = overview.list_entries(path)
    if not (path / sweep_file.FILE).is_file():  # the runs of a sweep keep its order
        entries.sort(key=lambda entry: entry.began_unix_s or 0.0)
    if as_json:
        exit_codes.print_json({"schema": SCHEMA, "entries": [to_json(entry) for entry in entries]})
        return
    if not entries:
        safe_text.say(f"no run and no sweep at or below {path}; `harness sweep` starts a sweep")
    for trash in _interrupted_removals(path, entries):
        removed = safe_text.escape(str(trash.parent / removal.original_name(trash)))
        safe_text.say(
            f"the removal of {removed} is incomplete; "
            f"`harness rm {shlex.quote(removed)}` finishes it"
        )
    with exit_codes.tolerate_closed_stdout():
        for line in lines(entries, terminal.width(sys.stdout), terminal.is_coloured(sys.stdout)):
            print(line)


def _interrupted_removals(path: Path, entries: Sequence[OverviewEntry]) -> list[Path]:
    """Return the leftovers of removals that no process works on."""
    parents = dict.fromkeys((path, *(entry.path.parent for entry in entries)))
    return [
        trash
        for parent in parents
        for trash in removal.leftovers(parent)
        if not removal.is_going_on(trash)
    ]


def lines(entries: Sequence[OverviewEntry], columns: int | None, coloured: bool) -> list[str]:
    """Return the lines of the table; below each run that failed, the reason."""
    if not entries:
        return []
    table = _fit_layout(entries, columns)
    output = [table.heading, terminal.row(HEADS, table.widths, {})]
    for entry, row in zip(entries, table.rows, strict=True):
        output.append(terminal.row(row, table.widths, {STATUS: entry.status} if coloured else {}))
        if row[NOTE] and NOTE not in table.widths and columns is not None:
            output.append(f"  {terminal.truncate(row[NOTE], columns - 2)}")
        if entry.reason and entry.status in UNSOUND:
            reason = run_state.reason_alone(entry.path, entry.status, entry.reason)
            output.append(terminal.wrap(safe_text.escape(f"  {reason}"), columns, "  "))
    return [line for line in output if line]


@dataclass(frozen=True)
class _Table:
    """Cells of all entries and the widths of the columns that are shown; a note that has no column
    stands below its entry.
    """

    rows: Sequence[Sequence[str]]
    widths: Mapping[int, int]
    heading: str = ""
    """The folder that the paths are in, where they do not tell it."""


def _fit_layout(entries: Sequence[OverviewEntry], columns: int | None) -> _Table:
    """Return the first of these layouts that fits: all columns; notes on lines of their own; paths
    without their folder; shortened paths.
    """
    parent = Path(os.path.commonpath([entry.path.parent for entry in entries]))
    heading = terminal.wrap(f"in {safe_text.escape(str(parent))}:", columns)
    paths = [str(entry.path) for entry in entries]
    names = [str(entry.path.relative_to(parent)) for entry in entries]
    full_rows = [_cells(e, path, is_short=False) for e, path in zip(entries, paths, strict=True)]
    table = _Table(full_rows, _widths(full_rows, columns, (), LEAST_PATH))
    if columns is None or len(table.widths) == len(_rows_with_note(full_rows)):
        return table
    layouts = ((paths, LEAST_PATH), (names, LEAST_PATH), (names, LEAST_NAME))
    for shown_paths, least in layouts[len(str(parent)) > SHORT :]:
        rows = [
            _cells(e, path, is_short=True) for e, path in zip(entries, shown_paths, strict=True)
        ]
        needs_no_heading = shown_paths is paths or parent == Path()
        table = _Table(
            rows, _widths(rows, columns, (NOTE,), least), "" if needs_no_heading else heading
        )
        if WHEN in table.widths:
            break
    return table


def _rows_with_note(rows: Sequence[Sequence[str]]) -> list[int]:
    return [n for n in range(len(HEADS)) if any(row[n] for row in rows)]


def _widths(
    rows: Sequence[Sequence[str]], columns: int | None, excluded: Sequence[int], least_path: int
) -> dict[int, int]:
    """Column -> its width."""
    visible = [n for n in _rows_with_note(rows) if n not in excluded]
    least = {**LEAST, PATH: least_path}
    widths = terminal.fit(
        [[row[n] for n in visible] for row in (HEADS, *rows)],
        columns,
        {visible.index(n): width for n, width in least.items() if n in visible},
        [visible.index(n) for n in DROPPED_FIRST if n in visible],
    )
    return {visible[n]: width for n, width in widths.items()}


def _cells(entry: OverviewEntry, path: str, *, is_short: bool) -> tuple[str, ...]:
    steps = f"{entry.step}/{entry.steps or '?'}" if entry.kind == overview.RUN else ""
    kind = "" if entry.kind != overview.STUDY else f"{entry.kind} "
    note = ": ".join(text for text in (_name(entry), entry.note) if text)
    cells = (
        path, status_of(entry), steps, _span(entry.entropy), _span(entry.reward),
        _start_time(entry, is_short), f"{kind}{entry.what}", note,
    )  # fmt: skip
    return tuple(map(safe_text.escape, cells))


def status_of(entry: OverviewEntry) -> str:
    """Return the status, of a sweep as `80 done` or `93/170 done, 2 running`. Planned runs are not
    mentioned.
    """
    counts = entry.runs
    if len(counts) < 2:
        return next((f"{count} {status}" for status, count in counts.items()), entry.status)
    others = [f"{counts[word]} {word}" for word in counts if word not in ("done", "planned")]
    return ", ".join([f"{counts.get('done', 0)}/{sum(counts.values())} done", *others])


def _name(entry: OverviewEntry) -> str:
    """Return the name, or nothing if the folder has the same name."""
    return entry.name if entry.name and entry.name != entry.path.name else ""


def _start_time(entry: OverviewEntry, is_short: bool) -> str:
    """Return `2026-11-24 15:23`. The short form omits the year if it is the current one, else the
    time.
    """
    if entry.began_unix_s is None:
        return "-"
    try:
        began = time.localtime(entry.began_unix_s)
        this_year = began.tm_year == time.localtime().tm_year
        short = "%m-%d %H:%M" if this_year else "%Y-%m-%d"
        return time.strftime(short if is_short else "%Y-%m-%d %H:%M", began)
    except (OverflowError, ValueError, OSError):
        return "-"


def _span(values: Range | None) -> str:
    if values is None:
        return "-"
    low, high = (f"{value:.2f}" for value in values)
    return low if low == high else f"{low}..{high}"


def to_json(entry: OverviewEntry) -> dict[str, Any]:
    """Return an entry in the form of `--json`."""
    return {
        "kind": entry.kind,
        "path": str(entry.path),
        "status": entry.status,
        "reason": entry.reason,
        "began_unix_s": entry.began_unix_s,
        "what": entry.what,
        "step": entry.step if entry.kind == overview.RUN else None,
        "steps": entry.steps,
        "entropy": _range_to_json(entry.entropy),
        "reward": _range_to_json(entry.reward),
        "runs": dict(entry.runs),
        "name": entry.name,
        "note": entry.note,
    }


def _range_to_json(values: Range | None) -> dict[str, float] | None:
    return None if values is None else {"low": values[0], "high": values[1]}
