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
    other_file = next((name for name in names if os.path.lexists(out / name)), None)
    if other_file is not None:
        rule = "must be without such files, or hold a probe's earlier answer, which is overwritten"
        raise ConfigError(f"--out: {rule}, got {str(out)!r}, whose {other_file} is another file")


def write(probed: ProbeResult, out: Path, pictures: Sequence[str]) -> None:
    """Write the answer, replacing an earlier one. Raises StorageError.

    Without `pictures` no figure is drawn, and an earlier one, now outdated, is removed.
    """
    shown_panels = panels(probed) if pictures else []
    draw = partial(figure.draw, heading(probed), shown_panels) if shown_panels else None
    value = json.dumps(probed.to_json(), indent=1, allow_nan=False)
    table = csv_files.table(results.COLUMNS, results.rows(probed))
    texts = {probe_answer.FILE: value + "\n", READINGS: table}
    report.write_drawing(draw, figure.NAME, out, pictures, texts)


def heading(probed: ProbeResult) -> str:
    """Return the probe's question and the name of the run."""
    return f"{probed.asks} ({label(Path(probed.run).name)})"


def panels(probed: ProbeResult) -> list[ProbePanel]:
    """Return one panel per quantity or level, skipping those without a measured value."""
    if probed.probe == width.PROBE.name:
        return [panel for panel in _over_tries(probed) if panel.lines]
    measured = [panel for panel in _over_steps(probed) if panel.lines]
    run_panel = _run_panel(probed) if measured else None
    return measured if run_panel is None else [run_panel, *measured]


def _over_steps(probed: ProbeResult) -> Iterable[ProbePanel]:
    all_readings = [*_start_readings(probed), *probed.readings]
    level_labels = labels(probed.levels, LONGEST_GROUP)
    for first in {reading.label: reading for reading in all_readings}.values():
        readings = [reading for reading in all_readings if reading.label == first.label]
        lines = [
            ProbeSeries(level_labels[level], slot, _points(readings, level))
            for slot, level in enumerate(probed.levels)
        ]
        measured = tuple(line for line in lines if line.points)
        yield ProbePanel(first.label, "step", first.unit, measured, first.people)


def _start_readings(probed: ProbeResult) -> Sequence[ProbeReading]:
    """Return the reference's readings if the reference is the start, which has a step."""
    return [reading for reading in probed.reference if reading.step == START]


def _points(readings: Iterable[ProbeReading], level: str) -> tuple[ProbePoint, ...]:
    return tuple(
        ProbePoint(reading.step, estimate.value, estimate.low, estimate.high)
        for reading in readings
        if reading.level == level and (estimate := reading.estimate).value is not None
    )


def _over_tries(probed: ProbeResult) -> Iterable[ProbePanel]:
    last = [reading for reading in probed.readings if reading.step == probed.steps[-1]]
    reference_name = "the start" if probed.against == "start" else label(probed.against)
    for level in probed.levels:
        lines = []
        for slot, setting in enumerate(dict.fromkeys(reading.setting for reading in last)):
            setting_name = setting or "as trained"
            after = _curve(last, level, setting)
            before = _curve(probed.reference, level, setting)
            lines.append(ProbeSeries(f"step {probed.steps[-1]}, {setting_name}", slot, after))
            lines.append(
                ProbeSeries(f"{reference_name}, {setting_name}", slot, before, is_reference=True)
            )
        measured = tuple(line for line in lines if line.points)
        yield ProbePanel(level, TRIES, "best reward of k", measured, doubles=True)


def _curve(readings: Iterable[ProbeReading], level: str, setting: str) -> tuple[ProbePoint, ...]:
    return tuple(
        ProbePoint(int(reading.quantity.split()[-1]), estimate.value, estimate.low, estimate.high)
        for reading in readings
        if (reading.level, reading.setting) == (level, setting)
        and reading.quantity.startswith(width.BEST)
        and (estimate := reading.estimate).value is not None
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
    mask = points.steps <= probed.steps[-1]
    lines = tuple(
        ProbeSeries(
            name, slot, tuple(ProbePoint(*pair, None, None) for pair in pairs), is_course=True
        )
        for slot, (name, values) in enumerate((("H", points.entropy), ("R", points.reward)))
        if (pairs := list(zip(points.steps[mask].tolist(), values[mask].tolist(), strict=True)))
    )
    return ProbePanel(RUN_TITLE, "step", RUN_HEIGHTS, lines) if lines else None
