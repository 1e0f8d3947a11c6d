"""Tests for every figure: subclass FigureContract and define the fixture `figure`."""

from __future__ import annotations

import functools
import pickle
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.law.analysis import analyse
from harness.law.group_results import Analysis
from harness.report.figures import canvas, registry, series_pages
from harness.report.figures.canvas import Drawing
from harness.report.figures.figure_specs import FigureSpec, Subject
from harness.report.tables import result_files
from harness.testing import run_folders, synthetic
from harness.testing.payloads import PAYLOADS
from harness.utils.safe_text import escape

HOSTILE = "".join(PAYLOADS[9:18])


@functools.cache
def example() -> Analysis:
    """Return the analysis of two levels with two seeds each, whose runs follow the law."""
    with tempfile.TemporaryDirectory() as root:
        for number, level in enumerate(("easy", "easy", "hard", "hard")):
            rows = synthetic.lawful_rows(seed=number, n=60)
            folder = Path(root) / f"{number}-{level}"
            run_folders.write_run(folder, rows, seed=number % 2 + 1, level=level)
        return analyse([Path(root)])


class FigureContract:
    @pytest.fixture
    def figure(self) -> FigureSpec[Any]:
        raise NotImplementedError

    @pytest.fixture
    def analysis(self) -> Analysis:
        """An analysis for which the figure is not empty."""
        return example()

    def test_its_name_can_be_that_of_its_files(self, figure: FigureSpec[Any]) -> None:
        assert registry.NAME.fullmatch(figure.name)
        assert figure.name not in result_files.TABLES
        assert figure in registry.FIGURES or figure.name not in [f.name for f in registry.FIGURES]

    def test_it_says_in_a_sentence_what_it_shows(self, figure: FigureSpec[Any]) -> None:
        assert figure.shows[0].isupper()
        assert figure.shows.endswith(".")

    def test_the_rows_of_its_csv_have_its_columns(
        self, figure: FigureSpec[Any], analysis: Analysis
    ) -> None:
        drawings = list(drawn(figure, analysis))
        assert drawings, "nothing to show: override the fixture `analysis`"
        for name, drawing in drawings:
            assert drawing.name == name
            assert drawing.rows
            assert all(set(row) <= set(drawing.columns) for row in drawing.rows)

    def test_a_page_has_a_name_of_its_own(
        self, figure: FigureSpec[Any], analysis: Analysis
    ) -> None:
        suffixes = [suffix for suffix, _ in figure.select(subject(analysis))]
        assert len(set(suffixes)) == len(suffixes)
        assert figure.paged or suffixes in ([], [""])

    def test_its_numbers_travel_to_another_process(
        self, figure: FigureSpec[Any], analysis: Analysis
    ) -> None:
        for suffix, numbers in figure.select(subject(analysis)):
            copy = pickle.loads(pickle.dumps(numbers))
            name = f"{figure.name}{suffix}"
            with canvas.use_style():
                assert figure.draw(copy, name).rows == figure.draw(numbers, name).rows

    @pytest.mark.parametrize("kind", canvas.KINDS)
    def test_the_same_analysis_gives_the_same_bytes(
        self, figure: FigureSpec[Any], analysis: Analysis, kind: str
    ) -> None:
        first, second = (
            [canvas.image(drawing.figure, kind) for _, drawing in drawn(figure, analysis)]
            for _ in range(2)
        )
        assert first == second

    def test_text_of_a_run_is_escaped_and_never_a_formula(
        self, figure: FigureSpec[Any], analysis: Analysis
    ) -> None:
        for _, drawing in drawn(figure, hostile(analysis)):
            check_texts(drawing)
            drawing.figure.draw_without_rendering()  # creates the tick labels
            check_texts(drawing)

    def test_an_analysis_without_a_readable_run_is_no_error(
        self, figure: FigureSpec[Any], tmp_path: Path
    ) -> None:
        (tmp_path / "empty.jsonl").write_bytes(b"")
        list(drawn(figure, analyse([tmp_path / "empty.jsonl"])))


def subject(analysis: Analysis) -> Subject:
    return Subject(analysis, series_pages.pages(analysis, False))


def drawn(figure: FigureSpec[Any], analysis: Analysis) -> Iterator[tuple[str, Drawing]]:
    """Yield each page with its expected name."""
    for suffix, numbers in figure.select(subject(analysis)):
        name = f"{figure.name}{suffix}"
        with canvas.use_style():
            yield name, figure.draw(numbers, name)


def check_texts(drawing: Drawing) -> None:
    """Assert that no text of a drawing is parsed as math or contains unescaped characters."""
    texts: list[Any] = drawing.figure.findobj(lambda part: hasattr(part, "get_parse_math"))
    assert not any(text.get_parse_math() for text in texts)
    lines = [line for text in texts for line in text.get_text().split("\n")]
    assert all(escape(line) == line for line in lines), "use canvas.label"


def hostile(analysis: Analysis) -> Analysis:
    """Return the analysis with harmful names of runs and levels."""
    names = {result.run: f"{HOSTILE}{n}" for n, result in enumerate(analysis.runs)}
    return replace(
        analysis,
        runs=tuple(replace(r, run=names[r.run], level=_hostile(r.level)) for r in analysis.runs),
        series={
            names[run]: replace(
                series, run=names[run], label=_hostile(series.label), level=_hostile(series.level)
            )
            for run, series in analysis.series.items()
        },
        groups=(),
    )


def _hostile(text: str | None) -> str:
    return f"{HOSTILE}{text}"
