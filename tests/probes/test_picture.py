"""The picture of a trajectory: H and R of its run stand above what the probe found."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.probes import answer_files
from harness.probes.over_users import ProbeEstimate
from harness.probes.results import ProbeReading, ProbeResult
from harness.report.figures import probe as figure

STEPS = (2, 4)


def probed(run: Path, *levels: str, probe: str = "drift") -> ProbeResult:
    number = ProbeEstimate(0.5, 0.4, 0.6)
    made = [
        ProbeReading(level, "solving", "", "share", step, number, number)
        for step in STEPS
        for level in levels
    ]
    return ProbeResult(
        probe=probe, asks="Why?", run=str(run), against="start", reference=(), steps=STEPS,
        users=8, repeats=1, conversations=24, readings=tuple(made),
    )  # fmt: skip


def rows(folder: Path, steps: int) -> Path:
    with (folder / "metrics.jsonl").open("w", encoding="utf-8") as file:
        for step in range(1, steps + 1):
            row = {"step": step, "entropy": 2 - step / 10, "reward": step / 10}
            file.write(json.dumps(row) + "\n")
    return folder


def test_h_and_r_of_the_steps_that_were_probed_stand_above(tmp_path: Path) -> None:
    above, solving = answer_files.panels(probed(rows(tmp_path, 6), "easy"))
    assert (above.title, above.x_name, solving.title) == (answer_files.RUN_TITLE, "step", "solving")
    assert [line.name for line in above.lines] == ["H", "R"]
    h, r = ([(point.x, point.value) for point in line.points] for line in above.lines)
    assert h == [(1, 1.9), (2, 1.8), (3, 1.7), (4, 1.6)]
    assert r == [(1, 0.1), (2, 0.2), (3, 0.3), (4, 0.4)]


def test_one_step_and_a_folder_without_rows_have_no_course(tmp_path: Path) -> None:
    found = probed(tmp_path, "easy")
    assert [panel.title for panel in answer_files.panels(found)] == ["solving"]
    rows(tmp_path, 6)
    once = replace(found, steps=(4,), readings=found.readings[1:])
    assert [panel.title for panel in answer_files.panels(once)] == ["solving"]


def test_the_csv_beside_the_picture_has_h_and_r(tmp_path: Path) -> None:
    found = probed(rows(tmp_path, 6), "easy", "hard")
    drawing = figure.draw(answer_files.heading(found), answer_files.panels(found))
    told = [(row["panel"], row["line"], row["x"], row["value"]) for row in drawing.rows]
    assert told[:1] == [(answer_files.RUN_TITLE, "H", 1, pytest.approx(1.9))]
    assert len(told) == 2 * 4 + 2 * 2


def test_a_step_is_at_one_place_in_all_panels_under_the_course(tmp_path: Path) -> None:
    found = probed(rows(tmp_path, 6), "easy", "hard")
    more = [replace(one, quantity=f"{one.quantity} {n}") for n in "abcd" for one in found.readings]
    drawing = figure.draw("Why?", answer_files.panels(replace(found, readings=tuple(more))))
    drawing.figure.draw_without_rendering()
    every = drawing.figure.axes
    assert len(every) == 5
    assert len({axes.get_xlim() for axes in every}) == 1
    assert len({round(axes.transData.transform((3, 0))[0], 3) for axes in every}) == 1
    heights = [axes.get_position().y0 for axes in every]
    assert heights == sorted(heights, reverse=True)


def test_intervals_at_one_k_stand_apart_and_one_line_needs_no_legend(tmp_path: Path) -> None:
    number = ProbeEstimate(0.5, 0.4, 0.6)
    made = [
        ProbeReading("easy", f"best of {k}", setting, "reward", 4, number, number)
        for k in (1, 2, 32)
        for setting in ("", "greedy")
    ]
    wide = replace(probed(tmp_path, probe="width"), readings=tuple(made))
    (panel,) = answer_files.panels(wide)
    drawing = figure.draw("Why?", [panel])
    one, other = (np.asarray(line.get_xdata(), float) for line in drawing.figure.axes[0].lines)
    assert other / one == pytest.approx([2 ** (0.012 * 5)] * 3)
    assert len(drawing.figure.legends) == 1
    alone = figure.draw("Why?", answer_files.panels(probed(tmp_path, "easy")))
    assert alone.figure.legends == []
