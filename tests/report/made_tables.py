"""The answer as it is printed, and an analysis with one contrast."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from harness.law.group_results import Analysis, Contrast, GroupNumbers, SeedMean, SeedNumbers
from harness.report.figures import canvas
from harness.report.figures import forest as figure_forest
from harness.report.figures.canvas import Drawing
from harness.report.tables.summary import print_analysis
from tests.report import made


def printed(analysis: Analysis, explain: bool = False, width: int = 80) -> str:
    stream = io.StringIO()
    print_analysis(analysis, Console(file=stream, width=width, safe_box=True), explain)
    lines = [line.rstrip() for line in stream.getvalue().replace("\u2500", "-").splitlines()]
    return "\n".join(lines) + "\n"


CONTRAST = Contrast(
    -0.4, -0.5, -0.3,
    baseline={"difficulty": "easy"}, quantity="ceiling", primary=True, p_holm=0.0031,
    decision="differs", why=None, on="eval/medium/reward", margin=0.05, p_equivalent=1.0,
    minimum_detectable=0.21,
    seeds=(3, 3), seeds_needed=9, on_probe=None, unlike_failures=None, remedy_inactive=0,
    net_of_null=None,
)  # fmt: skip


def contrast(**more: Any) -> Contrast:
    """hard minus easy, decided unless told otherwise."""
    return dataclasses.replace(CONTRAST, **more)


def compared(order: int, runs: Sequence[str], onsets: Sequence[float | None]) -> GroupNumbers:
    seeds = [
        SeedNumbers(
            run, seed, a=made.around(0.3, 0.02), gain=None,
            fall=made.around(0.5 + 0.1 * order, 0.05),
            ceiling=made.around(0.8 - 0.1 * order + 0.01 * seed, 0.02), onset=onset,
            reached=1.0,
        )
        for seed, (run, onset) in enumerate(zip(runs, onsets, strict=True), 1)
    ]  # fmt: skip
    mean = SeedMean(0.8 - 0.1 * order, 0.6, 1.0, len(runs), 0)
    return GroupNumbers(
        order,
        "eval/medium/reward",
        shared_range=True,
        seeds=seeds,
        a=SeedMean(0.3, 0.28, 0.32, len(runs), 0),
        ceiling=mean,
        gain=mean,
        fall=mean,
        onset=SeedMean(None, None, None, 0, onsets.count(None)),
    )


def study(level: str = "hard", **more: Any) -> Analysis:
    """easy, and `level` with one contrast against it."""
    analysis = made.ladder(levels=2)
    names = [run.run for run in analysis.runs]
    easy, other = (
        dataclasses.replace(
            made.group({"difficulty": name}, runs, SeedMean(0.8, 0.7, 0.9, 3, 0)),
            compared=compared(order, runs, [None, 0.4, 0.5 if order else None]),
        )
        for order, (name, runs) in enumerate((("easy", names[:3]), (level, names[3:])))
    )
    other = dataclasses.replace(other, contrasts=[contrast(**more)])
    return dataclasses.replace(analysis, groups=(easy, other))


def forest(analysis: Analysis) -> Drawing:
    with canvas.use_style():
        return figure_forest.draw(figure_forest.drawable(analysis), "forest")
