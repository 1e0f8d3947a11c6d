"""What people read of differences between groups: the table, its notes, and the forest plot."""

from __future__ import annotations

import csv
import dataclasses
import io
from typing import Any

import pytest
from rich.console import Console

from harness.law.group_results import Analysis, GroupDifference, SeedMean
from harness.report.figures import forest as figure_forest
from harness.report.figures import registry
from harness.report.tables import contrasts, csv_files
from harness.report.tables.summary import print_analysis
from harness.testing.payloads import PAYLOADS
from harness.utils.safe_text import escape
from tests.report import made
from tests.report.made_tables import contrast, forest, study
from tests.report.marks import arrows


def printed(analysis: Analysis, width: int = 80) -> str:
    stream = io.StringIO()
    print_analysis(analysis, Console(file=stream, width=width), explained=False)
    return stream.getvalue()


def test_the_table_says_what_is_taken_from_what_and_what_was_decided() -> None:
    text = printed(study(), width=120)
    assert "difficulty: hard minus easy" in text
    line = next(line for line in text.splitlines() if line.startswith("ceiling"))
    assert line.split() == ["ceiling", "-0.40", "[-0.50,", "-0.30]", "p", "0.003", "differs"]
    assert "p corrected by Holm within each quantity, ceiling first (1 test in all)" in text
    assert "rewards on eval/medium/reward" in text


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"decision": "equivalent", "margin": 0.05}, "equivalent within 0.05"),
        (
            {"decision": "undecided"},
            "undecided: the smallest detectable difference is 0.21; "
            "about 9 seeds per group would detect 0.05",
        ),
        (
            {"decision": "undecided", "seeds_needed": None},
            "undecided: the smallest detectable difference is 0.21; "
            "over 1000 seeds per group would detect 0.05",
        ),
        (
            {"decision": "undecided", "quantity": "onset", "minimum_detectable": 1.7},
            "undecided: no difference is detectable; about 9 seeds per group would detect 0.05",
        ),
        (
            {"decision": "undecided", "minimum_detectable": None, "why": "one seed"},
            "undecided: one seed; needs at least 9 seeds per group, with runs like these",
        ),
        ({"decision": "not_comparable", "why": "no H in common"}, "not comparable: no H in common"),
        (
            {"unlike_failures": (0.07, 0.003)},
            "differs; caution: 7.0% of conversations failed, against 0.3%",
        ),
        (
            {"remedy_inactive": 2},
            "differs; caution: the remedy was inactive (acted on no token) in 2 of the runs",
        ),
        (
            {"net_of_null": GroupDifference(-0.2, -0.4, 0.0)},
            "differs; net of the null -0.20 [-0.40, 0.00]",
        ),
        (
            {
                "decision": "undecided",
                "net_of_null": GroupDifference(-0.2, -0.4, 0.0),
            },
            "undecided: the smallest detectable difference is 0.21; "
            "about 9 seeds per group would detect 0.05; net of the null -0.20 [-0.40, 0.00]",
        ),
    ],
)
def test_decisions_are_words(more: dict[str, Any], said: str) -> None:
    assert contrasts.decision(contrast(**more)) == said


def test_what_is_net_of_the_null_is_explained_only_where_it_is_given() -> None:
    net = GroupDifference(-0.25, -0.5, 0.0)
    given = study(quantity="gain", net_of_null=net)
    note = "after subtracting from each run its null control of the same seed"
    assert note in printed(given, width=120)
    assert note not in printed(study(), width=120)
    header, row = csv.reader(io.StringIO(csv_files.contrasts_csv(given)))
    cells = dict(zip(header, row, strict=True))
    ends = ("difference", "low", "high")
    assert [float(cells[f"net_of_null_{name}"]) for name in ends] == [-0.25, -0.5, 0.0]
    _, without = csv.reader(io.StringIO(csv_files.contrasts_csv(study())))
    assert without[-4:] == ["", "", "", "0"]


def test_the_table_fits_eighty_columns() -> None:
    text = printed(study(decision="undecided", minimum_detectable=0.123456))
    block = text[text.index("difficulty: hard") : text.index("differences between means")]
    assert max(map(len, block.splitlines())) <= 80


def test_many_contrasts_show_what_was_decided_and_count_the_rest() -> None:
    analysis = study()
    many = [contrast(decision="undecided")] * 30 + [contrast()]
    groups = (analysis.groups[0], dataclasses.replace(analysis.groups[1], contrasts=many))
    text = printed(dataclasses.replace(analysis, groups=groups), width=120)
    assert sum(line.startswith("ceiling") for line in text.splitlines()) == 1
    assert "30 more contrasts in contrasts.csv" in text


