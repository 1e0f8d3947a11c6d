"""metrics.jsonl: one row per step, with only values that seed and config determine.

A row counts as written once it is fsynced, and ends with a checksum of its bytes. After a resume
the rows after the checkpoint are still on disk. The run recomputes them, and each must equal the
row on disk byte for byte, except for the checksum, which rows of older versions lack.

A file keeps the columns that it was started with. A run that an older version started continues
without the metrics added since, so that all its rows have the same columns.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.errors import DataError, DivergedError
from harness.records import atomic, metric_rows
from harness.records.metric_rows import RowSums
from harness.records.metrics import MEASURED


def encode_row(
    step: int, values: Mapping[str, float | None], columns: Iterable[str] = MEASURED
) -> bytes:
    """Encode a line of metrics.jsonl. NaN and infinity become null.

    Raises KeyError on an unknown key.
    """
    unknown = values.keys() - MEASURED.keys()
    if unknown:
        raise KeyError(f"not a metric: {sorted(unknown)[0]}")
    row: dict[str, Any] = {"step": step}
    row.update((key, _finite(values.get(key))) for key in columns)
    return metric_rows.encode(row)


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


class MetricsLog:
    """Appends rows; after a resume, checks recomputed rows against those on disk.

    Keeps only the end and the checksum of each row in memory.
    """

    def __init__(self, path: Path, needed: int | None = None) -> None:
        """Open `path` and cut off an incomplete last line, which a killed run leaves.

        Rows after `needed` will be recomputed, so if one of them is damaged, it and all later rows
        are moved to metrics.superseded.jsonl, and `moved_aside` is set to the reason. Raises
        DataError if a row up to `needed` (None: any row) is damaged or the file is not regular.
        """
        self.moved_aside: str | None = None
        with atomic.storage_errors(path):
            self._path = path
            self._descriptor = atomic.open_to_append(path)
            try:
                scanned = metric_rows.scan(path)
                self._ends, self._summed = scanned.ends, scanned.summed
                if scanned.problem is not None:
                    self._move_damaged_rows(scanned, needed)
                self._columns = self._columns_on_disk()
            except BaseException:
                os.close(self._descriptor)
                raise
            os.ftruncate(self._descriptor, self._ends[-1])

    def _move_damaged_rows(self, scanned: metric_rows.RowScan, needed: int | None) -> None:
        if needed is None or scanned.last_step < needed:
            advice = "without checkpoints/ the rows are computed again"
            raise DataError(f"{scanned.problem}; {advice}")
        self.moved_aside = scanned.problem
        self._move_aside(scanned.ends[-1], os.fstat(self._descriptor).st_size)

    @property
    def last_step(self) -> int:
        """Step of the last row on disk; 0 if there is none. Row N is line N."""
        return len(self._ends) - 1

    @property
    def columns(self) -> tuple[str, ...]:
        """Metrics of each row: those of the last row on disk, or all of MEASURED in a new file."""
        return self._columns

    def _columns_on_disk(self) -> tuple[str, ...]:
        if not self.last_step:
            return tuple(MEASURED)
        row = self._row(self.last_step)[1]
        return tuple(key for key in row if key not in ("step", metric_rows.KEY))

    def _row(self, step: int) -> tuple[bytes, dict[str, Any]]:
        """Return row `step` on disk, as bytes without the checksum and as values."""
        line = metric_rows.without_checksum(
            self._read_bytes(self._ends[step - 1], self._ends[step])
        )
        try:
            return line, dict(json.loads(line))
        except (ValueError, TypeError, RecursionError) as error:
            rule = f"row {step} must be a JSON object of numbers and nulls, but is not"
            raise DataError(f"{self._path}:{step}: {rule}") from error

    def values(self, step: int) -> dict[str, Any]:
        """Return row `step` on disk. Raises DataError if it is not a JSON object."""
        return self._row(step)[1]

    def sums(self, step: int) -> RowSums | None:
        """Return the fingerprint of rows 1 to `step`; None if some of them are missing."""
        return metric_rows.sums_up_to(self._summed, step)

    def append(self, step: int, values: Mapping[str, float | None]) -> bool:
        """Make row `step` durable; True if it was new, False if recomputed and found equal.

        Raises DivergedError if the row on disk differs.
        """
        if step <= self.last_step:
            self._compare(step, values)
            return False
        if step != self.last_step + 1:
            raise ValueError(f"row {step} would leave a gap after row {self.last_step}")
        line = encode_row(step, values, self._columns)
        with atomic.storage_errors(self._path):
            try:
                atomic.write_all(self._descriptor, line)
                os.fsync(self._descriptor)
            except OSError:
                os.ftruncate(self._descriptor, self._ends[-1])  # leave no partial row
                raise
        checksum = metric_rows.next_checksum(self._summed[-1], metric_rows.of_row(line))
        self._summed.append(checksum)
        self._ends.append(self._ends[-1] + len(line))
        return True

    def supersede(self, step: int) -> None:
        """Move the rows from `step` on to metrics.superseded.jsonl, so that others can follow."""
        ends = self._ends[:step]
        with atomic.storage_errors(self._path):
            self._move_aside(ends[-1], self._ends[-1])
        self._ends, self._summed = ends, self._summed[:step]

    def _move_aside(self, start: int, end: int) -> None:
        target = atomic.open_to_append(self._path.with_name("metrics.superseded.jsonl"))
        try:
            atomic.write_all(target, self._read_bytes(start, end))
            os.fsync(target)
        finally:
            os.close(target)
        os.ftruncate(self._descriptor, start)
        os.fsync(self._descriptor)

    def _read_bytes(self, start: int, end: int) -> bytes:
        return os.pread(self._descriptor, end - start, start)

    def _compare(self, step: int, values: Mapping[str, float | None]) -> None:
        """Compare the columns of the row on disk that this version measures."""
        with atomic.storage_errors(self._path):
            line, old = self._row(step)
        new = {
            key: _finite(values.get(key)) if key in MEASURED else value
            for key, value in old.items()
        }
        new["step"] = step
        if json.dumps(new).encode() + b"\n" == line:
            return
        key = next((key for key in new if new[key] != old[key]), "its bytes")
        raise DivergedError(
            f"{self._path}:{step}: a recomputed row must equal the one on disk; "
            f"{key} was {old.get(key)}, is now {new.get(key)}"
        )

    def close(self) -> None:
        """Close the file. May be called twice."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
