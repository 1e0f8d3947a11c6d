"""Read a log file into a table. Damage is counted by reason and never raises a traceback.

Files may come from a killed run, a running run, or another program. A quick reader handles complete
files with our columns. If it gives up, the importer of the format reads line by line. Importers of
plug-ins take precedence over ours, except for the log of a run folder.
"""

from __future__ import annotations

import codecs
import stat
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness.errors import ConfigError
from harness.law.io import fast_reading, table
from harness.law.io.importers import (
    csv_text,
    json_lines,
    metric_maps,
    parquet,
    trainer_state,
    trl_console,
    verl_console,
    wandb_csv,
)
from harness.law.io.importers.rows import Importer, Rows
from harness.law.io.table import LogTable, ReadError
from harness.records.run_folder import RunFolder
from harness.utils import extensions

METRICS = "metrics.jsonl"
GZIP = b"\x1f\x8b"
LARGEST_BYTES = 2**30
"""About 390,000 steps. Larger files are refused: reading needs three times their size in memory."""


def _has_ending(name: str, ending: str | tuple[str, ...]) -> bool:
    return name.lower().endswith(ending)


OURS: Mapping[str, Importer] = {
    "wandb_csv": Importer(wandb_csv.looks_like, wandb_csv.rows),
    "csv": Importer(lambda name, _: _has_ending(name, ".csv"), csv_text.rows),
    "trainer_state": Importer(
        lambda name, data: _has_ending(name, ".json") and trainer_state.looks_like(data),
        trainer_state.rows,
    ),
    "metric_maps": Importer(
        lambda name, data: _has_ending(name, ".json") and metric_maps.looks_like(data),
        metric_maps.rows,
    ),
    "verl_console": Importer(
        lambda name, data: (
            not _has_ending(name, (".json", ".jsonl")) and verl_console.looks_like(data)
        ),
        verl_console.rows,
    ),
    "trl_console": Importer(
        lambda name, data: (
            not _has_ending(name, (".json", ".jsonl")) and trl_console.looks_like(data)
        ),
        trl_console.rows,
    ),
    "json_lines": Importer(lambda name, data: True, json_lines.rows),
}
"""Importers in order: the first that recognises a file reads it, and the last accepts all."""


def read(
    path: Path, wanted: Sequence[str], still_written: bool = False, step: str | None = None
) -> LogTable:
    """Read the columns `wanted`, those known as step, entropy and reward, and all column names.

    `step` names the column of steps; by default a known name is found. A torn last line is damage
    unless the file is `still_written`. Raise ReadError with empty_input or unreadable.
    """
    data = _bytes(path).removeprefix(b"\xef\xbb\xbf")
    quick_table = fast_reading.table(path, data, wanted) if step in (None, "step") else None
    if quick_table is not None:
        return quick_table
    plug_in_rows = _rows_of_plug_in(path, data)
    if plug_in_rows is not None:
        return _table(path, data, plug_in_rows, wanted, still_written, step)
    _refuse_other_bytes(path, data)
    if path.suffix.lower() == ".parquet" or data.startswith(parquet.MAGIC):
        return parquet.table(path, data, wanted, step)
    return read_tolerantly(path, data, wanted, still_written, step)


def read_tolerantly(
    path: Path,
    data: bytes,
    wanted: Sequence[str],
    still_written: bool = False,
    step: str | None = None,
) -> LogTable:
    """Read the bytes of a file line by line, as `read` does. Raise the same errors."""
    return _table(path, data, _rows(path, data, wanted, step), wanted, still_written, step)


def _table(
    path: Path,
    data: bytes,
    parsed: Rows,
    wanted: Sequence[str],
    still_written: bool,
    step: str | None,
) -> LogTable:
    if still_written:
        damage = {
            reason: lines for reason, lines in parsed.damage.items() if reason != "torn_last_line"
        }
        parsed = replace(parsed, damage=damage)
    if not parsed.rows:
        raise _no_rows(path, data, parsed)
    return table.from_rows(path, parsed, wanted, step)


