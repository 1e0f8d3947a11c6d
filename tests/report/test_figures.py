"""What the figures hold: series, labels, findings; and that a reader can read them."""

from __future__ import annotations

import functools
import io
import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.axes import Axes

from harness.law.group_results import SeedMean
from harness.law.results import Onset
from harness.report.figures import canvas, law_groups, series_pages
from harness.report.figures.canvas import Drawing
from harness.report.figures.figure_specs import AxisNames
from harness.testing.payloads import PAYLOADS
from harness.utils.safe_text import escape
from tests.report import made
from tests.report.made_figures import drawn, legend, texts, titles


@functools.cache
def of_ladder(levels: int = 3, seeds: int = 3) -> dict[str, Drawing]:
    """The drawings of a ladder, for tests that only look at them."""
    return drawn(made.ladder(levels, seeds))


LONG = [f"{payload}/x" for payload in PAYLOADS[:4]]


def styles(axes: Axes) -> list[str]:
    """Line styles of curves, as opposed to points and single marks."""
    curves = [line for line in axes.lines if len(np.asarray(line.get_xydata())) > 100]
    return [str(line.get_linestyle()) for line in curves]


def test_the_law_figure_states_each_levels_finding() -> None:
    law = of_ladder(seeds=1)["entropy_law"]
    assert titles(law) == [
        "easy: ceiling 0.80 [0.79, 0.81], law holds",
        "medium: ceiling 0.80 [0.79, 0.81], law holds until the onset",
        "hard: ceiling not identified, law undetermined",
    ]


def test_a_finding_over_seeds_gives_the_pooled_ceiling_and_how_many_are_identified() -> None:
    analysis = made.ladder(levels=1)
    pooled = made.group({}, [r.run for r in analysis.runs], SeedMean(0.81, 0.78, 0.84, 3, 0))
    analysis = made.analysis([(r, analysis.series[r.run]) for r in analysis.runs], groups=[pooled])
    (title,) = titles(drawn(analysis)["entropy_law"])
    assert title == "easy: ceiling 0.81 [0.78, 0.84], law holds in all 3 runs"


def test_identified_laws_are_solid_and_others_dashed_and_said_so() -> None:
    law = of_ladder()["entropy_law"]
    easy, _, hard = law.figure.axes
    assert styles(easy) == ["-"] * 3
    assert styles(hard) == ["--"] * 3
    assert "law whose a is not identified" in legend(law)
    assert {t for t in legend(law) if t.startswith("seed")} == {"seed 1", "seed 2", "seed 3"}


def test_points_curve_and_ceiling_are_those_of_the_run() -> None:
    analysis = made.ladder(levels=1, seeds=1)
    (series,) = analysis.series.values()
    (axes,) = of_ladder(levels=1, seeds=1)["entropy_law"].figure.axes
    points = np.asarray(axes.lines[0].get_xydata())
    assert points == pytest.approx(np.stack([series.entropy, series.reward], axis=1))
    (ceiling,) = [line for line in axes.lines if line.get_marker() == "D"]
    assert float(np.asarray(ceiling.get_ydata())[0]) == pytest.approx(0.8)
    assert float(np.asarray(ceiling.get_xdata())[0]) < 0


def test_an_onset_is_marked_in_both_rows_and_its_absence_is_stated() -> None:
    curves = of_ladder(seeds=1)["entropy_curves"]
    assert titles(curves) == [
        "easy: no onset", "medium: collapse from step 40 [35, 45]", "hard: no onset"
    ]  # fmt: skip
    marks = [
        [np.asarray(line.get_xdata()).tolist() for line in axes.lines[1:]]
        for axes in curves.figure.axes
    ]
    assert marks == [[], [[40, 40]], [], [], [[40, 40]], []]


def test_several_onsets_are_counted_and_those_without_too() -> None:
    onsets = [Onset("terminal_fall", 40, 35, 45), Onset("terminal_fall", 50, 45, 55), None]
    runs = [made.fitted(f"r/{i}", seed=i, onset=onset) for i, onset in enumerate(onsets)]
    (title,) = titles(drawn(made.analysis(runs))["entropy_curves"])
    assert title == "easy: collapse from step 40 and 50 in 2, no onset in 1"


