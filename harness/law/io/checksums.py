"""Check the checksums of JSON lines: which rows have one, and which rows were changed.

In a log that was begun by a version without checksums, rows without one come first. A row without
a checksum after a row with one has lost it.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.records import metric_rows
from harness.records.metric_rows import RowSums

ALL, SOME, NONE = "all", "some", "none"
"""Whether all, some or none of the rows have a checksum."""
KEY = metric_rows.KEY.encode()
QUOTED = b'"%b"' % KEY
HEAD, TAIL = b', %b: "' % QUOTED, b'"}'
DIGITS = 8
END = len(HEAD) + DIGITS + len(TAIL)
"""Number of bytes at the end of a row that the checksum does not cover."""


@dataclass(frozen=True)
class ChecksumCheck:
    """The result of checking the checksums of some rows."""

    coverage: str
    """ALL, SOME or NONE"""
    damaged: tuple[int, ...]
    """Indices of the rows that were changed."""


def check_quickly(data: bytes) -> str | None:
    """Return ALL, SOME or NONE for undamaged complete lines; None if `check` must decide.

    It copies nothing and searches only the ends of lines, because a thousand logs are a gigabyte.
    """
    octets = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(octets == ord("\n"))
    if not (octets[ends - 1] == ord("}")).all():
        return None
    has_checksum = [data.startswith(HEAD, max(0, end - END)) for end in ends.tolist()]
    if not any(has_checksum):
        return NONE
    first = has_checksum.index(True)
    starts = np.concatenate(([0], ends[:-1] + 1))[first:]
    view = memoryview(data)
    lines = zip(starts.tolist(), ends[first:].tolist(), strict=True)
    if not all(_fits(data, view, start, end) for start, end in lines):
        return None
    return SOME if first else ALL


def row_sums(data: bytes) -> RowSums:
    """Return the sums of complete lines from their checksums, once `check_quickly` returned ALL."""
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")).tolist()
    digits = [data[end - len(TAIL) - DIGITS : end - len(TAIL)] for end in ends]
    return RowSums(f"{zlib.crc32(digits[0]):08x}", f"{zlib.crc32(b''.join(digits)):08x}")


def check(rows: Sequence[bytes]) -> ChecksumCheck:
    """Check all rows of a file, in order.

    A log of another program may have a key of this name, but no row that ends in a checksum.
    """
    matches = [metric_rows.checksum_matches(row) for row in rows]
    has_checksums = any(matches) or any(metric_rows.without_checksum(row) != row for row in rows)
    if not has_checksums:
        return ChecksumCheck(NONE, ())
    first = next(index for index, fits in enumerate(matches) if fits is not None)
    damaged = tuple(index for index in range(first, len(rows)) if not matches[index])
    return ChecksumCheck(SOME if first else ALL, damaged)


def _fits(data: bytes, view: memoryview, start: int, end: int) -> bool:
    body = end - END
    if body < start or not data.startswith(HEAD, body) or not data.startswith(TAIL, end - 2):
        return False
    return data.startswith(b"%08x" % zlib.crc32(view[start:body]), body + len(HEAD))
