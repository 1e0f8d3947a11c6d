"""What seeds say of a level, as it is printed, drawn and written."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from harness.law.analysis import analyse
from harness.law.group_results import Analysis
from harness.report.figures import registry
from harness.report.figures.canvas import Drawing
from harness.report.tables import population
from harness.report.text import wording
from harness.report.write import write_results
from harness.testing.commands import here
from tests.law.population import sweep
from tests.report.made_figures import legend, texts
from tests.report.made_tables import printed


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """easy never collapses, medium does in 3 of 4 seeds, hard follows no law."""
    made = tmp_path_factory.mktemp("sweep")
    sweep.level(made, "easy", [sweep.LAWFUL] * 4)
    sweep.level(made, "medium", [0.4, 0.5, 0.6, sweep.LAWFUL], up=-0.1, first=100)
    sweep.lawless(made, "hard", 4)
    return made


@pytest.fixture(scope="module")
def analysed(folder: Path) -> Analysis:
    return analyse([folder])


def drawn(analysed: Analysis) -> Drawing:
    (found,) = [one for one in registry.draw(analysed, every_run=False) if one.name == "levels"]
    return found


def test_the_command_says_what_seeds_say_of_each_level(folder: Path, tmp_path: Path) -> None:
    words = ("--out", "law", "--figures", "none", "--tables")
    done = here("fit-entropy-law", str(folder), *words, cwd=tmp_path)
    assert done.returncode == 0
    said = done.stdout
    table = said[said.index("Over seeds, by level, law on ") : said.index("collapse: a lasting")]
    for sentence in (
        "easy", "100%", "[40%, 100%]", "4 of 4", "0 of 4", "no onset",
        "medium", "75%", "[19%, 99%]", "3 of 4", "later]", "collapse by",
        "hard", "no law in 4", "[0%, 60%]",
    ):  # fmt: skip
        assert sentence in table, sentence
    assert "P(law): share of the decided seeds that follow the law; open: undetermined" in " ".join(
        said.split()
    )


def test_levels_stand_from_easy_to_hard(analysed: Analysis) -> None:
    assert [population.name(group) for group in population.order(analysed)] == [
        "easy", "medium", "hard",
    ]  # fmt: skip


def test_the_csv_has_every_number_once(analysed: Analysis, tmp_path: Path) -> None:
    write_results(analysed, tmp_path, "auto")
    with (tmp_path / "levels.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert tuple(rows[0]) == population.COLUMNS
    places = [tuple(row[name] for name in population.COLUMNS[:6]) for row in rows]
    assert len(set(places)) == len(places)
    (lawless,) = [
        row for row in rows
        if (row["group"], row["quantity"], row["kind"]) == ("difficulty=hard", "ceiling", "mean")
    ]  # fmt: skip
    assert (lawless["value"], lawless["n"], lawless["why"]) == ("", "0", "no_law")
    seeds = [row for row in rows if row["kind"] in ("seed", "censored_seed")]
    assert len([row for row in seeds if row["quantity"] == "onset"]) == 12


def test_the_figure_shows_levels_seeds_and_what_is_missing(analysed: Analysis) -> None:
    drawing = drawn(analysed)
    figure = drawing.figure
    follows, ceiling, onset, curves = figure.axes
    assert [tick.get_text() for tick in follows.get_yticklabels()] == ["easy", "medium", "hard"]
    assert "no law" in [text.get_text() for text in texts(figure)]
    assert "no onset until its last step" in legend(drawing)
    assert {"easy", "medium", "hard"} <= set(legend(drawing))
    assert len(curves.lines) == 3
    assert onset.get_xlim()[0] == 0
    assert ceiling.get_xlabel() == "reward at H = 0"


def test_one_seed_a_level_is_not_drawn_and_not_printed(tmp_path: Path) -> None:
    sweep.level(tmp_path, "easy", [sweep.LAWFUL])
    found = analyse([tmp_path])
    assert "levels" not in {one.name for one in registry.draw(found, every_run=False)}
    assert "Over seeds" not in printed(found)


@pytest.mark.parametrize("levels", [1, 8, 16])
def test_as_many_levels_as_there_are_are_rows(levels: int, tmp_path: Path) -> None:
    for place in range(levels):
        for seed in (1, 2):
            name = f"level {place:02d} of a very long name"
            sweep.write(tmp_path, name, seed, sweep.short(seed))
    figure = drawn(analyse([tmp_path])).figure
    assert len(figure.axes[0].get_yticks()) == levels
    shown = [text.get_text() for text in figure.axes[3].texts]
    assert bool(shown) == (levels == 16)


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ({"difficulty": "hard"}, "hard"),
        ({"difficulty": "hard", "remedy": "none", "algorithm.null_control": False}, "hard"),
        ({"difficulty": "easy", "remedy": "clip_cov"}, "easy, clip cov"),
        ({"difficulty": "easy", "algorithm.null_control": True}, "easy, null control"),
        ({"algorithm.std_floor": 0, "seed": 3}, "std_floor=0, seed=3"),
        ({"remedy": "none"}, "remedy=none"),
        ({"curriculum": "none", "algorithm.null_control": False}, "curriculum=none"),
        ({"difficulty.intentions": ["a", "b"]}, "intentions=['a', 'b']"),
        ({"difficulty.intentions": ["a", "b", "c", "d"]}, "intentions=a,...,d (4)"),
        ({}, "all runs"),
    ],
)
def test_a_group_is_named_by_what_others_may_not_have(key: dict[str, object], name: str) -> None:
    assert wording.short_name(key) == name