def test_axes_are_shared_and_labelled_with_units() -> None:
    found = of_ladder()
    for drawing in found.values():
        rows = [drawing.figure.axes] if drawing.name == "entropy_law" else [
            drawing.figure.axes[:3], drawing.figure.axes[3:]
        ]  # fmt: skip
        for row in rows:
            assert len({axes.get_xlim() for axes in row}) == len({a.get_ylim() for a in row}) == 1
    law = found["entropy_law"].figure.axes[0]
    assert law.get_xlabel() == "policy entropy H (nats per act)"
    assert law.get_ylabel() == "empathy reward R (reward)"


def test_an_axis_of_steps_has_whole_ticks() -> None:
    found = drawn(made.analysis([made.fitted(f"r{seed}", n=20, seed=seed) for seed in range(3)]))
    for panel in (found["entropy_curves"].figure.axes[-1], found["residuals"].figure.axes[0]):
        assert panel.get_xlabel() == "step"
        assert all(tick == round(tick) for tick in panel.get_xticks())


def test_the_reward_of_another_program_is_no_empathy_reward() -> None:
    fitted, series = made.fitted("r/0", seed=1)
    runs = [(replace(fitted, config=None, reward="critic/score/mean"), series)]
    law = drawn(made.analysis(runs))["entropy_law"].figure.axes[0]
    assert law.get_ylabel() == "reward R (critic/score/mean)"


@pytest.mark.parametrize(
    ("kinds", "unit"),
    [(["tiny"], "nats per token"), (["tiny", "tabular"], "nats"), ([None], "nats")],
)
def test_the_unit_of_entropy_is_that_of_the_policy(kinds: Sequence[str], unit: str) -> None:
    runs = [
        made.fitted(f"r/{i}", seed=i, config={"policy": {"kind": kind}})
        for i, kind in enumerate(kinds)
    ]
    axes = drawn(made.analysis(runs))["entropy_law"].figure.axes[0]
    assert axes.get_xlabel() == f"policy entropy H ({unit})"


def test_data_far_from_no_entropy_are_not_squeezed_to_show_it() -> None:
    run, series = made.fitted("r")
    far = replace(series, entropy=series.entropy / 2 + 3)
    low, high = drawn(made.analysis([(run, far)]))["entropy_law"].figure.axes[0].get_xlim()
    assert low > 2.8
    assert np.ptp(far.entropy) > 0.8 * (high - low)


@pytest.mark.slow
def test_more_than_24_runs_give_medians_and_every_run_on_request() -> None:
    medians = of_ladder(seeds=11)
    assert set(medians) == {"entropy_law", "entropy_curves", "residuals"}
    assert all("medians over runs" in d.figure.get_suptitle() for d in medians.values())
    law = medians["entropy_law"].figure.axes
    assert [len(styles(axes)) for axes in law] == [1, 1, 0]
    every = drawn(made.ladder(seeds=11), every_run=True)
    assert [name for name in every if name.startswith("entropy_law")] == [
        "entropy_law", "entropy_law_1", "entropy_law_2"
    ]  # fmt: skip
    assert [len(styles(axes)) for axes in every["entropy_law_1"].figure.axes] == [11, 11]
    assert [len(styles(axes)) for axes in every["entropy_law_2"].figure.axes] == [11]


@pytest.mark.slow
def test_a_band_is_in_the_legend_of_the_law_only_where_one_is_drawn() -> None:
    """One identified law of many runs has no band around it."""
    assert series_pages.BAND in legend(of_ladder(seeds=11)["entropy_law"])
    (page,) = series_pages.pages(made.ladder(seeds=11), every_run=False)
    alone = [
        replace(panel, pools=tuple(replace(pool, identified=1) for pool in panel.pools))
        for panel in page.pools
    ]
    entries = legend(law_groups.draw(alone, "law", AxisNames("H", "R", "step", None)))
    assert series_pages.BAND not in entries
    assert "median of the identified laws" in entries


@pytest.mark.slow
def test_24_runs_are_drawn_one_by_one() -> None:
    assert len(styles(drawn(made.ladder(seeds=8))["entropy_law"].figure.axes[0])) == 8


def test_nothing_readable_still_gives_a_picture_that_says_so() -> None:
    failed = [made.unread("runs/a", "runs/a/metrics.jsonl: is empty"), made.unread("b", "b: no")]
    for drawing in drawn(made.analysis([], failed)).values():
        (title,) = titles(drawing)
        assert title.startswith("Nothing to draw: of 2 runs, none could be read. The first: runs/a")
        assert [row["run"] for row in drawing.rows] == ["runs/a", "b"]


