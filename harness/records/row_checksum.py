"""The checksum of a row of metrics.jsonl, by which a changed row is told from a good one.

It is the last key of the line, `"crc32": "1c291ca3"`, taken over the bytes before it. Rows that
were written before there was a checksum have none.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Mapping
from typing import Any

KEY = "crc32"
_END = re.compile(rb', "crc32": "([0-9a-f]{8})"\}\s*\Z')


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


def without(line: bytes) -> bytes:
    """The line as a version that knew no checksum would have written it."""
    return _END.sub(b"}\n", line)
