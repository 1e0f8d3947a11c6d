"""An importer, and the value of every importer: rows, their places, and those of what is none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Places = dict[str, list[int]]
"""Reason -> line numbers, from 1."""
Row = Mapping[str, Any]
"""Column -> what JSON can hold."""


@dataclass(frozen=True)
class Rows:
    """The rows of a log in the order of the file."""

    rows: Sequence[Row]
    lines: Sequence[int]
    """Line number of each row, from 1."""
    damage: Places
    """Lines that should be rows and are none."""
    rule: str
    """The content that such a file must have, for the message where it has none of it."""
    scattered: bool
    """Whether the program spreads one step over several rows."""
    checksums: str | None = None
    """How many of the rows have one (law/io/checksums.py); None where the format knows none."""


@dataclass(frozen=True)
class Importer:
    """One format of logs; a plug-in's has the same form as ours."""

    looks_like: Callable[[str, bytes], bool]
    """Whether a file of this name and content is of the format; it must not raise."""
    rows: Callable[[bytes], Rows]
    """The rows of such content. What is damaged is counted in `Rows.damage`, not raised."""


def damaged(malformed: Sequence[int], torn: int | None) -> Places:
    """The damage of a file; `torn` is its unfinished last line, where it has one."""
    places = {"malformed_line": list(malformed), "torn_last_line": [torn] if torn else []}
    return {reason: where for reason, where in places.items() if where}