@pytest.mark.parametrize(
    "found",
    [
        lambda: of_ladder(levels=1, seeds=1),
        of_ladder,
        pytest.param(lambda: of_ladder(seeds=11), marks=pytest.mark.slow),
        pytest.param(
            lambda: drawn(made.analysis([made.fitted(p, level=p, seed=None) for p in LONG])),
            marks=pytest.mark.slow,
        ),
    ],
    ids=["one run", "three by three", "thirty-three", "long names"],
)
def test_no_text_lies_on_another_or_outside(found: Callable[[], dict[str, Drawing]]) -> None:
    for drawing in found().values():
        drawing.figure.canvas.draw()
        boxes = [(t.get_text(), t.get_window_extent()) for t in texts(drawing.figure)]
        width, height = drawing.figure.canvas.get_width_height()
        for (one, box), (other, second) in itertools.combinations(boxes, 2):
            clash = box.padded(-1).overlaps(second.padded(-1))
            assert not clash, f"{drawing.name}: {one!r} lies on {other!r}"
        for words, box in boxes:
            inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1
            assert inside, f"{drawing.name}: {words!r} is cut"


@pytest.mark.slow
def test_hostile_names_are_drawn_as_they_stand() -> None:
    level = "".join(PAYLOADS[9:20])
    runs = [made.fitted(p, level=level, seed=None) for p in PAYLOADS]
    drawings = drawn(made.analysis(runs))
    for drawing in drawings.values():
        found = texts(drawing.figure)
        assert not any(text.get_parse_math() for text in found)
        assert all(escape(line) == line for t in found for line in t.get_text().split("\n"))
    svg = canvas.image(drawings["entropy_law"].figure, "svg").decode()
    assert all(escape(line) == line for line in svg.splitlines())


def test_a_users_own_plot_settings_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    import matplotlib as mpl

    one = made.ladder(levels=1, seeds=1)
    plain = canvas.image(drawn(one)["entropy_law"].figure, "svg")
    with mpl.rc_context({"font.size": 30, "svg.fonttype": "none", "axes.grid": False}):
        assert canvas.image(drawn(one)["entropy_law"].figure, "svg") == plain
        assert mpl.rcParams["font.size"] == 30


def test_a_figure_is_laid_out_once_for_all_its_images() -> None:
    figure = drawn(made.ladder(levels=1, seeds=1))["entropy_law"].figure
    canvas.image(figure, "png")
    places = [axes.get_position().bounds for axes in figure.axes]
    canvas.image(figure, "svg")
    assert [axes.get_position().bounds for axes in figure.axes] == places


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["png", "svg"])
def test_a_picture_has_the_bytes_of_savefig_without_drawing_it_twice(kind: str) -> None:
    one, file = made.ladder(levels=2, seeds=1), io.BytesIO()
    metadata = {"png": {"Software": None}, "svg": {"Date": None, "Creator": None}}[kind]
    with canvas.use_style():
        figure = drawn(one)["entropy_law"].figure
        figure.savefig(file, format=kind, dpi=canvas.DOTS_PER_INCH, metadata=metadata)
    assert canvas.image(drawn(one)["entropy_law"].figure, kind) == file.getvalue()


def test_runs_of_one_long_name_are_told_apart_in_the_legend() -> None:
    """They differ in the middle, which shortening leaves out."""
    names = [f"grpo_gsm8k_qwen2.5_0.5b_instruct_lr{i}e-6_kl_metrics_console_log" for i in range(9)]
    analysis = made.analysis([made.fitted(f"runs/{name}", seed=None) for name in names])
    for name in ("entropy_curves", "entropy_law", "residuals"):
        entries = legend(drawn(analysis)[name])
        for number in range(9):
            assert sum(f"lr{number}e-6" in entry for entry in entries) == 1


@given(st.lists(st.text(min_size=1, max_size=80), min_size=1, max_size=8, unique=True))
def test_no_two_names_have_one_label(names: list[str]) -> None:
    assert len(set(canvas.labels(names).values())) == len(names)


def test_labels_are_as_they_were_where_they_differ() -> None:
    names = ["seed 1", "0-easy-seed1", "x" * 50]
    assert canvas.labels(names) == {name: canvas.label(name) for name in names}
