"""Define an importer of logs and its result: rows, their line numbers, and damage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

LinesByReason = dict[str, list[int]]
"""Reason -> line numbers, from 1."""
Row = Mapping[str, Any]
"""Column -> a JSON value."""


@dataclass(frozen=True)
class Rows:
    """The rows of a log in the order of the file."""

    rows: Sequence[Row]
    lines: Sequence[int]
    """Line number of each row, from 1."""
    damage: LinesByReason
    """Reason -> numbers of the lines that are no valid rows."""
    rule: str
    """The content that such a file must have, for the error message if it has no rows."""
    scattered: bool
    """Whether the program spreads one step over several rows."""
    checksums: str | None = None
    """Whether ALL, SOME or NONE of the rows have one (checksums.py); None if not supported."""


@dataclass(frozen=True)
class Importer:
    """The reader of one log format, built in or from a plug-in."""

    looks_like: Callable[[str, bytes], bool]
    """Return whether a file with this name and content has the format. It must not raise."""
    rows: Callable[[bytes], Rows]
    """Return the rows of a file's content. Damage is recorded in `Rows.damage`, not raised."""


def damaged(malformed: Sequence[int], torn: int | None) -> LinesByReason:
    """Return the damage of a file. `torn` is the number of its incomplete last line, if any."""
    by_reason = {"malformed_line": list(malformed), "torn_last_line": [torn] if torn else []}
    return {reason: lines for reason, lines in by_reason.items() if lines}
