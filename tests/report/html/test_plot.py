"""Panels: values land where the axes say, and what is read at a point is its value."""

from __future__ import annotations

import itertools
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.law.analysis import analyse
from harness.law.group_results import GroupResult, SeedMean
from harness.law.results import Interval
from harness.report.figures import forest
from harness.report.figures import population as levels_figure
from harness.report.html import figures, group_charts, plot, row_panels
from harness.report.html.axes import axis, round_ticks
from harness.report.html.plot import HEIGHT, LEFT, RIGHT, TOP, WIDTH, HoverPoints, Plot
from harness.report.tables import population
from tests.report import made
from tests.report.html import made_runs
from tests.report.made_figure_kinds import everything

finite = st.floats(-1e6, 1e6)


@given(finite, st.floats(1e-3, 1e6))
def test_ticks_are_few_round_and_within_the_axis(low: float, width: float) -> None:
    high = low + width
    ticks = round_ticks(low, high)
    assert 1 <= len(ticks) <= 7
    slack = 1e-6 * max(width, abs(low))
    assert all(low - slack <= value <= high + slack for value, _ in ticks)
    gaps = {float(f"{b - a:.6g}") for (a, _), (b, _) in itertools.pairwise(ticks)}
    if width > 1e-6 * abs(low):
        assert all(f"{gap:e}"[0] in "1259" for gap in gaps)
    assert "-0" not in {text for _, text in ticks}


def test_ticks_are_written_with_the_decimals_they_need() -> None:
    assert [text for _, text in round_ticks(0.0, 1.0)] == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
    assert [text for _, text in round_ticks(-0.04, 0.97)] == ["0.0", "0.2", "0.4", "0.6", "0.8"]
    assert [text for _, text in round_ticks(0, 600)] == ["0", "200", "400", "600"]
    assert [text for _, text in round_ticks(-0.021, 0.02)][:2] == ["-0.02", "-0.01"]


def test_a_point_is_drawn_where_its_value_is() -> None:
    made = Plot("", axis("H", (0.0, 2.0)), axis("R", (0.0, 1.0)))
    made.line("s0", [0.0, 2.0, math.nan], [0.0, 1.0, 0.5])
    made.dots("s0", [1.0], [0.5], "z")
    panel = made.panel()
    bottom = HEIGHT - plot.BOTTOM
    assert panel.marks[0].path == f"M{LEFT} {bottom}L{WIDTH - RIGHT} {TOP}"
    middle = ((LEFT + WIDTH - RIGHT) / 2, (bottom + TOP) / 2)
    assert panel.marks[1].path == f"M{middle[0]:g} {middle[1]:g}z"
    assert [mark.clipped for mark in panel.marks] == [True, False]


def test_what_is_hovered_are_the_values_and_json_has_no_nan() -> None:
    made = Plot("", axis("H", (0.0, 2.0)), axis("R", (0.0, 1.0)))
    made.hover(HoverPoints("seed 1", [1.23456, math.inf], [0.1, 0.2], 0, [10.0, 20.5]))
    made.hover(HoverPoints("none", [], [], 1))
    (series,) = json.loads(json.dumps(made.panel().data, allow_nan=False))["series"]
    assert series == {
        "name": "seed 1", "slot": 0, "x": [1.235, None], "y": [0.1, 0.2], "step": [10, 20.5],
    }  # fmt: skip


@given(st.lists(finite, min_size=1, max_size=5), finite, finite)
def test_no_mark_leaves_the_page(values: list[float], low: float, high: float) -> None:
    made = Plot("", axis("x", (low, high)), axis("y", (high, low)))
    made.line("s0", values, values)
    made.band("s0", values, values, values)
    numbers = re.findall(r"-?[0-9.]+(?:e[+-]?\d+)?", "".join(m.path for m in made.panel().marks))
    assert all(abs(float(number)) <= 2000 for number in numbers)


@pytest.mark.parametrize("seeds", [3, 9], ids=["each run", "medians over runs"])
def test_charts_have_the_figures_of_the_registry_and_their_findings(seeds: int) -> None:
    charts, others = figures.charts(made.ladder(3, seeds))
    assert not others
    by_name = {chart.name: chart for chart in charts}
    assert {"entropy_law", "entropy_curves", "residuals"} <= by_name.keys()
    law = by_name["entropy_law"]
    assert [column[0].title.split(":")[0] for column in law.columns] == ["easy", "medium", "hard"]
    assert "ceiling 0.80" in law.columns[0][0].title
    assert [len(column) for column in by_name["entropy_curves"].columns] == [2, 2, 2]
    points = law.columns[0][0].hovered[0]
    assert points.name == ("seed 1" if seeds == 3 else "all runs, median of 9")
    assert len(points.steps or ()) == len(points.x)


