"""Legends of charts, and functions that charts of runs share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from harness.law.results import Floats
from harness.report.figures.figure_specs import Page
from harness.report.figures.group_series import GroupTrace
from harness.report.figures.run_series import Trace
from harness.report.figures.series_pages import BAND
from harness.report.html import plot
from harness.report.html.plot import LegendEntry, css, marker

SAMPLE = "M2 7h16"
"""Path of a line in the legend."""
SWATCH = "M2 2h16v10h-16z"
DOT = "M10 7"
DIAMOND = plot.MARKERS[3]
NO_SERIES = -1
"""Slot of marks that belong to no series of the legend."""


def traces_of(page: Page) -> list[Trace]:
    return [trace for panel in page.panels for trace in panel.traces]


def floats(
    x: Sequence[float] | Floats, y: Sequence[float] | Floats
) -> tuple[list[float], list[float]]:
    """Return both as lists of floats."""
    return [float(v) for v in x], [float(v) for v in y]


def pool_name(pool: GroupTrace) -> str:
    return f"{pool.legend}, median of {len(pool.runs)}"


def seed_entries(traces: Sequence[Trace]) -> Iterator[LegendEntry]:
    """Yield an entry for each legend name, which is a seed or a run."""
    for name, slot in sorted({t.legend: t.slot for t in traces}.items(), key=lambda item: item[1]):
        yield LegendEntry(f"dot {css(slot)}", DOT + marker(slot), name, slot)


def group_entries(page: Page) -> tuple[LegendEntry, ...]:
    slots = {pool.legend: pool.slot for panel in page.pools for pool in panel.pools}
    entries = [
        LegendEntry(f"dot {css(slot)}", DOT + marker(slot), legend, slot)
        for legend, slot in sorted(slots.items(), key=lambda item: item[1])
    ]
    return (*entries, LegendEntry("band ink", SWATCH, BAND))


def entries_of_names(names: Sequence[str]) -> list[LegendEntry]:
    return [
        LegendEntry(f"dot {css(slot)}", DOT + marker(slot), name, slot)
        for slot, name in enumerate(names)
    ]
