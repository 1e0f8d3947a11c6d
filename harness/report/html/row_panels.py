"""A panel with a row per group of runs: its seeds as points, their mean with its interval."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from harness.law.results import BoundedEstimate, Interval
from harness.report.figures import seed_rows
from harness.report.figures.ranges import Limits, MinimumRange
from harness.report.html import plot
from harness.report.html.axes import Axis, axis
from harness.report.html.legends import DIAMOND, DOT, SAMPLE
from harness.report.html.plot import ChartPanel, HoverPoints, LegendEntry, Plot, css, marker
from harness.report.text import wording
from harness.utils.terminal import shorten_middle

LABELS, ROW, MOST_ROWS, LINE = 132, 30, 40, 22
"""Width for names of groups; height of a group; groups shown; characters of a line."""
BEYOND = LegendEntry("dot ink open", DOT + plot.OPEN_ARROW[">"], seed_rows.BEYOND)


def legend(
    columns: Sequence[Sequence[ChartPanel]], estimate: str, triangle: str, hollow: str = ""
) -> tuple[LegendEntry, ...]:
    """Return the entries for these panels.

    `estimate` is the meaning of a diamond, `triangle` and `hollow` that of a seed drawn so.
    """
    marks = [mark for column in columns for panel in column for mark in panel.marks]
    open_seeds = [mark.path for mark in marks if mark.css.endswith(" hollow")]
    triangles = [path for path in open_seeds if plot.ARROW[">"] in path]
    entries = [
        LegendEntry("dot ink", DOT + plot.MARKERS[0], "one seed"),
        LegendEntry("dot ink", DOT + DIAMOND, estimate),
        LegendEntry("line thick ink", SAMPLE, "95% interval"),
    ]
    if any(mark.css == "dot ink open" for mark in marks):
        entries.append(BEYOND)
    if len(open_seeds) > len(triangles):
        entries.append(LegendEntry("dot ink hollow", DOT + plot.MARKERS[0], hollow))
    if triangles:
        entries.append(LegendEntry("dot ink hollow", DOT + plot.ARROW[">"], triangle))
    return tuple(entries)


@dataclass(frozen=True)
class RowMean:
    """An estimate over seeds; an unknown end of its interval is None."""

    value: float
    low: float | None
    high: float | None
    what: str = "mean"
    """Its name in the hover text: mean, median or share."""

    @property
    def description(self) -> str:
        if self.low is None or self.high is None:
            return f"{self.what} {wording.number(self.value)}"
        return f"{self.what} {wording.estimate(self.value, self.low, self.high)}"


@dataclass(frozen=True)
class SeedRow:
    """A group in one panel."""

    name: str
    slot: int
    seeds: Sequence[tuple[str, float, bool]]
    """Hover text and value of each seed, and whether it is open."""
    mean: RowMean | None
    why: str = ""
    """Why there is no mean."""
    open_shape: str = plot.ARROW[">"]
    """Symbol of open seeds, by default of one without an onset until its last step."""


def panel(title: str, x: str, rows: Sequence[SeedRow], limits: Limits | MinimumRange) -> ChartPanel:
    """Return a panel with a row per group: its seeds above, their mean below.

    `limits` are those of the axis, or its least range.
    """
    count = len(rows)
    ends = _limits(rows, limits) if isinstance(limits, MinimumRange) else limits
    ticks = [(float(-index), _two_lines(row.name)) for index, row in enumerate(rows)]
    x_axis = axis(x, ends)
    panel_plot = Plot(
        title, x_axis, Axis("", -count + 0.4, 0.6, tuple(ticks)),
        plot.TOP + plot.BOTTOM + ROW * max(count, 2), LABELS,
    )  # fmt: skip
    for index, row in enumerate(rows):
        values = [value for _, value, _ in row.seeds]
        offsets = seed_rows.swarm(values, seed_rows.TOUCHING * (x_axis.high - x_axis.low))
        heights = [-index + seed_rows.SPREAD - float(offset) for offset in offsets]
        for kind, shape, is_open_symbol in (
            ("", marker(row.slot), False),
            (" hollow", row.open_shape, True),
        ):
            indices = [
                n for n, (_, _, is_open) in enumerate(row.seeds) if is_open is is_open_symbol
            ]
            xs, ys = [values[n] for n in indices], [heights[n] for n in indices]
            panel_plot.dots(f"{css(row.slot)}{kind}", xs, ys, shape)
        panel_plot.hover(
            HoverPoints(
                row.name, values, heights, row.slot, words=[label for label, _, _ in row.seeds]
            )
        )
        _mean(panel_plot, row, -index - 0.2)
    return panel_plot.panel()


def _two_lines(name: str) -> str:
    """Return a name in at most two lines, shortened in its middle if it is longer."""
    lines = textwrap.wrap(name, LINE, break_on_hyphens=False)
    if len(lines) <= 2:
        return "\n".join(lines)
    return "\n".join(textwrap.wrap(shorten_middle(name, 2 * LINE - 4), LINE)[:2])


def _mean(panel_plot: Plot, row: SeedRow, y: float) -> None:
    if row.mean is None or len(row.seeds) < seed_rows.FEWEST:
        if not row.seeds:
            panel_plot.words(
                "note", (panel_plot.x.low + panel_plot.x.high) / 2, y + 0.1, row.why or "no data"
            )
        return
    mean, low, high = row.mean, panel_plot.x.low, panel_plot.x.high
    ends = [mean.low, mean.high]
    if ends[0] is not None or ends[1] is not None:
        left, right = (
            edge if end is None else end for end, edge in zip(ends, (low, high), strict=True)
        )
        panel_plot.line("thick ink", [max(left, low), min(right, high)], [y, y])
        for end, edge, head, is_beyond in (
            (left, low, "<", left < low),
            (right, high, ">", right > high),
        ):
            if is_beyond or end == edge:
                panel_plot.dots("ink open", [edge], [y], plot.OPEN_ARROW[head])
    middle = min(max(mean.value, low), high)
    if middle == mean.value:
        panel_plot.dots("ink", [middle], [y], DIAMOND)
    panel_plot.hover(HoverPoints(row.name, [middle], [y], row.slot, words=[mean.description]))


def _limits(rows: Sequence[SeedRow], least: MinimumRange) -> Limits:
    seeds = [value for row in rows for _, value, _ in row.seeds]
    means = [row.mean for row in rows if row.mean is not None]
    return seed_rows.limits(seeds, [end for m in means for end in (m.value, m.low, m.high)], least)


def mean_of(number: Interval | BoundedEstimate | None, what: str = "mean") -> RowMean | None:
    return None if number is None else RowMean(number.value, number.low, number.high, what)
