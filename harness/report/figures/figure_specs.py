"""The specification of a figure: its name, its numbers, and how they are drawn.

A figure is one file with one FigureSpec, named in registry.py. Its numbers are selected from an
analysis without matplotlib and are small compared with it, so that another process can draw them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from harness.law.group_results import Analysis
from harness.report.figures.canvas import Drawing
from harness.report.figures.group_series import GroupPanel
from harness.report.figures.run_series import STEP, RunPanel

Numbers = TypeVar("Numbers")


@dataclass(frozen=True)
class AxisNames:
    """Labels of the axes, with units."""

    entropy: str
    reward: str
    time: str = "step"
    reward_range: float | None = None
    """The range of R; None if it is unknown."""


@dataclass(frozen=True)
class PageMeasurement:
    """What the runs of a page have in common."""

    policy: str | None
    """The kind of the runs' policies; None if it is unknown or differs."""
    reward: str | None
    """The column of R; None if it differs."""
    time: str = STEP
    """run_series.STEP or run_series.SHARE"""
    is_ours: bool = False
    """True if all are runs of this project, whose reward is an empathy reward."""
    same_batch: bool = False
    """True if R of every run is of the batch that H was measured on."""


@dataclass(frozen=True)
class UnreadRun:
    """A run that could not be read, and why."""

    run: str
    reason: str | None


@dataclass(frozen=True)
class Page:
    """Runs that figures show together.

    Either `panels` of runs, or `pools` of groups of runs, or the reasons why there is nothing to
    show (`unread`).
    """

    suffix: str
    """The end of the figure's name: `_2` for the second page, empty for an only page."""
    measured: PageMeasurement = PageMeasurement(None, None)
    panels: tuple[RunPanel, ...] = ()
    pools: tuple[GroupPanel, ...] = ()
    unread: tuple[UnreadRun, ...] = ()


@dataclass(frozen=True)
class Subject:
    """An analysis and the pages of its runs, which several figures share."""

    analysis: Analysis
    pages: tuple[Page, ...]


@dataclass(frozen=True)
class FigureSpec(Generic[Numbers]):
    """A kind of figure."""

    name: str
    """The name of its files, without the suffix of a page and the extension."""
    shows: str
    """The content of the figure, in one sentence."""
    select: Callable[[Subject], Iterable[tuple[str, Numbers]]]
    """Returns the suffix and the numbers of each page; empty if there is nothing to draw."""
    draw: Callable[[Numbers, str], Drawing]
    """Draws numbers under a file name. The rows of the drawing become its CSV."""
    paged: bool = False
    """True if the figure may have several pages."""
