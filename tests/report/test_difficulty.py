"""Onsets beside measured difficulty: whose card counts, and what is drawn."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.law import analysis
from harness.law.io import difficulty_card
from harness.law.results import Interval
from harness.report.figures import onset_by_difficulty, registry
from harness.report.figures.canvas import use_style
from harness.report.figures.onset_by_difficulty import MEASURES, OnsetPoint

FIGURE = "onset_by_difficulty"
CARD = {
    name: {"value": value, "low": value - 0.01, "high": value + 0.01}
    for name, value in (("acceptance", 0.5), ("need_expression", 0.8))
}


def card(final: float) -> dict[str, Any]:
    emotion = {"value": final, "low": final - 2, "high": final + 2}
    return {**CARD, "population_final_emotion": emotion, "lag1": None}


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """Two levels of a sweep; H of the hard one falls for good at step 120 of 200."""
    rng = np.random.default_rng(0)
    for name, falls in (("0-easy-seed1", False), ("1-hard-seed1", True)):
        folder = tmp_path / name
        folder.mkdir()
        level = name.split("-")[1]
        (folder / "config.yaml").write_text(f"seed: 1\ndifficulty: {{name: {level}}}\n")
        (folder / "run.json").write_text(json.dumps({"schema": 1, "status": "done"}))
        h = 1.8 - 0.002 * np.arange(200) - (1.2 if falls else 0) * (np.arange(200) > 119)
        h += rng.normal(0, 0.02, 200)
        r = 0.9 - 0.1 * np.exp(h) + rng.normal(0, 0.01, 200)
        rows = [
            {"step": n + 1, "entropy": float(a), "reward": float(b)}
            for n, (a, b) in enumerate(zip(h, r, strict=True))
        ]
        (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    cards = [
        {"level": "easy", "runs": ["0-easy-seed1"], "card": card(80.0)},
        {"level": "hard", "runs": ["1-hard-seed1"], "card": card(12.0)},
    ]
    (tmp_path / "cards.json").write_text(json.dumps({"schema": 1, "cards": cards}))
    return tmp_path


def test_each_run_has_the_card_of_its_level(sweep: Path) -> None:
    found = {run.level: run.difficulty or {} for run in analysis.analyse([sweep]).runs}
    assert found["easy"]["population_final_emotion"].value == 80
    assert found["hard"]["population_final_emotion"] == Interval(12, 10, 14)
    assert set(found["hard"]) == set(difficulty_card.MEASURES)


def test_the_onset_stands_at_its_share_of_the_run_and_its_difficulty(sweep: Path) -> None:
    (sketch,) = [
        s for s in registry.select_pictures(analysis.analyse([sweep]), False) if s.figure == FIGURE
    ]
    assert sketch.name == FIGURE
    with use_style():
        rows = onset_by_difficulty.draw(sketch.numbers, sketch.name).rows
    hard = next(r for r in rows if r["level"] == "hard" and r["measure"] == "acceptance")
    assert hard["onset_share"] == pytest.approx(0.6, abs=0.05)
    assert (hard["difficulty"], hard["null_control"]) == (0.5, False)
    assert next(r for r in rows if r["level"] == "easy")["onset_share"] is None
    assert len(rows) == 3 * 2


def test_few_runs_of_a_level_stand_close_to_its_difficulty() -> None:
    marks = [
        OnsetPoint(f"{at}-{seed}", str(at), False, dict.fromkeys(MEASURES, card), 0.5, 0.4, 0.6)
        for at, card in ((20, Interval(20, 18, 22)), (80, Interval(80, 78, 82)))
        for seed in (1, 2)
    ]
    with use_style():
        axes = onset_by_difficulty.draw(marks, FIGURE).figure.axes[-1]
    low, high = axes.get_xlim()
    symbols = [line for line in axes.lines if line.get_marker() != "None"]
    points = np.concatenate([np.asarray(line.get_xdata(), float) for line in symbols])
    aside = np.minimum(abs(points - 20), abs(points - 80))
    assert len(points) == 4
    assert aside.max() <= 0.02 * (high - low)


def test_a_level_of_two_kinds_of_users_stands_at_both_difficulties() -> None:
    """As of simulator=scripted,second: the levels have one name and two cards."""
    marks = [
        OnsetPoint(f"{at}", "hard", False, dict.fromkeys(MEASURES, card), 0.5, 0.4, 0.6)
        for at, card in ((20, Interval(20, 18, 22)), (80, Interval(80, 78, 82)))
    ]
    with use_style():
        axes = onset_by_difficulty.draw(marks, FIGURE).figure.axes[-1]
    symbols = [line for line in axes.lines if line.get_marker() != "None"]
    points = [float(np.asarray(line.get_xdata(), float)[0]) for line in symbols]
    assert points == [20, 80]


def test_the_onset_of_a_run_that_is_not_over_is_a_share_of_what_is_planned(sweep: Path) -> None:
    config = sweep / "1-hard-seed1" / "config.yaml"
    config.write_text(config.read_text() + "trainer: {steps: 400}\n")
    found = analysis.analyse([sweep])
    hard = next(m for m in onset_by_difficulty.onset_points(found, found.runs) if m.level == "hard")
    assert hard.onset == pytest.approx(0.3, abs=0.03)


def test_an_explosion_stands_with_the_runs_without_an_onset(sweep: Path) -> None:
    found = analysis.analyse([sweep])
    hard = next(run for run in found.runs if run.level == "hard")
    assert hard.onset is not None
    exploded = replace(hard, onset=replace(hard.onset, kind="explosion"))
    runs = [exploded if run is hard else run for run in found.runs]
    assert onset_by_difficulty.onset_points(found, runs) == ()


def test_no_onset_anywhere_is_no_picture(sweep: Path) -> None:
    easy = (sweep / "0-easy-seed1" / "metrics.jsonl").read_text()
    (sweep / "1-hard-seed1" / "metrics.jsonl").write_text(easy)
    found = registry.select_pictures(analysis.analyse([sweep]), False)
    assert FIGURE not in [sketch.name for sketch in found]


@pytest.mark.parametrize(
    "damage",
    ["", "[]", "{", '{"cards": [{"runs": ["1-hard-seed1"]}]}', '{"cards": null}'],
)
def test_cards_that_cannot_be_read_leave_runs_without(sweep: Path, damage: str) -> None:
    (sweep / "cards.json").write_text(damage)
    found = analysis.analyse([sweep])
    assert [run.difficulty for run in found.runs] == [None, None]
    assert onset_by_difficulty.onset_points(found, found.runs) == ()


def test_one_difficulty_alone_is_no_picture(sweep: Path) -> None:
    found = analysis.analyse([sweep / "1-hard-seed1"])
    assert found.runs[0].difficulty is not None
    assert onset_by_difficulty.onset_points(found, found.runs) == ()
