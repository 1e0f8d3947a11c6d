"""The results folder of a study: result.json, and its figure as PNG and SVG with its numbers."""

from __future__ import annotations

import json
from pathlib import Path

from harness.law.compare.study_outcome import Outcome
from harness.records import atomic
from harness.report.figures import canvas, study
from harness.report.tables import csv_cells

KINDS = ("png", "svg")


def write(outcome: Outcome, out: Path) -> list[Path]:
    """Each file whole; the same outcome gives the same bytes. Raises StorageError."""
    with atomic.storage(out):
        out.mkdir(parents=True, exist_ok=True)
    with canvas.styled():
        drawing = study.draw(outcome)
    files = {f"links.{kind}": canvas.image(drawing.figure, kind) for kind in KINDS}
    files["links.csv"] = csv_cells.table(drawing.columns, drawing.rows).encode("utf-8")
    files["result.json"] = as_json(outcome).encode("utf-8")
    for name, content in files.items():
        atomic.write_bytes(out / name, content)
    return [out / name for name in files]


def as_json(outcome: Outcome) -> str:
    """What --json prints. Raises ValueError on NaN: missing is null."""
    return json.dumps(outcome.to_json(), indent=1, allow_nan=False) + "\n"
