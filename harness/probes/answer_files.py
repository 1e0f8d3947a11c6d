"""The files of a probe's answer: probe.json, readings.csv and the figure.

The figure shows best of k against k, and all other quantities against the step. With several steps,
a panel above them shows the run's policy entropy H and reward R.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from harness.errors import ConfigError
from harness.law.io import clean
from harness.law.io import reading as logs
from harness.law.io.table import ReadError
from harness.probes import results, width
from harness.probes.results import START, ProbeReading, ProbeResult
from harness.records import probe_answer
from harness.records.run_folder import RunFolder
from harness.report import write as report
from harness.report.figures import probe as figure
from harness.report.figures.labels import LONGEST_GROUP, label, labels
from harness.report.figures.probe import ProbePanel, ProbePoint, ProbeSeries
from harness.report.tables import csv_files

READINGS = "readings.csv"
TRIES = "conversations with one user (k)"
RUN_TITLE = "policy entropy H and reward R of each batch"
RUN_HEIGHTS = "H (nats), R"


def refuse_others(out: Path, pictures: Sequence[str]) -> None:
    """Raise ConfigError if writing to `out` would overwrite a file that is not a probe's answer."""
    if probe_answer.is_answer(out / probe_answer.FILE):
        return
    names = [probe_answer.FILE, READINGS]
    names += [f"{figure.NAME}.{kind}" for kind in (*pictures, "csv") if pictures]
    taken = next((name for name in names if os.path.lexists(out / name)), None)
    if taken is not None:
        rule = "must be without such files, or hold a probe's earlier answer, which is overwritten"
        raise ConfigError(f"--out: {rule}, got {str(out)!r}, whose {taken} is another file")


def write(probed: ProbeResult, out: Path, pictures: Sequence[str]) -> None:
    """Write the answer, replacing an earlier one. Raises StorageError.

    Without `pictures` no figure is drawn, and an earlier one, now outdated, is removed.
    """
    shown = panels(probed) if pictures else []
    drawn = partial(figure.draw, heading(probed), shown) if shown else None
    value = json.dumps(probed.to_json(), indent=1, allow_nan=False)
    table = csv_files.table(results.COLUMNS, results.rows(probed))
    texts = {probe_answer.FILE: value + "\n", READINGS: table}
    report.write_drawing(drawn, figure.NAME, out, pictures, texts)


def heading(probed: ProbeResult) -> str:
    """Return the probe's question and the name of the run."""
    return f"{probed.asks} ({label(Path(probed.run).name)})"


def panels(probed: ProbeResult) -> list[ProbePanel]:
    """Return one panel per quantity or level, skipping those without a measured value."""
    if probed.probe == width.PROBE.name:
        return [panel for panel in _over_tries(probed) if panel.lines]
    made = [panel for panel in _over_steps(probed) if panel.lines]
    above = _run_panel(probed) if made else None
    return made if above is None else [above, *made]


def _over_steps(probed: ProbeResult) -> Iterable[ProbePanel]:
    every = [*_of_start(probed), *probed.readings]
    named = labels(probed.levels, LONGEST_GROUP)
    for first in {reading.label: reading for reading in every}.values():
        here = [reading for reading in every if reading.label == first.label]
        lines = [
            ProbeSeries(named[level], slot, _points(here, level))
            for slot, level in enumerate(probed.levels)
        ]
        shown = tuple(line for line in lines if line.points)
        yield ProbePanel(first.label, "step", first.unit, shown, first.people)


def _of_start(probed: ProbeResult) -> Sequence[ProbeReading]:
    """Return the reference's readings if the reference is the start, which has a step."""
    return [reading for reading in probed.reference if reading.step == START]


def _points(readings: Iterable[ProbeReading], level: str) -> tuple[ProbePoint, ...]:
    return tuple(
        ProbePoint(reading.step, one.value, one.low, one.high)
        for reading in readings
        if reading.level == level and (one := reading.estimate).value is not None
    )


def _over_tries(probed: ProbeResult) -> Iterable[ProbePanel]:
    last = [reading for reading in probed.readings if reading.step == probed.steps[-1]]
    what = "the start" if probed.against == "start" else label(probed.against)
    for level in probed.levels:
        lines = []
        for slot, setting in enumerate(dict.fromkeys(reading.setting for reading in last)):
            shown = setting or "as trained"
            after = _curve(last, level, setting)
            before = _curve(probed.reference, level, setting)
            lines.append(ProbeSeries(f"step {probed.steps[-1]}, {shown}", slot, after))
            lines.append(ProbeSeries(f"{what}, {shown}", slot, before, is_reference=True))
        known = tuple(line for line in lines if line.points)
        yield ProbePanel(level, TRIES, "best reward of k", known, doubles=True)


def _curve(readings: Iterable[ProbeReading], level: str, setting: str) -> tuple[ProbePoint, ...]:
    return tuple(
        ProbePoint(int(reading.quantity.split()[-1]), one.value, one.low, one.high)
        for reading in readings
        if (reading.level, reading.setting) == (level, setting)
        and reading.quantity.startswith(width.BEST)
        and (one := reading.estimate).value is not None
    )


def _run_panel(probed: ProbeResult) -> ProbePanel | None:
    """Return a panel of H and R of the batches up to the last probed step.

    None if only one step was probed, or the run has no readable rows.
    """
    if len(probed.steps) < 2:
        return None
    path = RunFolder(Path(probed.run)).metrics
    try:
        rows = logs.read(path, ("step", "entropy", "reward"), still_written=True)
    except ReadError:
        return None
    points = clean.clean(rows, "entropy", "reward").points
    shown = points.steps <= probed.steps[-1]
    lines = tuple(
        ProbeSeries(name, slot, tuple(ProbePoint(*at, None, None) for at in made), is_course=True)
        for slot, (name, values) in enumerate((("H", points.entropy), ("R", points.reward)))
        if (made := list(zip(points.steps[shown].tolist(), values[shown].tolist(), strict=True)))
    )
    return ProbePanel(RUN_TITLE, "step", RUN_HEIGHTS, lines) if lines else None
