"""The rows of metrics.jsonl: how one is written with its checksum, and a file's scanned.

A row's checksum is its last key, `"crc32": "1c291ca3"`, taken over the bytes before it. Rows that
were written before there was a checksum have none. A sum over the checksums of a run's rows tells
them from the rows of another run, each of which is good by itself.
"""

from __future__ import annotations

import json
import math
import re
import zlib
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import DataError
from harness.records import plain_file

LARGEST = 1e300
"""A larger number, infinity and NaN are none."""
LONGEST_ROW_BYTES = 65_536
"""A row takes some 3,000; a file with a hole in it may be one line of gigabytes."""


@dataclass(frozen=True)
class Rows:
    """The sound rows from the first on, and what ends them."""

    ends: array[int]
    """End of row N in bytes, at index N; 0 before the first."""
    summed: array[int]
    """The sum of the rows up to row N, at N."""
    without_checksum: int
    """Number of rows without a checksum, written by an older version."""
    torn: bool
    """Whether the last line has no end: the mark of a killed run."""
    problem: str | None
    """Description of the first damaged row, as FILE:LINE: RULE, GIVEN; None where all are sound."""

    @property
    def last_step(self) -> int:
        """0 where there is none. Row N is line N."""
        return len(self.ends) - 1

    def sums(self, step: int) -> RowSums | None:
        """Sums of the rows up to `step`; None where not all of them are there."""
        return sums_up_to(self.summed, step)


def sums_up_to(summed: array[int], step: int) -> RowSums | None:
    """`Rows.sums` from the sums up to each row."""
    if not 1 <= step < len(summed):
        return None
    return RowSums(f"{summed[1]:08x}", f"{summed[step]:08x}")


def number(row: Mapping[str, Any], key: str) -> float | None:
    """A number of a row; None for anything else that a damaged row may hold there."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < LARGEST else None


def scan(path: Path) -> Rows:
    """Look through the file once. Raises OSError, and DataError if it is not a regular file or a
    row is longer than any can be.
    """
    if not path.is_file():
        path.stat()
        raise DataError(f"{path}: must be a regular file, and is not")
    ends, unchecked, torn, problem = array("q", [0]), 0, False, None
    summed = array("L", [0])
    with open(path, "rb", opener=plain_file.opener) as file:
        lines = iter(lambda: file.readline(LONGEST_ROW_BYTES + 1), b"")
        for step, line in enumerate(lines, start=1):
            if len(line) > LONGEST_ROW_BYTES:
                rule = f"a row must be at most {LONGEST_ROW_BYTES:,} bytes long, and this is longer"
                raise DataError(f"{path}:{step}: {rule}")
            torn = not line.endswith(b"\n")
            if torn:
                break
            checked = holds(line)
            problem = _problem(step, line, checked, lacking_before=unchecked == step - 1)
            if problem is not None:
                problem = f"{path}:{step}: {problem}"
                break
            unchecked += checked is None
            ends.append(ends[-1] + len(line))
            summed.append(following(summed[-1], of_row(line)))
    return Rows(ends, summed, unchecked, torn, problem)


def _problem(step: int, line: bytes, checked: bool | None, lacking_before: bool) -> str | None:
    if not line.startswith(f'{{"step": {step}, '.encode()):
        start = line[:20].decode(errors="replace").rstrip()
        return f"row {step} must be of step {step}, got {start!r}"
    if checked:
        return None
    rule = f"row {step} must fit its checksum"
    if checked is False:
        return f"{rule}, and does not: it was changed after it was written"
    if not lacking_before:
        return f"{rule} as the rows before it do, got none"
    if not _is_row(line):
        return f"row {step} must be a JSON object of numbers and nulls, and is not"
    return None


def _is_row(line: bytes) -> bool:
    """Check a row without a checksum; one whose checksum lost its name holds a text."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and all(
        value is None or (type(value) in (int, float) and math.isfinite(value))
        for value in row.values()
    )


KEY = "crc32"
_END = re.compile(rb', "crc32": "([0-9a-f]{8})"\}\s*\Z')


@dataclass(frozen=True)
class RowSums:
    """Fingerprint of a run's rows: 8 hex digits of the first, and of all of them."""

    first: str
    all: str


def encode(row: Mapping[str, Any]) -> bytes:
    """The line of `row` with its checksum. Raises ValueError on NaN and infinity."""
    body = json.dumps(row, allow_nan=False)[:-1].encode()
    return body + f', "{KEY}": "{zlib.crc32(body):08x}"}}\n'.encode()


def holds(line: bytes) -> bool | None:
    """Whether the checksum of a line fits its bytes; None where the line has none."""
    end = _END.search(line)
    if end is None:
        return False if f'"{KEY}"'.encode() in line else None
    return zlib.crc32(line[: end.start()]) == int(end[1], 16)


def of_row(line: bytes) -> int:
    """The checksum that a row has or would have, computed anew."""
    end = _END.search(line)
    return zlib.crc32(line[: end.start()] if end else line.rstrip().removesuffix(b"}"))


def following(before: int, row: int) -> int:
    """The sum of rows up to one whose checksum is `row`; `before`: up to the one before it, or 0.

    What is summed are the checksums, so that whoever has these need not look at the rows again.
    """
    return zlib.crc32(b"%08x" % row, before)


def sums(rows: Iterable[bytes]) -> RowSums | None:
    """Fingerprint of whole lines in their order; None without lines."""
    first, every = None, 0
    for line in rows:
        row = of_row(line)
        every = following(every, row)
        first = every if first is None else first
    return None if first is None else RowSums(f"{first:08x}", f"{every:08x}")


def without(line: bytes) -> bytes:
    """The line as a version that knew no checksum would have written it."""
    return _END.sub(b"}\n", line)
