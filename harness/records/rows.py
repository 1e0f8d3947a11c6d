"""The rows of metrics.jsonl as they are on disk: looked through from the first on, not changed."""

from __future__ import annotations

import json
import math
from array import array
from dataclasses import dataclass
from pathlib import Path

from harness.errors import DataError
from harness.records import plain_file, row_checksum
from harness.records.row_checksum import RowSums

LONGEST_ROW_BYTES = 65_536
"""A row takes some 3,000; a file with a hole in it may be one line of gigabytes."""


@dataclass(frozen=True)
class Rows:
    """The sound rows from the first on, and what ends them."""

    ends: array[int]
    """Where row N ends, in bytes, at N; 0 before the first."""
    summed: array[int]
    """The sum of the rows up to row N, at N."""
    without_checksum: int
    """How many of them an older version wrote."""
    torn: bool
    """Whether the last line has no end: the mark of a killed run."""
    problem: str | None
    """What is wrong with the first row that is damaged, as FILE:LINE: RULE, GIVEN."""

    @property
    def last_step(self) -> int:
        """0 where there is none. Row N is line N."""
        return len(self.ends) - 1

    def sums(self, step: int) -> RowSums | None:
        """Of the rows up to `step`; None where there is none, or not all of them."""
        return sums(self.summed, step)


def sums(summed: array[int], step: int) -> RowSums | None:
    """As `Rows.sums`, of the sums up to each row."""
    if not 1 <= step < len(summed):
        return None
    return RowSums(f"{summed[1]:08x}", f"{summed[step]:08x}")


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
            holds = row_checksum.holds(line)
            problem = _problem(step, line, holds, lacking_before=unchecked == step - 1)
            if problem is not None:
                problem = f"{path}:{step}: {problem}"
                break
            unchecked += holds is None
            ends.append(ends[-1] + len(line))
            summed.append(row_checksum.following(summed[-1], row_checksum.of_row(line)))
    return Rows(ends, summed, unchecked, torn, problem)


def _problem(step: int, line: bytes, holds: bool | None, lacking_before: bool) -> str | None:
    if not line.startswith(f'{{"step": {step}, '.encode()):
        given = line[:20].decode(errors="replace").rstrip()
        return f"row {step} must be of step {step}, got {given!r}"
    if holds:
        return None
    rule = f"row {step} must fit its checksum"
    if holds is False:
        return f"{rule}, and does not: it was changed after it was written"
    if not lacking_before:
        return f"{rule} as the rows before it do, got none"
    if not _is_row(line):
        return f"row {step} must be a JSON object of numbers and nulls, and is not"
    return None


def _is_row(line: bytes) -> bool:
    """Of a row without a checksum; one whose checksum lost its name holds a text."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and all(
        value is None or (type(value) in (int, float) and math.isfinite(value))
        for value in row.values()
    )
