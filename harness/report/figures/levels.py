"""The measured difficulty of levels: acceptance, final emotion of policies, dynamics of emotion."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.report.figures import canvas
from harness.report.figures.canvas import Drawing, colour, label, marker

if TYPE_CHECKING:  # canvas loads matplotlib, once there is something to draw
    from matplotlib.axes import Axes

NAME = "calibration"
COLUMNS = ("panel", "level", "what", "value", "low", "high", "published")
TITLES = ("acceptance, need expression", "reference policies", "changes of emotion")
APART = 0.18
"""Distance between levels in a row of policies."""
Row = dict[str, Any]


def draw(calibration: Mapping[str, Any]) -> Drawing:
    """Draw a calibration, the value of calibration.json."""
    cards = calibration["levels"]
    rows = _rows(cards, calibration["published"])
    heading = "Measured difficulty of the levels, with 95% intervals"
    with canvas.use_style():
        panels = canvas.grid(heading, TITLES, 1, 3.4)
        acceptance, final_emotion, changes = (axes for (axes,) in panels.panels)
        _draw_acceptance(acceptance, list(cards), [r for r in rows if r["panel"] == "acceptance"])
        _draw_final_emotion(
            final_emotion, list(cards), [r for r in rows if r["panel"] == "final_emotion"]
        )
        _draw_changes(changes, list(cards), [r for r in rows if r["panel"] == "p_rise"])
        is_published = any(row["published"] is not None for row in rows)
        canvas.legend(panels.figure, _legend(list(cards), is_published))
    return Drawing(NAME, panels.figure, COLUMNS, tuple(rows))


def _rows(cards: Mapping[str, Any], published: Sequence[Mapping[str, Any]]) -> list[Row]:
    by_figure = {(match["level"], match["figure"]): match["published"] for match in published}
    rows = []
    for level, card in cards.items():
        for name in ("acceptance", "need_expression"):
            rows.append(_row("acceptance", level, name, card[name], by_figure.get((level, name))))
        for name, score in card["policies"].items():
            rows.append(_row("final_emotion", level, name, score["final_emotion"], None))
        for decade in card["by_decade"]:
            title = f"P(rise) in the {decade['emotion']}s"
            rows.append(
                _row(
                    "p_rise",
                    level,
                    title,
                    decade["p_rise"],
                    by_figure.get((level, title)),
                )
            )
    return rows


def _row(
    panel: str, level: str, name: str, estimate: Mapping[str, float] | None, published: float | None
) -> Row:
    numbers = dict(estimate) if estimate else dict.fromkeys(("value", "low", "high"))
    return {"panel": panel, "level": level, "what": name, **numbers, "published": published}


def _draw_acceptance(axes: Axes, levels: Sequence[str], rows: Sequence[Row]) -> None:
    for slot, level in enumerate(levels):
        for index, row in enumerate(r for r in rows if r["level"] == level):
            x = index + (slot - (len(levels) - 1) / 2) * APART
            _draw_point(axes, row, x, slot, vertical=True)
            if row["published"] is not None:
                axes.plot(x, row["published"], "D", mfc="none", mec=canvas.INK, ms=7)
    axes.set_xticks([0, 1], ["acceptance of\nfixed replies", "need\nexpression"])
    axes.set_xlim(-0.6, 1.6)
    axes.set_ylim(0, 1)
    axes.set_ylabel("share")


def _draw_final_emotion(axes: Axes, levels: Sequence[str], rows: Sequence[Row]) -> None:
    policies = list(dict.fromkeys(row["what"] for row in rows))
    for row in rows:
        slot = levels.index(row["level"])
        y = -policies.index(row["what"]) - (slot - (len(levels) - 1) / 2) * APART
        _draw_point(axes, row, y, slot, vertical=False)
    axes.set_yticks([-n for n in range(len(policies))], [p.replace("_", " ") for p in policies])
    axes.set_xlim(0, 100)
    axes.set_xlabel("mean final emotion (0-100)")


def _draw_changes(axes: Axes, levels: Sequence[str], rows: Sequence[Row]) -> None:
    for slot, level in enumerate(levels):
        level_rows = [row for row in rows if row["level"] == level]
        x = 10.0 * np.arange(1, len(level_rows) + 1) + 5
        values, low, high = (
            np.array([np.nan if row[key] is None else row[key] for row in level_rows], float)
            for key in ("value", "low", "high")
        )
        axes.fill_between(x, low, high, color=colour(slot), alpha=0.15, lw=0)
        axes.plot(x, values, marker=marker(slot), color=colour(slot), clip_on=False, zorder=3)
        published = [np.nan if row["published"] is None else row["published"] for row in level_rows]
        axes.plot(x, published, "--", color=canvas.INK, lw=1)
    axes.set_ylim(0, 1)
    axes.set_xlabel("emotion when the reply comes")
    axes.set_ylabel("P(emotion rises)")


def _draw_point(axes: Axes, row: Row, position: float, slot: int, vertical: bool) -> None:
    if row["value"] is None:
        return
    ends, positions = [row["low"], row["high"]], [position, position]
    line, point = ((positions, ends), ([position], [row["value"]]))
    if not vertical:
        line, point = (ends, positions), ([row["value"]], [position])
    axes.plot(*line, color=colour(slot), lw=1.2)
    # a share of 0 or 1 is on the edge of the panel, which must not clip it
    axes.plot(*point, marker(slot), color=colour(slot), clip_on=False, zorder=3)


def _legend(levels: Sequence[str], is_published: bool) -> canvas.Legend:
    entries: canvas.Legend = {
        label(level): canvas.line(marker=marker(slot), color=colour(slot))
        for slot, level in enumerate(levels)
    }
    published = canvas.line(marker="D", mfc="none", mec=canvas.INK, color=canvas.INK, ls="--", lw=1)
    return entries | ({"published": published} if is_published else {})
