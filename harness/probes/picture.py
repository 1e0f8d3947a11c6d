"""The panels by which a probe is shown: best of k against k, everything else against the step.

A trajectory has H and R of its run above them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from harness.probes import course, width
from harness.probes.results import START, Probed, Reading
from harness.report.figures.labels import LONGEST_GROUP, label, labels
from harness.report.figures.probe import Line, Panel, Point

TRIES = "conversations with one user (k)"


def heading(probed: Probed) -> str:
    """The question, and of which run."""
    return f"{probed.asks} ({label(Path(probed.run).name)})"


def panels(probed: Probed) -> list[Panel]:
    """One a quantity or level; what was measured nowhere has none."""
    if probed.probe == width.PROBE.name:
        return [panel for panel in _over_tries(probed) if panel.lines]
    made = [panel for panel in _over_steps(probed) if panel.lines]
    above = course.panel(probed) if made else None
    return made if above is None else [above, *made]


def _over_steps(probed: Probed) -> Iterable[Panel]:
    every = [*_of_start(probed), *probed.readings]
    named = labels(probed.levels, LONGEST_GROUP)
    for first in {reading.label: reading for reading in every}.values():
        here = [reading for reading in every if reading.label == first.label]
        lines = [
            Line(named[level], slot, _points(here, level))
            for slot, level in enumerate(probed.levels)
        ]
        shown = tuple(line for line in lines if line.points)
        yield Panel(first.label, "step", first.unit, shown, first.people)


def _of_start(probed: Probed) -> Sequence[Reading]:
    """The reference's readings, where it has a place on the axis of steps."""
    return [reading for reading in probed.reference if reading.step == START]


def _points(readings: Iterable[Reading], level: str) -> tuple[Point, ...]:
    return tuple(
        Point(reading.step, one.value, one.low, one.high)
        for reading in readings
        if reading.level == level and (one := reading.estimate).value is not None
    )


def _over_tries(probed: Probed) -> Iterable[Panel]:
    last = [reading for reading in probed.readings if reading.step == probed.steps[-1]]
    what = "the start" if probed.against == "start" else label(probed.against)
    for level in probed.levels:
        lines = []
        for slot, setting in enumerate(dict.fromkeys(reading.setting for reading in last)):
            shown = setting or "as trained"
            after = _curve(last, level, setting)
            before = _curve(probed.reference, level, setting)
            lines.append(Line(f"step {probed.steps[-1]}, {shown}", slot, after))
            lines.append(Line(f"{what}, {shown}", slot, before, is_reference=True))
        known = tuple(line for line in lines if line.points)
        yield Panel(level, TRIES, "best reward of k", known, doubles=True)


def _curve(readings: Iterable[Reading], level: str, setting: str) -> tuple[Point, ...]:
    return tuple(
        Point(int(reading.quantity.split()[-1]), one.value, one.low, one.high)
        for reading in readings
        if (reading.level, reading.setting) == (level, setting)
        and reading.quantity.startswith(width.BEST)
        and (one := reading.estimate).value is not None
    )
