"""What H and R did while a probe's numbers moved: the run's own rows, as a panel's lines."""

from __future__ import annotations

from pathlib import Path

from harness.law.io import clean, reading
from harness.law.io.table import ReadError
from harness.probes.results import Probed
from harness.records.run_folder import RunFolder
from harness.report.figures.probe import Line, Panel, Point

TITLE = "policy entropy H and reward R of each batch"
HEIGHTS = "H (nats), R"


def panel(probed: Probed) -> Panel | None:
    """H and R of the batches up to the last step that was probed.

    None where a run was not asked along its steps, and of a folder without readable rows.
    """
    if len(probed.steps) < 2:
        return None
    path = RunFolder(Path(probed.run)).metrics
    try:
        rows = reading.read(path, ("step", "entropy", "reward"), still_written=True)
    except ReadError:
        return None
    points = clean.clean(rows, "entropy", "reward").points
    shown = points.steps <= probed.steps[-1]
    lines = tuple(
        Line(name, slot, tuple(Point(*at, None, None) for at in made), is_course=True)
        for slot, (name, values) in enumerate((("H", points.entropy), ("R", points.reward)))
        if (made := list(zip(points.steps[shown].tolist(), values[shown].tolist(), strict=True)))
    )
    return Panel(TITLE, "step", HEIGHTS, lines) if lines else None