def test_axes_that_both_share_are_named_in_brackets() -> None:
    one = {"difficulty": "hard", "policy": "tiny"}
    said = contrasts.pair_heading(one, {**one, "difficulty": "easy"})
    assert said == "difficulty: hard minus easy (policy=tiny)"


@pytest.mark.parametrize("payload", PAYLOADS)
def test_hostile_levels_and_columns_do_nothing(payload: str) -> None:
    analysis = study(payload, on=payload, why=payload, decision="not_comparable")
    text = printed(analysis, width=500)
    assert all(escape(line) == line for line in text.split("\n"))
    ticks = forest(analysis).figure.axes[0].get_yticklabels()
    lines = [line for tick in ticks for line in tick.get_text().split("\n")]
    assert len(lines) <= 2 * 3
    assert all(escape(line) == line for line in lines)
    csv_files.contrasts_csv(analysis)


def test_the_forest_shows_every_seed_and_the_mean_of_each_group() -> None:
    drawing = forest(study())
    a, ceiling, gain, fall, onset = drawing.figure.axes
    assert [tick.get_text() for tick in a.get_yticklabels()] == ["easy", "hard"]
    assert ceiling.get_title(loc="left").replace("\n", " ") == (
        "ceiling b - a on eval/medium/reward: 1 of 1 pairs differ"
    )
    seeds = [row for row in drawing.rows if row["kind"] == "seed"]
    assert len(seeds) == 4 * 6  # no run has a gain
    assert [t.get_text() for t in gain.texts] == ["no data"]
    assert fall.get_xlabel() == "nats"
    late = [row for row in seeds if row["quantity"] == "onset" and row["censored"]]
    assert [(row["group"], row["value"]) for row in late] == [
        ("difficulty=easy", 1.0), ("difficulty=easy", 1.0), ("difficulty=hard", 1.0),
    ]  # fmt: skip
    assert onset.get_xlim() == (-0.03, 1.03)


def test_one_wide_interval_does_not_flatten_the_seeds() -> None:
    analysis = study()
    assert analysis.groups[0].compared is not None
    wide = dataclasses.replace(
        analysis.groups[0].compared, ceiling=SeedMean(0.8, -40.0, 41.6, 2, 1)
    )
    groups = (dataclasses.replace(analysis.groups[0], compared=wide), analysis.groups[1])
    ceiling = forest(dataclasses.replace(analysis, groups=groups)).figure.axes[1]
    low, high = ceiling.get_xlim()
    assert high - low < 0.5
    ends = arrows(ceiling)
    assert (ends["<"][0], ends[">"][0]) == (low, high)  # where the wide one runs off


def test_an_interval_that_fits_has_no_arrow() -> None:
    gain = forest(study()).figure.axes[2]
    assert arrows(gain) == {}


def test_the_forest_is_one_of_the_figures() -> None:
    assert "forest" in {drawing.name for drawing in registry.draw(study(), every_run=False)}


def test_without_groups_there_is_no_forest() -> None:
    names = {drawing.name for drawing in registry.draw(made.ladder(), every_run=False)}
    assert "forest" not in names
    assert figure_forest.drawable(made.ladder()) == []


def test_groups_that_differ_in_several_axes_keep_their_names_apart() -> None:
    analysis = study()
    groups = tuple(
        dataclasses.replace(
            group,
            key={
                "difficulty": "easy", "difficulty.start_emotion": start,
                "measurement.entropy.tokens": "acts",
            },
        )
        for group, start in zip(analysis.groups, (40, 55), strict=True)
    )  # fmt: skip
    drawing = forest(dataclasses.replace(analysis, groups=groups))
    assert [tick.get_text() for tick in drawing.figure.axes[0].get_yticklabels()] == [
        "easy, start_emotion=40,\ntokens=acts",
        "easy, start_emotion=55,\ntokens=acts",
    ]
    assert {row["group"] for row in drawing.rows} == {
        f"difficulty=easy, difficulty.start_emotion={start}, measurement.entropy.tokens=acts"
        for start in (40, 55)
    }


def test_many_groups_are_cut_and_said_to_be() -> None:
    analysis = study()
    one = analysis.groups[1]
    groups = [dataclasses.replace(one, key={"difficulty": f"level{i}"}) for i in range(50)]
    drawing = forest(dataclasses.replace(analysis, groups=tuple(groups)))
    assert "40 of 50 groups" in drawing.figure.get_suptitle()
    assert len({row["group"] for row in drawing.rows}) == 50
