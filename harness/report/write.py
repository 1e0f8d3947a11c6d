"""The results folder: law.json, law.csv, and each figure as PNG and SVG with its numbers as CSV."""

from __future__ import annotations

import re
from pathlib import Path

from harness.law.results import Analysis
from harness.records import atomic
from harness.report import table_contrasts, table_csv
from harness.report.table_law import law_csv

FIGURES = ("auto", "all", "none")
OURS = re.compile(r"((entropy_(law|curves)|residuals)(_\d+)?|forest)\.(png|svg|csv)|contrasts\.csv")
"""Figures and contrasts; those of an earlier analysis are removed, so none contradicts law.json."""


def write_results(analysis: Analysis, out: Path, figures: str) -> list[Path]:
    """Write the analysis into `out`, each file whole; the same analysis gives the same bytes.

    `figures`: auto (every run up to 24, medians over runs beyond), all (every run as well) or
    none. Returns what was written. Raises StorageError, and ValueError for another `figures`.
    """
    if figures not in FIGURES:
        raise ValueError(f"figures must be one of {', '.join(FIGURES)}, got {figures!r}")
    with atomic.storage(out):
        out.mkdir(parents=True, exist_ok=True)
        earlier = _earlier(out)
    results = [out / "law.json", out / "law.csv"]
    atomic.write_json(results[0], analysis.to_json())
    atomic.write_text(results[1], law_csv(analysis))
    if any(group.contrasts for group in analysis.groups):
        results.append(out / "contrasts.csv")
        atomic.write_text(results[-1], table_contrasts.csv(analysis))
    written = results + ([] if figures == "none" else _figures(analysis, out, figures == "all"))
    with atomic.storage(out):
        for path in earlier - set(written):
            path.unlink()
    return written


def _figures(analysis: Analysis, out: Path, every_run: bool) -> list[Path]:
    from harness.report import canvas, figures

    written = []
    for drawing in figures.draw(analysis, every_run):
        for kind in ("png", "svg"):
            written.append(out / f"{drawing.name}.{kind}")
            atomic.write_bytes(written[-1], canvas.image(drawing.figure, kind))
        written.append(out / f"{drawing.name}.csv")
        atomic.write_text(written[-1], table_csv.table(drawing.columns, drawing.rows))
    return written


def _earlier(out: Path) -> set[Path]:
    """Files of an analysis written here before; without its law.json they are not ours."""
    if not (out / "law.json").is_file():
        return set()
    return {path for path in out.iterdir() if OURS.fullmatch(path.name)}
