"""The checksum of a row of metrics.jsonl, by which a changed row is told from a good one.

It is the last key of the line, `"crc32": "1c291ca3"`, taken over the bytes before it. Rows that
were written before there was a checksum have none. A sum over the checksums of a run's rows tells
them from the rows of another run, each of which is good by itself.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

KEY = "crc32"
_END = re.compile(rb', "crc32": "([0-9a-f]{8})"\}\s*\Z')


@dataclass(frozen=True)
class RowSums:
    """By which the rows of one run are known: 8 hex digits of the first, and of all of them."""

    first: str
    all: str


def encode(row: Mapping[str, Any]) -> bytes:
    """The line of `row` with its checksum. Raises ValueError on NaN and infinity."""
    body = json.dumps(row, allow_nan=False)[:-1].encode()
    return body + f', "{KEY}": "{zlib.crc32(body):08x}"}}\n'.encode()


def holds(line: bytes) -> bool | None:
    """Whether the checksum of a line fits its bytes; None where the line has none."""
    found = _END.search(line)
    if found is None:
        return False if f'"{KEY}"'.encode() in line else None
    return zlib.crc32(line[: found.start()]) == int(found[1], 16)


def of_row(line: bytes) -> int:
    """The checksum that a row has or would have, computed anew."""
    found = _END.search(line)
    return zlib.crc32(line[: found.start()] if found else line.rstrip().removesuffix(b"}"))


def following(before: int, row: int) -> int:
    """The sum of rows up to one whose checksum is `row`; `before`: up to the one before it, or 0.

    What is summed are the checksums, so that whoever has these need not look at the rows again.
    """
    return zlib.crc32(b"%08x" % row, before)


def sums(rows: Iterable[bytes]) -> RowSums | None:
    """Of whole lines in their order; None of no line."""
    first, every = None, 0
    for line in rows:
        row = of_row(line)
        every = following(every, row)
        first = every if first is None else first
    return None if first is None else RowSums(f"{first:08x}", f"{every:08x}")


def without(line: bytes) -> bytes:
    """The line as a version that knew no checksum would have written it."""
    return _END.sub(b"}\n", line)
