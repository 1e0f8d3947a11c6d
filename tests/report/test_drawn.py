"""What stands in a figure, and what is only said: estimates, ceilings, controls, held-out users."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes

from harness.law.group_results import Analysis, SeedMean
from harness.law.results import Interval
from harness.report.figures import canvas, seed_rows
from harness.report.figures import population as levels
from harness.report.figures.canvas import Drawing
from tests.report import made
from tests.report.made_figure_kinds import COLLAPSE, everything
from tests.report.made_figures import drawn, legend
from tests.report.made_tables import forest, study
from tests.report.marks import arrows

NULL = {"policy": {"kind": "tabular"}, "algorithm": {"null_control": True}}


def diamonds(axes: Axes) -> list[float]:
    """Heights at which an estimate stands."""
    marks = [line for line in axes.lines if line.get_marker() == "D"]
    return [float(np.asarray(mark.get_ydata())[0]) for mark in marks]


def of_levels(seeds: int) -> Drawing:
    paths = [f"r/{seed}" for seed in range(seeds)]
    group = made.group({"difficulty": "easy"}, paths, SeedMean(0.8, 0.7, 0.9, seeds, 0))
    told = made.population(paths)
    follows = replace(told.follows, followers=seeds, others=0, undetermined=0)
    group = replace(group, population=replace(told, follows=follows))
    with canvas.use_style():
        return levels.draw([group], "levels")


def test_one_seed_has_no_mean() -> None:
    for axes in of_levels(1).figure.axes[:3]:
        assert diamonds(axes) == []
    follows, ceiling, _, _ = of_levels(2).figure.axes
    assert len(diamonds(follows)) == len(diamonds(ceiling)) == 1


def test_one_seed_has_no_mean_in_the_forest() -> None:
    analysis = study()
    first = analysis.groups[0]
    assert first.compared is not None
    alone = replace(first.compared, seeds=first.compared.seeds[:1])
    drawing = forest(replace(analysis, groups=(replace(first, compared=alone), analysis.groups[1])))
    a = drawing.figure.axes[0]
    assert [round(height) for height in diamonds(a)] == [1]  # of the second row alone


def ceiling_far_off(identified: bool) -> Drawing:
    run, series = made.fitted("r", identified=identified)
    far = replace(run, ceiling=Interval(30.0, 29.0, 31.0))
    return drawn(made.analysis([(far, series)]))["entropy_law"]


def test_a_ceiling_off_the_scale_is_an_arrow_and_does_not_stretch_it() -> None:
    for identified in (True, False):
        drawing = ceiling_far_off(identified)
        (axes,) = drawing.figure.axes
        low, high = axes.get_ylim()
        assert high - low < 2
        assert diamonds(axes) == []
        assert list(arrows(axes)) == ["^"]
        assert arrows(axes)["^"][1] == high
        assert "ceiling or interval off the scale" in legend(drawing)
        rows = [row for row in drawing.rows if row["kind"] == "ceiling"]
        assert [row["reward"] for row in rows] == [30.0]  # the CSV has it


def test_ceilings_on_the_scale_have_no_arrow() -> None:
    drawing = drawn(made.ladder(levels=1, seeds=1))["entropy_law"]
    assert "ceiling or interval off the scale" not in legend(drawing)


def with_null_controls() -> Analysis:
    treated = [made.fitted(f"r/{seed}", seed=seed, onset=COLLAPSE) for seed in (1, 2)]
    controls = []
    for seed in (1, 2, 3):
        result, series = made.fitted(f"n/{seed}", seed=seed, config=NULL)
        controls.append((result, replace(series, level="easy, null control")))
    return made.analysis([*treated, *controls])


def test_null_controls_stand_behind_the_runs_of_their_level() -> None:
    drawing = drawn(with_null_controls())["entropy_curves"]
    assert [axes.get_title(loc="left")[:18] for axes in drawing.figure.axes[:2]] == [
        "easy: collapse fro", "easy, null control"
    ]  # fmt: skip
    top, control = drawing.figure.axes[:2]
    behind = [line for line in top.lines if line.get_color() == canvas.GREY]
    assert len(behind) == 1
    assert not [line for line in control.lines if line.get_color() == canvas.GREY]
    assert "null control of the level: median of 3" in legend(drawing)
    rows = [row for row in drawing.rows if row["kind"] == "null_control"]
    assert {row["level"] for row in rows} == {"easy"}


def test_without_null_controls_nothing_stands_behind_the_runs() -> None:
    analysis = with_null_controls()
    runs = tuple(run for run in analysis.runs if not run.run.startswith("n/"))
    entries = legend(drawn(replace(analysis, runs=runs))["entropy_curves"])
    assert not any(entry.startswith("null control") for entry in entries)


def test_held_out_users_are_drawn_beside_the_batch() -> None:
    result, series = made.fitted("r")
    steps, reward = np.array([1.0, 30.0, 60.0]), np.array([0.1, 0.2, 0.3])
    both = replace(series, held_out_steps=steps, held_out_reward=reward)
    batch = replace(result, same_batch=True)
    drawing = drawn(made.analysis([(batch, both)]))["entropy_curves"]
    bottom = drawing.figure.axes[1]
    assert bottom.get_ylabel() == "empathy reward R"  # the legend tells the two apart
    assert [len(np.asarray(line.get_xdata())) for line in bottom.lines] == [60, 3]
    assert {"R on held-out users", "R of the same batch"} <= set(legend(drawing))
    told = [row["reward"] for row in drawing.rows if row["kind"] == "held_out_reward"]
    assert told == reward.tolist()


def test_an_open_interval_ends_in_an_arrow_at_the_last_step() -> None:
    with canvas.use_style():
        (axes,) = canvas.grid("", ["onset"], 1, 2.0).panels[0]
    axes.set_xlim(0, 103)
    seed_rows.estimate(axes, 0, 2, (60.0, 40.0, None), open_end=100.0)
    ends = {str(line.get_marker()): np.asarray(line.get_xdata()).tolist() for line in axes.lines}
    assert ends["D"] == [60.0]
    assert ends["None"] == [40.0, 100.0]
    assert [x for x, _ in arrows(axes).values()] == [100.0]
    assert list(arrows(axes)) == [">"]


def test_an_interval_that_runs_off_its_axis_ends_in_an_arrow_and_is_in_the_legend() -> None:
    analysis = study()
    first = analysis.groups[0]
    assert first.compared is not None
    compared = replace(first.compared, a=replace(first.compared.a, low=-90.0, high=90.0))
    drawing = forest(replace(analysis, groups=(replace(first, compared=compared),)))
    a, *others = drawing.figure.axes
    assert {head: x for head, (x, _) in arrows(a).items()} == dict(
        zip("<>", a.get_xlim(), strict=True)
    )
    assert "the interval continues beyond the axis" in legend(drawing)
    assert arrows(others[-1]) == {}  # the onset is a share of the run


def test_seeds_of_nearly_equal_value_stand_at_unlike_heights() -> None:
    values = [0.50, 0.20, 0.51, 0.505, 0.80, 0.50]
    offsets = seed_rows.swarm(values, 0.03)
    assert offsets[1] == offsets[4] == 0.0  # nothing is near
    near = [offsets[at] for at in (0, 2, 3, 5)]
    assert len(set(near)) == 4
    assert max(map(abs, near)) <= seed_rows.SPREAD
    assert len(set(seed_rows.swarm([1.0] * 40, 0.03).tolist())) == 40
    assert seed_rows.swarm([], 0.03).tolist() == []


def test_reward_and_listening_share_their_axes_over_levels() -> None:
    axes = drawn(everything())["reward_by_listening"].figure.axes
    assert len({one.get_ylim() for one in axes}) == len({one.get_xlim() for one in axes}) == 1
