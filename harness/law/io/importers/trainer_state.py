"""Read TRL's log history, in a trainer_state.json or as a list in its own file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from harness.law.io.importers.rows import Row, Rows, damaged

RULE = 'must hold a list of JSON objects under "log_history"'
_HISTORY = re.compile(r'"log_history"\s*:\s*\[')
_NEXT = re.compile(r"[\s,]*")
_OBJECT = re.compile(r"\n\s*\{")


def looks_like(data: bytes) -> bool:
    return data.lstrip()[:1] == b"[" or b'"log_history"' in data


def rows(data: bytes) -> Rows:
    """Read the records one by one, so that a truncated file yields those before its end."""
    text = data.decode("utf-8", "replace")
    parsed: list[Row] = []
    places, malformed = [], []
    line, counted = 1, 0
    for at, value in _records(text):
        line, counted = line + text.count("\n", counted, at), at
        if isinstance(value, dict):
            parsed.append(value)
            places.append(line)
        else:
            malformed.append(line)
    ended = text.rstrip().endswith(("]", "}"))
    torn = malformed.pop() if malformed and not ended else None
    return Rows(parsed, places, damaged(malformed, torn), RULE, scattered=True)


def _records(text: str) -> Iterator[tuple[int, Any]]:
    """Yield the position and the value of each record; None for one that is no JSON."""
    start = _HISTORY.search(text)
    at = start.end() if start else text.find("[") + 1
    decoder = json.JSONDecoder()
    while at:
        at = _after(text, at)
        if at >= len(text) or text[at] == "]":
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            value, end = None, _next_object(text, at)
        yield at, value
        at = end


def _after(text: str, at: int) -> int:
    gap = _NEXT.match(text, at)
    return gap.end() if gap else at


def _next_object(text: str, at: int) -> int:
    """Return the position of the record after a damaged one; 0 if there is none."""
    match = _OBJECT.search(text, at + 1)
    return match.start() if match else 0
