"""The rows of metrics.jsonl: encoding with a checksum, and scanning of a file.

A row's checksum is its last key, `"crc32": "1c291ca3"`, computed over the bytes before it. Rows of
older versions have none. A checksum over the checksums of a run's rows distinguishes them from the
rows of another run, which are valid one by one.
"""

from __future__ import annotations

import json
import re
import sys
import zlib
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import DataError
from harness.records import plain_file

LARGEST = 1e300
"""Values of this size or above, and NaN, count as missing."""
LARGEST_FLOAT = sys.float_info.max
LONGEST_ROW_BYTES = 65_536
"""Limit for a row, which takes about 3,000 bytes: a damaged file may be one line of gigabytes."""


@dataclass(frozen=True)
class RowScan:
    """The valid rows at the start of a file, and the first problem after them."""

    ends: array[int]
    """At index N the byte offset of the end of row N; 0 at index 0."""
    summed: array[int]
    """At index N the checksum of rows 1 to N, see `next_checksum`."""
    without_checksum: int
    """Number of rows without a checksum, written by an older version."""
    torn: bool
    """Whether the last line has no newline, as a killed run leaves it."""
    problem: str | None
    """Description of the first damaged row, as FILE:LINE: RULE, GIVEN; None if all are valid."""

    @property
    def last_step(self) -> int:
        """Step of the last valid row; 0 if there is none. Row N is line N."""
        return len(self.ends) - 1

    def sums(self, step: int) -> RowSums | None:
        """Return the fingerprint of rows 1 to `step`; None if some of them are missing."""
        return sums_up_to(self.summed, step)


def sums_up_to(summed: array[int], step: int) -> RowSums | None:
    """`RowScan.sums` from the values of `RowScan.summed`."""
    if not 1 <= step < len(summed):
        return None
    return RowSums(f"{summed[1]:08x}", f"{summed[step]:08x}")


def number(row: Mapping[str, Any], key: str) -> float | None:
    """Return a number of a row; None for null and for anything else in a damaged row."""
    value = row.get(key)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < LARGEST else None


def scan(path: Path) -> RowScan:
    """Check the rows of a file in one pass, up to the first damaged one.

    Raises OSError, and DataError if the file is not regular or a row exceeds LONGEST_ROW_BYTES.
    """
    if not path.is_file():
        path.stat()
        raise DataError(f"{path}: must be a regular file, but is not")
    ends, unchecked, torn, problem = array("q", [0]), 0, False, None
    summed = array("L", [0])
    with open(path, "rb", opener=plain_file.opener) as file:
        lines = iter(lambda: file.readline(LONGEST_ROW_BYTES + 1), b"")
        for step, line in enumerate(lines, start=1):
            if len(line) > LONGEST_ROW_BYTES:
                rule = f"a row must be at most {LONGEST_ROW_BYTES:,} bytes long, but is longer"
                raise DataError(f"{path}:{step}: {rule}")
            torn = not line.endswith(b"\n")
            if torn:
                break
            is_valid = checksum_matches(line)
            problem = _problem(step, line, is_valid, earlier_lack_checksums=unchecked == step - 1)
            if problem is not None:
                problem = f"{path}:{step}: {problem}"
                break
            unchecked += is_valid is None
            ends.append(ends[-1] + len(line))
            summed.append(next_checksum(summed[-1], of_row(line)))
    return RowScan(ends, summed, unchecked, torn, problem)


def _problem(
    step: int, line: bytes, is_valid: bool | None, earlier_lack_checksums: bool
) -> str | None:
    if not line.startswith(f'{{"step": {step}, '.encode()):
        start = line[:20].decode(errors="replace").rstrip()
        return f"row {step} must be of step {step}, got {start!r}"
    if is_valid:
        return None
    rule = f"row {step} must match its checksum"
    if is_valid is False:
        return f"{rule}, but does not: it was changed after it was written"
    if not earlier_lack_checksums:
        return f"{rule} like the rows before it, got none"
    if not _is_row(line):
        return f"row {step} must be a JSON object of numbers and nulls, but is not"
    return None


def _is_row(line: bytes) -> bool:
    """Check a row without a checksum. Text values are rejected: one may be a checksum whose key
    was damaged.
    """
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and all(
        value is None or (type(value) in (int, float) and -LARGEST_FLOAT <= value <= LARGEST_FLOAT)
        for value in row.values()
    )


KEY = "crc32"
_END = re.compile(rb', "crc32": "([0-9a-f]{8})"\}\s*\Z')


@dataclass(frozen=True)
class RowSums:
    """Fingerprint of a run's rows: 8 hex digits for the first row, and 8 for all of them."""

    first: str
    all: str


def encode(row: Mapping[str, Any]) -> bytes:
    """Encode `row` as a line with its checksum. Raises ValueError on NaN and infinity."""
    body = json.dumps(row, allow_nan=False)[:-1].encode()
    return body + f', "{KEY}": "{zlib.crc32(body):08x}"}}\n'.encode()


def checksum_matches(line: bytes) -> bool | None:
    """Whether the checksum of a line matches its bytes; None if it has none."""
    end = _END.search(line)
    if end is None:
        return False if f'"{KEY}"'.encode() in line else None
    return zlib.crc32(line[: end.start()]) == int(end[1], 16)


def of_row(line: bytes) -> int:
    """Compute the checksum of a row, whether or not the row contains one."""
    end = _END.search(line)
    return zlib.crc32(line[: end.start()] if end else line.rstrip().removesuffix(b"}"))


def next_checksum(previous: int, row_sum: int) -> int:
    """Return the checksum of rows 1 to n, from that of rows 1 to n - 1 (0 for none) and row n's.

    It is computed over the rows' checksums, so that the rows themselves need not be read again.
    """
    return zlib.crc32(b"%08x" % row_sum, previous)


def sums(rows: Iterable[bytes]) -> RowSums | None:
    """Return the fingerprint of complete lines, in order; None if there are none."""
    first, checksum = None, 0
    for line in rows:
        row_sum = of_row(line)
        checksum = next_checksum(checksum, row_sum)
        first = checksum if first is None else first
    return None if first is None else RowSums(f"{first:08x}", f"{checksum:08x}")


def without_checksum(line: bytes) -> bytes:
    """Return the line without its checksum, as older versions wrote it."""
    return _END.sub(b"}\n", line)