def test_the_law_of_an_easy_level_is_not_cut_at_the_top() -> None:
    run, series = made.fitted("r", identified=False)
    top = float(series.reward.max())
    near = replace(run, ceiling=Interval(top + 0.05, top - 0.2, top + 0.4))
    charts, _ = figures.charts(made.analysis([(near, series)]))
    (law,) = [chart for chart in charts if chart.name == "entropy_law"]
    ((panel,),) = law.columns
    assert top + 0.05 < panel.y.high < top + 0.4
    (arrow,) = [mark for mark in panel.marks if mark.css.endswith(" open")]
    assert re.search(rf" {TOP:g}{re.escape(plot.OPEN_ARROW['^'])}$", arrow.path)
    assert law.legend[-1].text == "ceiling or interval off the scale"


def test_an_interval_that_runs_off_its_axis_ends_in_an_open_arrow() -> None:
    seeds = [("seed 1", 0.5, False), ("seed 2", 0.5, False)]
    row = row_panels.SeedRow("easy", 0, seeds, row_panels.RowMean(0.5, 0.1, 9.0))
    panel = row_panels.panel("gain", "reward", [row], (0.0, 1.0))
    assert [
        mark.path[-len(plot.OPEN_ARROW[">"]) :] for mark in panel.marks if "open" in mark.css
    ] == [plot.OPEN_ARROW[">"]]
    assert (
        row_panels.legend([[panel]], "mean", "none")[-1].text
        == "the interval continues beyond the axis"
    )
    heights = panel.hovered[0].y
    assert len(set(heights)) == 2, "seeds of equal value stand apart"


def level(name: str) -> GroupResult:
    """A level of three seeds, described over them."""
    paths = [f"runs/{name}-{seed}" for seed in range(3)]
    return replace(
        made.group({"difficulty": name}, paths, SeedMean(0.8, 0.7, 0.9, 3, 0)),
        population=made.population(paths),
    )


def test_an_estimate_over_seeds_is_called_what_it_is() -> None:
    panels = [panel for (panel,) in group_charts.levels_chart([level("easy")]).columns]
    told = [(panel.hovered[-1].words or [""])[0].split()[0] for panel in panels[:3]]
    assert told == ["share", "mean", "median"]


def test_levels_are_drawn_in_the_panels_and_under_the_heading_of_the_figure() -> None:
    groups = [*(level(str(n)) for n in range(44)), replace(level("last"), unfinished=["runs/late"])]
    chart = group_charts.levels_chart(groups)
    assert chart.heading.endswith("; 40 of 45 groups; 1 unfinished run excluded")
    panels = [panel for (panel,) in group_charts.levels_chart(groups[:3]).columns]
    assert [panel.title for panel in panels] == levels_figure.titles(groups[:3])
    assert [points.y[-1] for points in panels[-1].hovered] == [0.4, 0.4, 0.4]


def test_a_share_of_one_decided_seed_is_not_drawn_as_an_estimate() -> None:
    group = level("easy")
    described = population.population_of(group)
    one = replace(described, follows=replace(described.follows, followers=1, undetermined=1))
    (panel,) = group_charts.levels_chart([replace(group, population=one)]).columns[0]
    told = [word for points in panel.hovered for word in points.words or ()]
    assert told == ["follows the law", "undetermined: 1"]


def test_groups_are_compared_under_the_words_of_the_figure(tmp_path: Path) -> None:
    made_runs.sweep(tmp_path, ("easy", "hard"), 3)
    groups = [group for group in analyse([tmp_path]).groups if group.compared]
    chart = group_charts.comparison_chart(groups)
    assert chart.heading == forest.heading(groups)
    titles = [panel.title for (panel,) in chart.columns]
    assert titles == [str(forest.title(groups, quantity)) for quantity in forest.PANELS]
    assert any("pairs differ" in title or "not comparable" in title for title in titles)


def test_reward_and_listening_share_their_axes_over_levels_as_in_the_figure() -> None:
    charts, _ = figures.charts(everything())
    (chart,) = [chart for chart in charts if chart.name == "reward_by_listening"]
    panels = [panel for (panel,) in chart.columns]
    assert len(panels) > 1
    assert len({(p.x.low, p.x.high, p.y.low, p.y.high) for p in panels}) == 1


def test_nothing_is_drawn_where_no_run_could_be_read() -> None:
    assert figures.charts(made.analysis([], [made.unread("runs/one", "empty")])) == ([], [])