def _rows(path: Path, data: bytes, wanted: Sequence[str], step: str | None) -> Rows:
    """Read with the importer of the format, determined by the file's name and content."""
    importer = next(
        candidate for candidate in OURS.values() if candidate.looks_like(path.name, data)
    )
    if importer is OURS["csv"]:
        _refuse_other_separator(path, data)
        table.refuse_repeats(f"{path}:1", csv_text.header(data), wanted, step)
    if importer is OURS["wandb_csv"]:
        _refuse_several_runs(path, wandb_csv.runs(data))
        names = list(wandb_csv.names(data).values())
        table.refuse_repeats(f"{path}:1", names, wanted, step)
    return importer.rows(data)


def _rows_of_plug_in(path: Path, data: bytes) -> Rows | None:
    """Return the rows read by the first plug-in importer that recognises the file.

    None if there is none, or if the file is the log of one of our runs.
    """
    if path.name == METRICS and RunFolder(path.parent).is_run():
        return None
    for name in extensions.names("importer"):
        try:
            importer = extensions.load("importer", name)
            if importer.looks_like(path.name, data):
                rows: Rows = importer.rows(data)
                return rows
        except ConfigError as error:  # it cannot be imported
            raise ReadError("unreadable", f"{path}: {error}") from error
        except Exception as error:  # any error, so that other logs are still read
            package = extensions.package_of("importer", name)
            rule = f"must be readable by the importer {name} of {package}"
            got = f"{type(error).__name__}: {error}"
            raise ReadError("unreadable", f"{path}: {rule}, got {got}") from error
    return None


def _refuse_other_bytes(path: Path, data: bytes) -> None:
    """Raise ReadError for compressed, UTF-16 and UTF-32 files, by their first bytes."""
    if data.startswith(GZIP):
        raise ReadError(
            "unreadable", f"{path}: must not be compressed, but is: decompress it with gunzip first"
        )
    is_wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    # a damaged row may begin with these bytes too, but not go on as UTF-16 text
    if is_wide and data[:4].decode("utf-16", "replace").isascii():
        rule = "must be UTF-8, but begins as UTF-16 or UTF-32: write it as UTF-8"
        raise ReadError("unreadable", f"{path}: {rule}")


def _refuse_other_separator(path: Path, data: bytes) -> None:
    separator = csv_text.other_separator(data)
    if separator is not None:
        rule = f"columns must be separated by ',', but the header seems to use {separator!r}"
        header = data.partition(b"\n")[0].decode("utf-8").strip()
        advice = "use ',' between columns and '.' in numbers"
        raise ReadError("unreadable", f"{path}:1: {rule}; got {header!r}: {advice}")


def _refuse_several_runs(path: Path, runs: Sequence[str]) -> None:
    if len(runs) > 1:
        got = f"columns of {', '.join(runs[:4])}{', ...' if len(runs) > 4 else ''}"
        rule = "must have the columns of one run: choose one in the chart and export it again"
        raise ReadError("unreadable", f"{path}:1: {rule}; got {got}")


def _bytes(path: Path) -> bytes:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise ReadError("unreadable", f"{path}: must be a regular file, but is not")
        if status.st_size > LARGEST_BYTES:
            size = f"{status.st_size / 2**30:.1f} GiB"
            limit = f"{LARGEST_BYTES / 2**30:.0f} GiB"
            rule = f"must be at most {limit}, got {size}: fit a part of the rows"
            raise ReadError("unreadable", f"{path}: {rule}")
        return path.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ReadError("unreadable", f"{path}: must be readable, but is not: {reason}") from error


def _no_rows(path: Path, data: bytes, parsed: Rows) -> ReadError:
    if not data.strip():
        return ReadError("empty_input", f"{path}: {parsed.rule}, but is empty")
    if not parsed.damage:
        return ReadError("empty_input", f"{path}: {parsed.rule}, but has none")
    first = min(min(lines) for lines in parsed.damage.values())
    count = sum(map(len, parsed.damage.values()))
    sentence = f"{path}:{first}: {parsed.rule}, but none of {count} lines is valid"
    return ReadError("unreadable", sentence + _as_csv(path, data))


def _as_csv(path: Path, data: bytes) -> str:
    """Return advice for a CSV table that is not named .csv, else an empty string."""
    line = data.partition(b"\n")[0]
    if path.suffix.lower() == ".csv" or line[:1] in (b"{", b"["):
        return ""
    if len(csv_text.header(line)) == 1 and csv_text.other_separator(line) is None:
        return ""
    return "; a table with ',' between columns must be named .csv"
