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
        accepted, fared, moved = (axes for (axes,) in panels.panels)
        _accepted(accepted, list(cards), [r for r in rows if r["panel"] == "acceptance"])
        _fared(fared, list(cards), [r for r in rows if r["panel"] == "final_emotion"])
        _moved(moved, list(cards), [r for r in rows if r["panel"] == "p_rise"])
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
            what = f"P(rise) in the {decade['emotion']}s"
            rows.append(_row("p_rise", level, what, decade["p_rise"], by_figure.get((level, what))))
    return rows


def _row(
    panel: str, level: str, what: str, measured: Mapping[str, float] | None, published: float | None
) -> Row:
    numbers = dict(measured) if measured else dict.fromkeys(("value", "low", "high"))
    return {"panel": panel, "level": level, "what": what, **numbers, "published": published}


def _accepted(axes: Axes, levels: Sequence[str], rows: Sequence[Row]) -> None:
    for slot, level in enumerate(levels):
        for place, row in enumerate(r for r in rows if r["level"] == level):
            at = place + (slot - (len(levels) - 1) / 2) * APART
            _point(axes, row, at, slot, vertical=True)
            if row["published"] is not None:
                axes.plot(at, row["published"], "D", mfc="none", mec=canvas.INK, ms=7)
    axes.set_xticks([0, 1], ["acceptance of\nfixed replies", "need\nexpression"])
    axes.set_xlim(-0.6, 1.6)
    axes.set_ylim(0, 1)
    axes.set_ylabel("share")


def _fared(axes: Axes, levels: Sequence[str], rows: Sequence[Row]) -> None:
    policies = list(dict.fromkeys(row["what"] for row in rows))
    for row in rows:
        slot = levels.index(row["level"])
        at = -policies.index(row["what"]) - (slot - (len(levels) - 1) / 2) * APART
        _point(axes, row, at, slot, vertical=False)
    axes.set_yticks([-n for n in range(len(policies))], [p.replace("_", " ") for p in policies])
    axes.set_xlim(0, 100)
    axes.set_xlabel("mean final emotion (0-100)")


def _moved(axes: Axes, levels: Sequence[str], rows: Sequence[Row]) -> None:
    for slot, level in enumerate(levels):
        mine = [row for row in rows if row["level"] == level]
        at = 10.0 * np.arange(1, len(mine) + 1) + 5
        values, low, high = (
            np.array([np.nan if row[key] is None else row[key] for row in mine], float)
            for key in ("value", "low", "high")
        )
        axes.fill_between(at, low, high, color=colour(slot), alpha=0.15, lw=0)
        axes.plot(at, values, marker=marker(slot), color=colour(slot), clip_on=False, zorder=3)
        published = [np.nan if row["published"] is None else row["published"] for row in mine]
        axes.plot(at, published, "--", color=canvas.INK, lw=1)
    axes.set_ylim(0, 1)
    axes.set_xlabel("emotion when the reply comes")
    axes.set_ylabel("P(emotion rises)")


def _point(axes: Axes, row: Row, at: float, slot: int, vertical: bool) -> None:
    if row["value"] is None:
        return
    ends, here = [row["low"], row["high"]], [at, at]
    line, point = ((here, ends), ([at], [row["value"]]))
    if not vertical:
        line, point = (ends, here), ([row["value"]], [at])
    axes.plot(*line, color=colour(slot), lw=1.2)
    # a share of 0 or 1 is on the edge of the panel, which must not clip it
    axes.plot(*point, marker(slot), color=colour(slot), clip_on=False, zorder=3)


def _legend(levels: Sequence[str], is_published: bool) -> canvas.Legend:
    measured: canvas.Legend = {
        label(level): canvas.line(marker=marker(slot), color=colour(slot))
        for slot, level in enumerate(levels)
    }
    published = canvas.line(marker="D", mfc="none", mec=canvas.INK, color=canvas.INK, ls="--", lw=1)
    return measured | ({"published": published} if is_published else {})
