"""The record of a figure: its name, the numbers it takes from an analysis, and how they are drawn.

A figure is one file with one FigureSpec, named in registry.py. Its numbers are selected without
matplotlib and are small beside the analysis, so that another process can be asked to draw them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from harness.law.group_results import Analysis
from harness.report.figures.canvas import Drawing
from harness.report.figures.group_series import PoolPanel
from harness.report.figures.run_series import STEP, Panel

Numbers = TypeVar("Numbers")


@dataclass(frozen=True)
class AxisNames:
    """Labels of the axes, with units."""

    entropy: str
    reward: str
    time: str = "step"
    reward_range: float | None = None
    """The range of R; None where nobody knows it."""


@dataclass(frozen=True)
class Measured:
    """Origin of what the axes show."""

    policy: str | None
    """The kind of the runs' policies; None where it is unknown or not the same."""
    reward: str | None
    """The column of R; None where it is not the same."""
    time: str = STEP
    """run_series.STEP or run_series.SHARE"""
    is_ours: bool = False
    """Whether all are runs of this project, whose reward is an empathy reward."""
    same_batch: bool = False
    """Whether R is everywhere of the batch that H was measured on."""


@dataclass(frozen=True)
class Unread:
    """A run that gives nothing to draw, and why."""

    run: str
    reason: str | None


@dataclass(frozen=True)
class Page:
    """Runs that figures show together: `panels` of runs, or `pools` of groups of them, or why
    there is nothing to show (`unread`).
    """

    suffix: str
    """The end of the figure's name: `_2` of a second page, empty where there is no other."""
    measured: Measured = Measured(None, None)
    panels: tuple[Panel, ...] = ()
    pools: tuple[PoolPanel, ...] = ()
    unread: tuple[Unread, ...] = ()


@dataclass(frozen=True)
class Subject:
    """An analysis, and the series of its runs, which several figures share."""

    analysis: Analysis
    pages: tuple[Page, ...]


@dataclass(frozen=True)
class FigureSpec(Generic[Numbers]):
    """A kind of figure."""

    name: str
    """The name of its files, without the end of a page and the ending."""
    shows: str
    """The content of the figure, in one sentence."""
    select: Callable[[Subject], Iterable[tuple[str, Numbers]]]
    """The numbers of each page with the end of its name; nothing where there is nothing to see."""
    draw: Callable[[Numbers, str], Drawing]
    """Draws numbers under a file name; the rows of the drawing are the CSV beside it."""
    paged: bool = False
    """Whether it may have several pages."""
