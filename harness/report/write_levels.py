"""The results folder of a calibration: calibration.json and its picture, with the numbers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.records import atomic
from harness.report.figures import canvas, levels
from harness.report.tables import csv_cells


def write(calibration: Mapping[str, Any], out: Path) -> list[Path]:
    """Each file whole; the same calibration gives the same bytes. Raises StorageError."""
    drawing = levels.draw(calibration)
    with atomic.storage(out):
        out.mkdir(parents=True, exist_ok=True)
    written = [out / f"calibration.{kind}" for kind in ("json", "csv", "png", "svg")]
    atomic.write_json(written[0], calibration)
    atomic.write_text(written[1], csv_cells.table(drawing.columns, drawing.rows))
    for path in written[2:]:
        atomic.write_bytes(path, canvas.image(drawing.figure, path.suffix[1:]))
    return written
