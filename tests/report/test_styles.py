"""The style of a paper: width, type, captions, formats."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from harness.errors import ConfigError
from harness.law.group_results import Analysis
from harness.report.figures import canvas, registry, style
from harness.report.figures.canvas import Drawing
from harness.report.formats import formats
from harness.report.write import write_results
from tests.report import made
from tests.report.made_figure_kinds import everything
from tests.report.made_figures import texts, titles


def on_paper(analysis: Analysis) -> dict[str, Drawing]:
    sketches = registry.select_pictures(analysis, False)
    return {sketch.name: registry.draw_picture(sketch, style.PAPER) for sketch in sketches}


CASES = {"everything": everything(), "one run": made.analysis([made.fitted("r/0")])}
every_case = pytest.mark.parametrize("analysis", CASES.values(), ids=list(CASES))


@every_case
def test_a_figure_has_the_width_of_a_column_and_type_of_7_points(analysis: Analysis) -> None:
    for drawing in on_paper(analysis).values():
        assert drawing.figure.get_figwidth() == style.COLUMN_WIDTH
        assert drawing.figure.get_figheight() < 9.5
        drawing.figure.draw_without_rendering()
        assert min(float(text.get_fontsize()) for text in texts(drawing.figure)) >= 7


@every_case
def test_no_text_lies_on_another_or_outside(analysis: Analysis) -> None:
    for drawing in on_paper(analysis).values():
        with canvas.use_style(style.PAPER):
            drawing.figure.canvas.draw()
        boxes = [(t.get_text(), t.get_window_extent()) for t in texts(drawing.figure)]
        width, height = drawing.figure.canvas.get_width_height()
        for (one, box), (other, second) in itertools.combinations(boxes, 2):
            clash = box.padded(-1).overlaps(second.padded(-1))
            assert not clash, f"{drawing.name}: {one!r} lies on {other!r}"
        for words, box in boxes:
            inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1
            assert inside, f"{drawing.name}: {words!r} is cut"


def test_findings_are_the_caption_and_panels_are_named() -> None:
    law = on_paper(everything())["entropy_law"]
    assert law.figure.get_suptitle() == ""
    assert titles(law) == ["easy", "hard"]
    assert canvas.caption(law.figure).startswith(
        "Reward R against policy entropy H, and the law R = -a exp(H) + b. easy: ceiling 0.80"
    )
    (alone,) = on_paper(CASES["one run"])["entropy_law"].figure.axes
    assert alone.get_title(loc="left") == ""


def test_a_pdf_embeds_its_fonts_as_they_are_and_names_no_day() -> None:
    law = on_paper(CASES["one run"])["entropy_law"]
    data = canvas.image(law.figure, "pdf")
    assert data.startswith(b"%PDF")
    assert b"/FontFile2" in data
    assert b"/Type3" not in data
    assert b"CreationDate" not in data
    assert b"/Subtype /Image" not in data
    again = on_paper(CASES["one run"])["entropy_law"]
    assert canvas.image(again.figure, "pdf") == data


def test_the_rows_of_the_csv_do_not_depend_on_the_style() -> None:
    on_screen = {drawing.name: drawing.rows for drawing in registry.draw(everything(), False)}
    papers = {name: drawing.rows for name, drawing in on_paper(everything()).items()}
    assert {name: str(rows) for name, rows in papers.items()} == {
        name: str(rows) for name, rows in on_screen.items()
    }


def test_a_figure_is_written_in_the_style_that_it_was_drawn_in() -> None:
    figure = on_paper(CASES["one run"])["entropy_law"].figure
    assert style.current() is style.SCREEN
    canvas.image(figure, "png")
    assert min(float(text.get_fontsize()) for text in texts(figure)) == 7


@pytest.mark.parametrize(
    ("name", "words", "pictures", "tables"),
    [
        ("screen", (), ("png", "svg"), ()),
        ("paper", (), ("pdf",), ("tex", "md")),
        ("paper", ("svg,tex",), ("svg",), ("tex",)),
        ("screen", ("pdf", "png, md"), ("png", "pdf"), ("md",)),
    ],
)
def test_formats_are_those_of_the_style_or_those_named(
    name: str, words: tuple[str, ...], pictures: tuple[str, ...], tables: tuple[str, ...]
) -> None:
    found = formats(name, words)
    assert (found.style.name, found.pictures, found.tables) == (name, pictures, tables)


@pytest.mark.parametrize("word", ["", "pgn", "png,", "../png", "png\x1b[31m"])
def test_a_format_that_is_none_is_named_with_those_there_are(word: str) -> None:
    with pytest.raises(ConfigError, match="--format: must be some of png, svg, pdf, tex, md"):
        formats("screen", (word,))


def test_a_style_that_is_none_is_named() -> None:
    with pytest.raises(ConfigError, match="--style: must be one of screen, paper, got 'poster'"):
        formats("poster")


def test_files_of_another_format_do_not_stay(tmp_path: Path) -> None:
    write_results(everything(), tmp_path, "auto", formats("paper"))
    first = {path.name for path in tmp_path.iterdir()}
    assert {"entropy_law.pdf", "entropy_law.caption.txt", "law.tex", "levels.md"} <= first
    (tmp_path / "notes.md").write_text("mine")
    written = write_results(everything(), tmp_path, "auto")
    kept = {path.name for path in tmp_path.iterdir()}
    assert kept == {path.name for path in written} | {"notes.md"}
    assert not any(name.endswith((".pdf", ".tex", ".txt")) for name in kept)
