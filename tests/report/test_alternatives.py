"""What a person reads of the rivals, of a forecast, and sees of what the law leaves."""

from __future__ import annotations

import csv
import dataclasses
import io
from typing import Any

import numpy as np
import pytest
from matplotlib.axes import Axes

from harness.law.group_results import Analysis
from harness.law.reasons import REASONS
from harness.law.result_parts import Forecast, Rival
from harness.law.results import AtOnset, NetOfNull, Onset
from harness.report.figures import registry, run_series
from harness.report.figures.canvas import Drawing
from harness.report.tables import csv_files
from harness.report.text import alternatives, explain
from tests.report import made
from tests.report.made_tables import printed

DELTAS = {
    "law": 0.0, "linear_in_h": 0.4, "log_1_plus_h": 7.0, "saturating": 5.0, "sigmoid": 9.0,
    "last_value": 30.0,
}  # fmt: skip


def compared(**deltas: float) -> dict[str, Any]:
    found = {name: Rival(delta - 100, delta, 0.02) for name, delta in {**DELTAS, **deltas}.items()}
    linear = found["linear_in_h"].delta_aicc
    word = "not_distinguishable" if abs(linear) < 6 else "law_better"
    return {"rivals": found, "against_linear": word if linear > -6 else "linear_better"}


PREDICTED = Forecast(
    value=0.82, low=0.70, high=0.90, from_step=217.3, identified=True,
    last_value=0.70, truth=0.80, error=0.02, last_value_error=-0.10, why=None,
)  # fmt: skip


def predicted(**other: Any) -> Forecast:
    return dataclasses.replace(PREDICTED, **other)


NONE_YET = {
    "value": None,
    "low": None,
    "high": None,
    "error": None,
    "identified": False,
    "why": "no_fit",
}


def one(**more: Any) -> Analysis:
    return made.analysis([made.fitted("runs/0-easy-seed1", **more)])


def test_the_default_sentence_is_printed_for_every_level() -> None:
    assert "no onset; not distinguishable from linear in H.\n" in printed(one(**compared()))
    better = printed(one(**compared(linear_in_h=7.0)))
    assert "no onset; law fits better than linear in H.\n" in better
    worse = printed(one(**compared(linear_in_h=-7.0)))
    assert "no onset; linear in H fits better than the law.\n" in worse


def test_a_curve_of_the_wrong_sign_is_not_called_the_law() -> None:
    wrong = {"verdict": "fails", "reasons": ["wrong_sign"], **compared(linear_in_h=7.0)}
    text = printed(one(**wrong), explain=True)
    assert "no onset; exp(H) with the wrong sign fits better than linear in H.\n" in text
    assert "law fits better than" not in text.lower()


def test_over_runs_the_sentence_counts_them() -> None:
    runs = [
        made.fitted(f"runs/{i}", seed=i, **compared(linear_in_h=delta))
        for i, delta in enumerate((0.0, 5.9, 6.0))
    ]
    assert (
        "; law fits better than linear in H in 1, not distinguishable from linear in H in 2.\n"
        in printed(made.analysis(runs))
    )


def test_a_run_that_was_not_compared_says_nothing_of_rivals() -> None:
    assert "linear in H" not in printed(one(), explain=True)


def test_explain_gives_every_rival_and_what_follows() -> None:
    text = printed(one(**compared(sigmoid=-7.0)), explain=True)
    assert (
        "Rival curves, AICc minus the law's (a difference under 6 shows nothing) / error over the "
        "last third (law 0.020): linear in H +0.4 / 0.020, log(1 + H) +7.0 / 0.020, saturating in "
        "step +5.0 / 0.020, sigmoid in step -7.0 / 0.020, last value +30.0 / 0.020. Not "
        "distinguishable from linear in H; sigmoid in step fits better than the law.\n" in text
    )


def test_explain_says_under_which_condition_it_forecasts_and_what_came() -> None:
    text = printed(one(forecast=predicted()), explain=True)
    assert (
        "Forecast from step 217, if the law continues: R over the last 5% of steps is 0.82 "
        "[0.70, 0.90]; the interval allows for a spent H, or one that rises again; the actual R "
        "was 0.80 (error 0.02; error of the last value 0.10).\n" in text
    )
    bare = predicted(low=None, high=None, why="entropy_unpredictable")
    text = printed(one(forecast=bare), explain=True)
    assert "0.82 (no interval: H has moved so much that it may end anywhere); the actual R" in text
    assert "0 of 0 intervals" not in printed(one(forecast=bare))
    none = printed(one(forecast=predicted(**NONE_YET)), explain=True)
    assert "Forecast from step 217: none, since a is not identified by that step.\n" in none


def test_forecasts_follow_the_table_with_their_errors_summed_up() -> None:
    runs = [
        made.fitted("runs/0", seed=0, forecast=predicted()),
        made.fitted("runs/1", seed=1, forecast=predicted(error=0.2, truth=0.62)),
        made.fitted("runs/2", seed=2, forecast=predicted(**NONE_YET)),
    ]
    text = printed(made.analysis(runs))
    assert (
        "Forecasts of 2 runs, if the law continues: median error 0.11, that of the last value "
        "0.10; 1 of 2 intervals contain the actual R; no forecast for 1, since a is not "
        "identified.\n  0: 0.82 [0.70, 0.90] from step 217; the actual R was 0.80 (error 0.02; "
        "error of the last value 0.10)\n" in text
    )
    assert "Forecast" not in printed(one())


