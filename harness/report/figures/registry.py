"""The figures of an analysis: ours, each a file whose FIGURE is named here, then those of plug-ins.

Any exception of a plug-in's figure becomes a PlugInError that names it, so that the others are
drawn.
"""

from __future__ import annotations

import itertools
import pickle
import re
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import PlugInError
from harness.law.group_results import Analysis
from harness.report.figures import (
    canvas,
    curves,
    forest,
    law,
    onset_by_difficulty,
    population,
    residuals,
    reward_by_listening,
    series_pages,
)
from harness.report.figures.canvas import Drawing
from harness.report.figures.figure_specs import FigureSpec, Subject
from harness.report.figures.style import SCREEN, Style
from harness.report.tables import result_files
from harness.utils import extensions

FIGURES: tuple[FigureSpec[Any], ...] = (
    law.FIGURE,
    curves.FIGURE,
    residuals.FIGURE,
    population.FIGURE,
    forest.FIGURE,
    onset_by_difficulty.FIGURE,
    reward_by_listening.FIGURE,
)
"""In the order in which they are drawn."""
CAPTION = "caption.txt"
"""File extension of the caption of a figure without a heading."""
NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]*[a-z][a-z0-9]*)*")
"""A name may not end in `_2`, which denotes a page of another figure."""
PAGE = re.compile(r"(_[0-9]+)?")


@dataclass(frozen=True)
class PictureTask:
    """A picture to be drawn, in this process or another."""

    figure: str
    """The name of its FigureSpec."""
    suffix: str
    numbers: Any
    """The numbers that the figure selected, or a PlugInError if it failed to."""

    @property
    def name(self) -> str:
        """File name without its extension."""
        return f"{self.figure}{self.suffix}"


def select_pictures(analysis: Analysis, every_run: bool) -> list[PictureTask]:
    """Select what to draw. `every_run` adds every run to the medians of a large analysis."""
    subject = Subject(analysis, series_pages.pages(analysis, every_run))
    tasks = [
        PictureTask(figure.name, suffix, numbers)
        for figure in FIGURES
        for suffix, numbers in figure.select(subject)
    ]
    plug_in_tasks = (_plug_in_tasks(name, subject) for name in extensions.names("figure"))
    return [*tasks, *itertools.chain.from_iterable(plug_in_tasks)]


def draw_picture(task: PictureTask, style: Style = SCREEN) -> Drawing:
    """Draw the picture in one of our styles. Raises PlugInError if a plug-in's figure fails."""
    if isinstance(task.numbers, PlugInError):
        raise task.numbers
    figure = next((spec for spec in FIGURES if spec.name == task.figure), None)
    if figure is not None:
        return _draw(figure, task, style)
    try:
        return _draw(_spec(task.figure), task, style)
    except Exception as error:
        raise failure(task.figure, error) from error


def is_of_plug_in(task: PictureTask) -> bool:
    """Return whether the figure is a plug-in's, even if it failed to select its numbers."""
    return isinstance(task.numbers, PlugInError) or all(
        figure.name != task.figure for figure in FIGURES
    )


def failure(name: str, error: Exception) -> PlugInError:
    """Return the exception of a plug-in's figure with its name, its package and the place."""
    if isinstance(error, PlugInError):
        return error
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.line]
    location = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    package = extensions.package_of("figure", name)
    return PlugInError(
        f"figure {name} of {package}: must be drawn, got {type(error).__name__}: {error}{location}"
    )


def _draw(figure: FigureSpec[Any], task: PictureTask, style: Style) -> Drawing:
    with canvas.use_style(style):
        return figure.draw(task.numbers, task.name)


def _plug_in_tasks(name: str, subject: Subject) -> list[PictureTask]:
    """Return the pictures of a plug-in's figure, or one that holds its error."""
    try:
        tasks = [
            PictureTask(name, suffix, numbers) for suffix, numbers in _spec(name).select(subject)
        ]
        for task in tasks:
            if not PAGE.fullmatch(task.suffix):
                raise ValueError(f"the end of a page's name must be _N or empty: {task.suffix!r}")
        pickle.dumps(tasks)  # another process may draw them
    except Exception as error:
        return [PictureTask(name, "", failure(name, error))]
    return tasks


def _spec(name: str) -> FigureSpec[Any]:
    """Return a plug-in's figure. Raises PlugInError if its files could be mistaken for others."""
    spec = extensions.load("figure", name)
    reserved = [*result_files.TABLES, *(figure.name for figure in FIGURES)]
    if not isinstance(spec, FigureSpec) or spec.name != name:
        rule, given = f"must be a FigureSpec with the name {name!r}", repr(spec)
    elif not NAME.fullmatch(name) or name in reserved:
        rule = "must be small letters, digits and '_', without '_2' at its end, and not one of"
        rule, given = f"its name {rule} {', '.join(reserved)}", repr(name)
    else:
        return spec
    package = extensions.package_of("figure", name)
    raise PlugInError(f"figure {name} of {package}: {rule}, got {given}")


def draw(analysis: Analysis, every_run: bool) -> list[Drawing]:
    """Draw all figures of an analysis."""
    return [draw_picture(task) for task in select_pictures(analysis, every_run)]


def is_file_of_a_figure(name: str) -> bool:
    """Return whether a file of this name may be a figure's."""
    stem, _, kind = name.partition(".")
    if kind not in (*canvas.KINDS, "csv", CAPTION):
        return False
    paged = {figure.name: figure.paged for figure in FIGURES}
    added = dict.fromkeys(extensions.names("figure"), True)
    return any(
        re.fullmatch(f"{re.escape(name)}{PAGE.pattern if is_paged else ''}", stem)
        for name, is_paged in {**added, **paged}.items()
    )
