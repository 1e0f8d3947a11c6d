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
    held = [data.startswith(HEAD, max(0, end - END)) for end in ends.tolist()]
    if not any(held):
        return NONE
    begun = held.index(True)
    starts = np.concatenate(([0], ends[:-1] + 1))[begun:]
    view = memoryview(data)
    lines = zip(starts.tolist(), ends[begun:].tolist(), strict=True)
    if not all(_fits(data, view, start, end) for start, end in lines):
        return None
    return SOME if begun else ALL


def row_sums(data: bytes) -> RowSums:
    """Return the sums of complete lines from their checksums, once `check_quickly` returned ALL."""
    ends = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n")).tolist()
    digits = [data[end - len(TAIL) - DIGITS : end - len(TAIL)] for end in ends]
    return RowSums(f"{zlib.crc32(digits[0]):08x}", f"{zlib.crc32(b''.join(digits)):08x}")


def check(rows: Sequence[bytes]) -> ChecksumCheck:
    """Check all rows of a file, in order.

    A log of another program may have a key of this name, but no row that ends in a checksum.
    """
    held = [metric_rows.checksum_matches(row) for row in rows]
    ours = any(held) or any(metric_rows.without_checksum(row) != row for row in rows)
    if not ours:
        return ChecksumCheck(NONE, ())
    begun = next(place for place, fits in enumerate(held) if fits is not None)
    damaged = tuple(place for place in range(begun, len(rows)) if not held[place])
    return ChecksumCheck(SOME if begun else ALL, damaged)


def _fits(data: bytes, view: memoryview, start: int, end: int) -> bool:
    body = end - END
    if body < start or not data.startswith(HEAD, body) or not data.startswith(TAIL, end - 2):
        return False
    return data.startswith(b"%08x" % zlib.crc32(view[start:body]), body + len(HEAD))
