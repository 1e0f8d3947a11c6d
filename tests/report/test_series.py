"""The numbers behind a figure: bins, the band, order and colour of runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.law.group_results import SeedMean
from harness.law.results import Floats, Identifiability, Onset, RunResult, RunSeries
from harness.report.figures import group_series, registry, run_series
from tests.present import present
from tests.report import made


@given(st.integers(1, 1000))
def test_bins_are_at_most_100_and_keep_order_and_range(n: int) -> None:
    _, series = made.fitted("r", n=n)
    points = run_series.binned(series)
    assert len(points.steps) == min(n, 100)
    assert (np.diff(points.steps) > 0).all()
    assert series.reward.min() <= points.reward.min() <= points.reward.max() <= series.reward.max()


@given(
    st.floats(0.001, 1), st.floats(0.001, 1), st.floats(-0.99, 0.99), st.floats(1.9, 4.0),
    st.floats(1.0, 5.0),
)  # fmt: skip
def test_the_band_is_exact_where_the_intervals_share_a_covariance(
    sd_a: float, sd_b: float, correlation: float, t: float, x: float
) -> None:
    covariance = correlation * sd_a * sd_b
    sd_c = np.sqrt(sd_a**2 + sd_b**2 - 2 * covariance)
    a, b, ceiling = [made.around(0.0, t * sd) for sd in (sd_a, sd_b, float(sd_c))]
    half = run_series.band(a, b, ceiling, np.array([x]), 0.0)
    truth = t * np.sqrt(sd_b**2 + x**2 * sd_a**2 - 2 * x * covariance)
    assert half == pytest.approx([truth], rel=1e-6, abs=1e-6)


def test_the_band_never_falls_below_what_the_points_allow() -> None:
    a, b, ceiling = [made.around(0.0, w) for w in (0.1, 0.3, 0.1)]
    assert run_series.band(a, b, ceiling, np.array([2.0]), 0.02) == pytest.approx([0.02])


def test_a_curve_meets_the_ceiling_and_its_interval_at_no_entropy() -> None:
    run, series = made.fitted("r")
    curve = run_series.curve(series, run)
    assert curve is not None
    assert run.ceiling is not None
    assert curve.entropy[0] == 0
    ends = (curve.reward[0], curve.low[0], curve.high[0])
    assert ends == pytest.approx((run.ceiling.value, run.ceiling.low, run.ceiling.high))
    assert curve.entropy[-1] == pytest.approx(series.entropy.max())


def test_a_run_without_a_fit_has_points_and_no_curve() -> None:
    run, series = made.fitted("r", a=0.3, b=None)
    assert run_series.curve(series, run) is None


def test_levels_come_in_order_and_null_controls_after_them() -> None:
    names = ["hard", "zeal", "easy, null control", "medium", "easy", "hard, null control"]
    runs = [made.fitted(f"r/{i}", level=level) for i, level in enumerate(names)]
    analysis = made.analysis(runs)
    found = [panel.level for panel in run_series.panels(analysis, analysis.runs)]
    assert found == ["easy", "medium", "hard", "easy, null control", "hard, null control", "zeal"]


def test_a_seed_has_one_colour_in_all_panels() -> None:
    analysis = made.ladder()
    panels = run_series.panels(analysis, analysis.runs)
    for panel in panels:
        assert [(t.legend, t.slot) for t in panel.traces] == [
            ("seed 1", 0), ("seed 2", 1), ("seed 3", 2)
        ]  # fmt: skip


def test_runs_that_seeds_do_not_tell_apart_go_by_their_folders() -> None:
    runs = [made.fitted("sweep/0-lr1"), made.fitted("sweep/1-lr2"), made.fitted("other/0-lr1")]
    analysis = made.analysis(runs)
    (panel,) = run_series.panels(analysis, analysis.runs)
    assert [t.legend for t in panel.traces] == ["other/0-lr1", "sweep/0-lr1", "sweep/1-lr2"]


def test_pools_take_medians_over_the_runs_of_a_group() -> None:
    runs = [made.fitted(f"r/{seed}", seed=seed, ceiling=0.5 + 0.1 * seed) for seed in range(5)]
    analysis = made.analysis(runs)
    (panel,) = group_series.panels(analysis, analysis.runs)
    (pool,) = panel.pools
    assert (pool.legend, pool.identified, pool.identified_ceilings) == ("all runs", 5, 5)
    assert pool.ceiling is not None
    assert pool.ceiling.value == pytest.approx(0.7)
    middle = runs[2][1]
    assert on_steps(pool, middle.steps) == pytest.approx(middle.reward, abs=0.03)


def test_the_median_law_ends_at_the_lowest_h_of_runs_without_an_identified_ceiling() -> None:
    runs = [made.fitted(f"r/{seed}", seed=seed) for seed in range(3)]
    lowest = min(float(series.entropy.min()) for _, series in runs)
    unknown = [
        (replace(run, identified=Identifiability(a=True, ceiling=False)), series)
        for run, series in runs
    ]
    for members, start in ((runs, 0.0), (unknown, lowest)):
        analysis = made.analysis(members)
        (panel,) = group_series.panels(analysis, analysis.runs)
        curve = present(panel.pools[0].curve)
        assert curve.at[0] == pytest.approx(start)


def on_steps(pool: group_series.GroupTrace, steps: Floats) -> Floats:
    return np.interp(steps, pool.reward.at, pool.reward.median)


def test_groups_of_one_level_are_pooled_apart_and_named_by_what_differs() -> None:
    runs = [made.fitted(f"r/{i}", seed=i) for i in range(6)]
    groups = [
        made.group({"difficulty": "easy", "rate": rate}, paths, SeedMean(None, None, None, 0, 3))
        for rate, paths in ((0.1, ["r/0", "r/1", "r/2"]), (0.2, ["r/3", "r/4", "r/5"]))
    ]
    analysis = made.analysis(runs, groups=groups)
    (panel,) = group_series.panels(analysis, analysis.runs)
    assert [(p.legend, len(p.runs)) for p in panel.pools] == [("rate=0.1", 3), ("rate=0.2", 3)]


def offset(run: str, by: float, times: float = 1.0) -> tuple[RunResult, RunSeries]:
    """A run that counts its steps from elsewhere, or in larger units."""
    onset = Onset("terminal_fall", 31 * times + by, 25 * times + by, 37 * times + by)
    result, series = made.fitted(run, seed=int(run), onset=onset, n=61)
    steps = series.steps * times + by
    return result, replace(series, steps=steps, course_steps=steps)


def test_one_log_that_counts_from_a_million_flattens_no_other() -> None:
    alike = [offset(str(seed), 0) for seed in range(1, 30)]
    analysis = made.analysis([*alike, offset("30", 1e6)])
    law, curves, residuals = registry.draw(analysis, every_run=False)
    top, bottom = curves.figure.axes
    assert bottom.get_xlabel() == "share of each run's own steps"
    assert top.get_xlim() == pytest.approx((0, 1), abs=0.05)
    assert residuals.figure.axes[0].get_xlabel() == "share of each run's own steps"
    at = [r["share"] for r in curves.rows if r["quantity"] == "entropy"]
    assert len(at) == 60
    assert {r["share"] for r in curves.rows if r["quantity"] == "onset"} == {0.5}
    assert "step" not in law.columns
    assert {r["against"] for r in residuals.rows} == {"share", "entropy"}
    medians = [r["value"] for r in curves.rows if r["quantity"] == "entropy"]
    assert medians == pytest.approx(1 - 0.9 * np.array(at), abs=0.02)


@pytest.mark.parametrize(
    ("runs", "unit"),
    [
        ([offset("1", 0), offset("2", 0)], "step"),
        ([offset("1", 0), offset("2", 20)], "step"),
        ([offset("1", 0), offset("2", 0, times=1000)], "share"),
        ([offset("1", 0), offset("2", 0, times=1000), offset("3", 0, times=1000)], "step"),
        ([offset("1", 0), offset("2", 1e6), offset("3", 2e6)], "share"),
    ],
)
def test_the_axis_is_steps_while_the_typical_run_can_be_read_on_it(
    runs: list[tuple[RunResult, RunSeries]], unit: str
) -> None:
    assert run_series.common_time_axis(series for _, series in runs).unit == unit


def test_a_level_says_its_onset_in_steps_whatever_the_axis() -> None:
    analysis = made.analysis([offset("1", 0), offset("2", 1e6)])
    curves = next(d for d in registry.draw(analysis, every_run=False) if "curves" in d.name)
    assert curves.figure.axes[0].get_title(loc="left").replace("\n", " ") == (
        "easy: collapse from step 31 and 1000031 in both runs"
    )
    assert [r["share"] for r in curves.rows if r["kind"] == "terminal_fall"] == [0.5, 0.5]
