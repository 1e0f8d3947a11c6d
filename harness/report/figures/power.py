"""Power against the number of seeds of a planned study, for differences of several sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness.report.figures import canvas
from harness.report.figures.canvas import Drawing

NAME = "power"
COLUMNS = ("effect", "seeds", "power", "low", "high")
HEIGHT = 3.2


@dataclass(frozen=True)
class PowerCurve:
    """Power against seeds for one difference."""

    effect: float
    seeds: tuple[int, ...]
    power: tuple[float, ...]
    low: tuple[float, ...]
    """2.5% quantile of power over the uncertainty of the spread; `high` is the 97.5% quantile."""
    high: tuple[float, ...]


@dataclass(frozen=True)
class PowerPlot:
    """The numbers of the figure."""

    title: str
    unit: str
    curves: tuple[PowerCurve, ...]
    """From the smallest difference to the largest; the middle one is the planned one."""
    planned: int
    """Number of seeds."""
    wanted: float


def draw(plan: PowerPlot) -> Drawing:
    """Draw one panel, with a band for the middle curve only: three would hide each other."""
    curves, planned, unit = plan.curves, plan.planned, plan.unit
    grid = canvas.grid("Power before training", [plan.title], 1, HEIGHT)
    axes = grid.panels[0][0]
    entries: canvas.Legend = {}
    for slot, curve in enumerate(curves):
        colour = canvas.colour(slot)
        dashes = canvas.dashes(slot)
        axes.plot(curve.seeds, curve.power, ls=dashes, color=colour)
        entries[f"difference {curve.effect:g} {unit}"] = canvas.line(color=colour, ls=dashes)
    middle = len(curves) // 2
    middle_curve = curves[middle]
    middle_colour = canvas.colour(middle)
    axes.fill_between(
        middle_curve.seeds,
        middle_curve.low,
        middle_curve.high,
        color=middle_colour,
        alpha=0.15,
        lw=0,
    )
    entries[f"where {middle_curve.effect:g} may lie, 95%"] = canvas.patch(
        color=middle_colour, alpha=0.15
    )
    axes.axhline(plan.wanted, color=canvas.GREY, lw=1.0, ls=":")
    axes.axvline(planned, color=canvas.INK, lw=1.0, ls="--")
    entries["power asked for"] = canvas.line(color=canvas.GREY, ls=":")
    entries[f"planned: {planned} seeds a level"] = canvas.line(color=canvas.INK, ls="--", lw=1.0)
    axes.set(ylim=(0.0, 1.02), xlim=(0, max(middle_curve.seeds)))
    axes.set_xlabel("seeds a level")
    axes.set_ylabel("share of studies that decide it")
    canvas.legend(grid.figure, entries)
    return Drawing(NAME, grid.figure, COLUMNS, tuple(_rows(curves)))


def _rows(curves: Sequence[PowerCurve]) -> list[dict[str, Any]]:
    return [
        {"effect": curve.effect, "seeds": seeds, "power": power, "low": low, "high": high}
        for curve in curves
        for seeds, power, low, high in zip(
            curve.seeds, curve.power, curve.low, curve.high, strict=True
        )
    ]


def curves(points: Sequence[Any]) -> list[PowerCurve]:
    """Return a curve per effect from points with effect, seeds, power, low and high."""
    effects = dict.fromkeys(point.effect for point in points)
    return [
        PowerCurve(
            effect,
            *(
                tuple(np.array([getattr(p, name) for p in points if p.effect == effect]).tolist())
                for name in COLUMNS[1:]
            ),
        )
        for effect in effects
    ]
