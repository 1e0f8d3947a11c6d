"""The list command: runs and sweeps at or below a folder, a line each, the newest last."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harness.cli import exit_codes
from harness.config.run import SCHEMA
from harness.records import overview, run_state
from harness.records.overview import Entry, Range
from harness.utils import safe_text, terminal

HEADS = ("path", "status", "step", "H", "batch R", "when", "what", "note")
PATH, STATUS, STEP, ENTROPY, REWARD, WHEN, WHAT, NOTE = range(len(HEADS))
UNSOUND = (run_state.DAMAGED, run_state.CRASHED, "failed")
LEAST = {NOTE: 20, WHAT: 24, STATUS: 15, PATH: 28}
SHORT = 16
"""A parent folder of at most so many characters is told with each path, which can be copied."""
DROPPED_FIRST = (NOTE, WHAT, STEP, WHEN)


def list_(path: Path, *, as_json: bool) -> None:
    """Print what is at or below `path`. Raises DataError for no folder that can be listed."""
    entries = overview.look(path)
    if path not in {entry.path.parent for entry in entries if entry.kind == overview.RUN}:
        entries.sort(key=lambda entry: entry.began_unix_s or 0.0)
    if as_json:
        exit_codes.print_json({"schema": SCHEMA, "entries": [to_json(one) for one in entries]})
        return
    if not entries:
        safe_text.say(f"no run and no sweep at or below {path}; `harness sweep` makes one")
    with exit_codes.tolerate_closed_stdout():
        for line in lines(entries, terminal.width(sys.stdout), terminal.is_coloured(sys.stdout)):
            print(line)


def lines(entries: Sequence[Entry], columns: int | None, coloured: bool) -> list[str]:
    """The table, and below each run that is no good why it is so."""
    if not entries:
        return []
    parent = Path(os.path.commonpath([entry.path.parent for entry in entries]))
    rows = [HEADS, *(_cells(entry, str(entry.path)) for entry in entries)]
    shown = []
    if len(str(parent)) > SHORT and _wide(rows) > (columns or _wide(rows)):
        shown.append(terminal.wrapped(f"in {safe_text.visible(str(parent))}:", columns))
        inside = [str(entry.path.relative_to(parent)) for entry in entries]
        rows = [HEADS, *(_cells(e, name) for e, name in zip(entries, inside, strict=True))]
    told = [n for n in range(len(HEADS)) if any(row[n] for row in rows[1:])]
    widths = terminal.fit(
        [[row[n] for n in told] for row in rows],
        columns,
        {told.index(n): least for n, least in LEAST.items() if n in told},
        [told.index(n) for n in DROPPED_FIRST if n in told],
    )
    widths = {told[n]: wide for n, wide in widths.items()}
    shown.append(terminal.row(HEADS, widths, {}))
    for entry, row in zip(entries, rows[1:], strict=True):
        shown.append(terminal.row(row, widths, {STATUS: entry.status} if coloured else {}))
        if entry.reason and entry.status in UNSOUND:
            reason = safe_text.visible(f"  {_without_path(entry)}")
            shown.append(terminal.wrapped(reason, columns, "  "))
    return shown


def _wide(rows: Sequence[Sequence[str]]) -> int:
    widths = terminal.fit(rows, None, {}, ())
    return sum(widths.values()) + len(terminal.GAP) * (len(widths) - 1)


def _without_path(entry: Entry) -> str:
    return (entry.reason or "").replace(f"{entry.path}/", "").removeprefix(f"{entry.path}: ")


def _cells(entry: Entry, path: str) -> tuple[str, ...]:
    steps = f"{entry.step}/{entry.steps or '?'}" if entry.kind == overview.RUN else ""
    kind = "" if entry.kind != overview.STUDY else f"{entry.kind} "
    note = ": ".join(text for text in (_name(entry), entry.note) if text)
    cells = (
        path, status_of(entry), steps, _span(entry.entropy), _span(entry.reward), _when(entry),
        f"{kind}{entry.what}", note,
    )  # fmt: skip
    return tuple(map(safe_text.visible, cells))


def status_of(entry: Entry) -> str:
    """`80 done`, `93/170 done, 2 running` of a sweep; runs that are planned go without saying."""
    counts = entry.runs
    if len(counts) < 2:
        return next((f"{count} {status}" for status, count in counts.items()), entry.status)
    told = [f"{counts[word]} {word}" for word in counts if word not in ("done", "planned")]
    return ", ".join([f"{counts.get('done', 0)}/{sum(counts.values())} done", *told])


def _name(entry: Entry) -> str:
    """The name, unless the folder has it."""
    return entry.name if entry.name and entry.name != entry.path.name else ""


def _when(entry: Entry) -> str:
    if entry.began_unix_s is None:
        return "-"
    try:
        return time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.began_unix_s))
    except (OverflowError, ValueError, OSError):
        return "-"


def _span(values: Range | None) -> str:
    if values is None:
        return "-"
    low, high = (f"{value:.2f}" for value in values)
    return low if low == high else f"{low}..{high}"


def to_json(entry: Entry) -> dict[str, Any]:
    """An entry as `--json` prints it."""
    return {
        "kind": entry.kind,
        "path": str(entry.path),
        "status": entry.status,
        "reason": entry.reason,
        "began_unix_s": entry.began_unix_s,
        "what": entry.what,
        "step": entry.step if entry.kind == overview.RUN else None,
        "steps": entry.steps,
        "entropy": _ends(entry.entropy),
        "reward": _ends(entry.reward),
        "runs": dict(entry.runs),
        "name": entry.name,
        "note": entry.note,
    }


def _ends(values: Range | None) -> dict[str, float] | None:
    return None if values is None else {"low": values[0], "high": values[1]}
