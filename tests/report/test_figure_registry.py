"""What holds of every figure in the registry: it is drawn, its CSV has it, its text is shown."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.errors import PlugInError
from harness.law.group_results import Analysis
from harness.report.figures import canvas, registry
from harness.report.figures.figure_specs import FigureSpec
from harness.report.write import write_results
from harness.testing import run_folders, synthetic
from harness.testing.commands import here
from harness.testing.figure_contract import FigureContract
from harness.testing.payloads import PAYLOADS
from harness.utils.safe_text import escape
from tests.report import made
from tests.report.made_figure_kinds import everything, numbers
from tests.report.made_figures import texts

KINDS = ("csv", "png")
HOSTILE = "".join(PAYLOADS[9:18])


UNREAD = made.analysis([], [made.unread("runs/a", "runs/a/metrics.jsonl: is empty")])
"""What the figures of every run have least to draw of."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The results folder of everything()."""
    out = tmp_path_factory.mktemp("results")
    write_results(everything(), out, "auto")
    return out


def sketch_of(figure: FigureSpec[Any], analysis: Analysis) -> registry.PictureTask:
    (sketch,) = [s for s in registry.select_pictures(analysis, False) if s.figure == figure.name]
    return sketch


every_figure = pytest.mark.parametrize("figure", registry.FIGURES, ids=lambda figure: figure.name)


def test_names_differ_and_none_reads_as_a_page_of_another() -> None:
    names = [figure.name for figure in registry.FIGURES]
    assert len(set(names)) == len(names)
    for figure in registry.FIGURES:
        assert registry.is_file_of_a_figure(f"{figure.name}.svg")
        assert registry.is_file_of_a_figure(f"{figure.name}_2.csv") == figure.paged
    assert not registry.is_file_of_a_figure("entropy_law_draft.png")
    assert not registry.is_file_of_a_figure("entropy_law.txt")


class TestOurs(FigureContract):
    @pytest.fixture(params=registry.FIGURES, ids=lambda figure: figure.name)
    def figure(self, request: pytest.FixtureRequest) -> FigureSpec[Any]:
        figure: FigureSpec[Any] = request.param
        return figure

    @pytest.fixture
    def analysis(self) -> Analysis:
        return everything()


@every_figure
def test_its_csv_has_the_numbers_that_are_drawn(figure: FigureSpec[Any], results: Path) -> None:
    drawing = registry.draw_picture(sketch_of(figure, everything()))
    assert drawing.name == figure.name
    assert drawing.rows
    assert all(set(row) <= set(drawing.columns) for row in drawing.rows)
    with (results / f"{figure.name}.csv").open(newline="") as file:
        written = list(csv.DictReader(file))
    assert [numbers(row) for row in written] == [numbers(row) for row in drawing.rows]


@every_figure
def test_points_of_the_picture_stand_in_its_csv(figure: FigureSpec[Any]) -> None:
    drawing = registry.draw_picture(sketch_of(figure, everything()))
    known = [v for row in drawing.rows for v in numbers(row).values()]
    drawn = [
        float(value)
        for axes in drawing.figure.axes
        for line in axes.lines
        if line.get_marker() not in ("None", "", None) and len(np.asarray(line.get_xydata())) > 1
        for value in np.asarray(line.get_ydata())
    ]
    assert all(min(abs(value - other) for other in known) < 1e-9 for value in drawn)


@every_figure
def test_text_of_a_run_is_escaped_and_never_a_formula(figure: FigureSpec[Any]) -> None:
    drawing = registry.draw_picture(sketch_of(figure, everything(HOSTILE)))
    shown = texts(drawing.figure)
    assert not any(text.get_parse_math() for text in shown)
    assert all(escape(line) == line for t in shown for line in t.get_text().split("\n"))
    svg = canvas.image(drawing.figure, "svg").decode()
    assert all(escape(line) == line for line in svg.splitlines())


@every_figure
def test_without_a_readable_run_it_is_left_out_or_says_so(figure: FigureSpec[Any]) -> None:
    for sketch in registry.select_pictures(UNREAD, False):
        if sketch.figure == figure.name:
            assert registry.draw_picture(sketch).rows == (
                {"run": "runs/a", "reason": "runs/a/metrics.jsonl: is empty"},
            )


def test_selecting_the_numbers_loads_no_matplotlib() -> None:
    code = "import sys; from harness.report import write; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


OTHER = """
from harness.report.figures.figure_specs import FigureSpec

def select(subject):
    yield SUFFIX, SELECTED

def draw(numbers, name):
    raise ValueError("of the plug-in")

MINE = FigureSpec("NAME", "Mine.", select, draw)
"""


def with_figure(installed: Callable[..., None], folder: Path, selected: str, name: str) -> None:
    suffix, _, numbers = selected.rpartition("; ")
    code = OTHER.replace("SELECTED", numbers).replace("NAME", name)
    code = code.replace("SUFFIX", repr(suffix))
    (folder / "other_figure.py").write_text(code)
    installed(f"[harness.figures]\n{name} = other_figure:MINE\n")


@pytest.mark.parametrize(
    ("selected", "name", "message"),
    [
        ("[1, 2]", "mine", "must be drawn, got ValueError: of the plug-in (other_figure.py:8)"),
        (
            "1 / 0",
            "mine",
            "must be drawn, got ZeroDivisionError: division by zero (other_figure.py",
        ),
        ("lambda: 0", "mine", "must be drawn, got "),
        ("/../../mine; [1]", "mine", "must be drawn, got ValueError: the end of a page's name"),
        ("[1]", "law", "its name must be small letters"),
        ("[1]", "forest", "its name must be small letters"),
        ("[1]", "mine_2", "its name must be small letters"),
    ],
)
def test_a_plug_ins_figure_that_fails_is_named_and_loses_nothing_else(
    installed: Callable[..., None], tmp_path: Path, selected: str, name: str, message: str
) -> None:
    with_figure(installed, tmp_path, selected, name)
    with pytest.raises(PlugInError) as caught:
        write_results(UNREAD, tmp_path / "law", "auto")
    assert str(caught.value).startswith(f"figure {name} of other: {message}")
    written = {path.name for path in (tmp_path / "law").iterdir()}
    ours = {sketch.figure for sketch in registry.select_pictures(UNREAD, False)} - {name}
    assert {"entropy_law", "entropy_curves"} <= ours
    assert written >= {"law.json", "law.csv", *(f"{o}.{kind}" for o in ours for kind in KINDS)}


def test_the_command_prints_everything_and_ends_3(
    installed: Callable[..., None], tmp_path: Path
) -> None:
    with_figure(installed, tmp_path, "[1]", "mine")
    folder = tmp_path / "apart"  # what lies in the current folder is not installed
    run_folders.write_rows(folder / "run", synthetic.lawful_rows())
    done = here("fit-entropy-law", "run", "--json", cwd=folder)
    assert done.returncode == 3
    assert len(json.loads(done.stdout)["runs"]) == 1
    assert done.stderr.splitlines()[-1].startswith("harness: figure mine of other: must be drawn")


def test_one_that_cannot_be_imported_is_named_too(
    installed: Callable[..., None], tmp_path: Path
) -> None:
    installed("[harness.figures]\nmine = other_nowhere:MINE\n")
    with pytest.raises(PlugInError, match=r"mine of other: .* importable as other_nowhere:MINE"):
        write_results(UNREAD, tmp_path / "law", "auto")