def test_where_nothing_can_be_forecast_it_says_so_once() -> None:
    text = printed(one(forecast=predicted(**NONE_YET)))
    assert "No forecast for 1 run: a is not identified from the first part.\n" in text


def test_beyond_24_runs_forecasts_are_summed_up_only() -> None:
    runs = [made.fitted(f"runs/{i}", seed=i, forecast=predicted()) for i in range(25)]
    analysis = made.analysis(runs)
    called = {run.run: run.run for run in analysis.runs}
    (said,) = alternatives.forecasts(analysis, called)
    assert said.startswith("Forecasts of 25 runs, if the law continues: median error 0.02")


def test_a_run_with_all_there_is_to_say_is_explained_in_fifteen_lines() -> None:
    run, _ = made.fitted(
        "runs/0", onset=Onset("terminal_fall", 40, 35, 45), reasons=list(REASONS),
        forecast=predicted(), noise_driven=True, null_share=made.around(0.8, 0.1),
        net_of_null=NetOfNull(None, None), at_onset=AtOnset(None, {}),
        silent_share=made.around(0.7, 0.1), **compared(),
    )  # fmt: skip
    assert len(explain.explain_run(run)) <= 15


def drawn(analysis: Analysis, name: str) -> Drawing:
    (found,) = [d for d in registry.draw(analysis, every_run=False) if d.name == name]
    return found


def curves(axes: Axes, points: int) -> list[np.ndarray]:
    shapes = (np.asarray(line.get_xydata()) for line in axes.lines)
    return [xy for xy in shapes if len(xy) == points]


def test_the_line_in_h_is_drawn_beside_the_law_over_the_data_alone() -> None:
    analysis = one(**compared())
    law = drawn(analysis, "entropy_law")
    (series,) = analysis.series.values()
    rows = [row for row in law.rows if row["kind"] == "linear_in_h"]
    assert [row["entropy"] for row in rows] == pytest.approx([0.1, 1.0])
    slope = (rows[1]["reward"] - rows[0]["reward"]) / 0.9
    assert slope == pytest.approx(np.polyfit(series.entropy, series.reward, 1)[0], rel=0.05)
    legend = [t.get_text() for box in law.figure.legends for t in box.get_texts()]
    assert "rival: linear in H" in legend
    assert "linear_in_h" not in {row["kind"] for row in drawn(one(), "entropy_law").rows}


def test_residuals_are_what_the_law_leaves_of_each_point() -> None:
    analysis = one()
    (series,), (run,) = analysis.series.values(), analysis.runs
    residuals = drawn(analysis, "residuals")
    truth = 0.01 * np.sin(np.arange(60))
    assert [row["residual"] for row in residuals.rows] == pytest.approx(truth)
    assert run_series.residual(series, run) == pytest.approx(truth)
    top, bottom = residuals.figure.axes
    for axes, at in ((top, series.steps), (bottom, series.entropy)):
        (shown,) = curves(axes, 60)
        assert shown == pytest.approx(np.stack([at, truth], axis=1))
    assert top.get_title(loc="left") == "easy: R deviates from the law by 0.007 (rms)"
    assert (top.get_xlabel(), bottom.get_xlabel()) == ("step", "policy entropy H (nats per act)")


def test_a_level_without_a_fit_says_so_instead_of_residuals() -> None:
    unfit, series = made.fitted("r/2", level="hard", verdict="undetermined")
    unfit = dataclasses.replace(unfit, a=None, b=None, ceiling=None)
    runs = [made.fitted("r/1"), (unfit, series)]
    residuals = drawn(made.analysis(runs), "residuals")
    titles = [axes.get_title(loc="left") for axes in residuals.figure.axes]
    assert "hard: no law fitted" in titles
    assert {row["level"] for row in residuals.rows} == {"easy"}


def test_above_24_runs_residuals_are_medians_with_their_spread() -> None:
    runs = [made.fitted(f"r/{seed}", seed=seed) for seed in range(25)]
    residuals = drawn(made.analysis(runs), "residuals")
    assert "medians over runs" in residuals.figure.get_suptitle()
    title = residuals.figure.axes[0].get_title(loc="left")
    assert title == "easy: the median over runs deviates from the law by 0.007 (rms)"
    assert {row["against"] for row in residuals.rows} == {"step", "entropy"}
    for row in residuals.rows:
        assert row["runs"] == 25
        assert row["low"] <= row["residual"] <= row["high"]
        assert abs(row["residual"]) <= 0.011


def test_law_csv_has_the_forecast_and_the_word_on_linear_in_h() -> None:
    text = csv_files.law_csv(one(forecast=predicted(), **compared()))
    (row,) = csv.DictReader(io.StringIO(text))
    told = {
        "against_linear": "not_distinguishable", "forecast": "0.82", "forecast_low": "0.7",
        "forecast_high": "0.9", "forecast_identified": "true", "forecast_truth": "0.8",
        "forecast_last_value": "0.7",
    }  # fmt: skip
    assert {name: row[name] for name in told} == told
    (bare,) = csv.DictReader(io.StringIO(csv_files.law_csv(one())))
    assert {bare[name] for name in told} == {""}
