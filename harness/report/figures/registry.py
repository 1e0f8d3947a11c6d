"""The figures of an analysis: to add one, write its file and name its FIGURE here."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from harness.law.group_results import Analysis
from harness.report.figures import (
    canvas,
    curves,
    forest,
    law,
    onset_by_difficulty,
    residuals,
    series_pages,
)
from harness.report.figures.canvas import Drawing
from harness.report.figures.figure_specs import FigureSpec, Subject

FIGURES: tuple[FigureSpec[Any], ...] = (
    law.FIGURE,
    curves.FIGURE,
    residuals.FIGURE,
    forest.FIGURE,
    onset_by_difficulty.FIGURE,
)
"""In the order in which they are drawn."""


@dataclass(frozen=True)
class Sketch:
    """One picture to be drawn, in this process or another."""

    figure: str
    """The name of its kind in FIGURES."""
    suffix: str
    numbers: Any
    """The numbers that the figure selected."""

    @property
    def name(self) -> str:
        """File name without its ending."""
        return f"{self.figure}{self.suffix}"


def sketches(analysis: Analysis, every_run: bool) -> list[Sketch]:
    """Select what is to be drawn; `every_run` adds every run to the medians of a large analysis."""
    subject = Subject(analysis, series_pages.pages(analysis, every_run))
    return [
        Sketch(figure.name, suffix, numbers)
        for figure in FIGURES
        for suffix, numbers in figure.select(subject)
    ]


def drawn(sketch: Sketch) -> Drawing:
    """The picture, in our own style."""
    (figure,) = (one for one in FIGURES if one.name == sketch.figure)
    with canvas.styled():
        return figure.draw(sketch.numbers, sketch.name)


def draw(analysis: Analysis, every_run: bool) -> list[Drawing]:
    """All figures of an analysis."""
    return [drawn(sketch) for sketch in sketches(analysis, every_run)]


def is_file_of_a_figure(name: str) -> bool:
    """Whether a file of this name may be one that a figure was written to."""
    stem, _, kind = name.rpartition(".")
    if kind not in canvas.KINDS and kind != "csv":
        return False
    return any(
        re.fullmatch(rf"{re.escape(figure.name)}{r'(_[0-9]+)?' if figure.paged else ''}", stem)
        for figure in FIGURES
    )
