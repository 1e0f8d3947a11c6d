"""What a calibration looks like: its table, its findings and its picture."""

import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.compose import planner
from harness.config.run import LEVELS
from harness.execution import difficulty_cards
from harness.report import write
from harness.report.figures import levels
from harness.report.tables import levels as table_levels


@pytest.fixture(scope="module")
def calibration() -> dict[str, Any]:
    """The shipped cards, as calibration.json holds them."""
    points = planner.plan([f"difficulty={','.join(LEVELS)}"]).points
    names = [difficulty_cards.file_name(difficulty_cards.key(p.config)) for p in points]
    files = [difficulty_cards.SHIPPED / name for name in names]
    found = [json.loads(path.read_text()) for path in files]
    order = [
        {"measure": "acceptance", "easier": a, "harder": b, "difference": 0.1, "p_holm": p}
        for a, b, p in (("easy", "medium", 1e-9), ("medium", "hard", 0.2))
    ]
    published = [
        {"level": level, "figure": "acceptance", "measured": 0.5, "published": value,
         "matched": value == 0.5}
        for level, value in (("easy", 0.5), ("hard", 0.331))
    ]  # fmt: skip
    return {
        "schema": 1,
        "levels": dict(zip(LEVELS, found, strict=True)),
        "order_holds": False,
        "order": order,
        "published": published,
    }


def test_the_table_has_every_measure_with_its_interval(
    calibration: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    table_levels.print_calibration(calibration, Console(width=100))
    said = capsys.readouterr().out
    card = calibration["levels"]["medium"]
    for name in ("acceptance", "need_expression"):
        value = card[name]
        assert f"{value['value']:.2f} [{value['low']:.2f}, {value['high']:.2f}]" in said
    for policy in card["policies"]:
        assert policy in said
    assert f"{card['best']['optimum']:.1f}" in said


def test_what_is_not_met_and_not_shown_is_said(calibration: dict[str, Any]) -> None:
    assert list(table_levels.findings(calibration)) == [
        "levels not shown to be in order: acceptance of medium and hard",
        "1 of 2 published figures are met; matching averages does not prove realism",
        "not met: acceptance of hard is 0.500, published 0.331",
    ]


def test_a_deaf_reader_makes_acceptance_not_transferable(calibration: dict[str, Any]) -> None:
    card = {**calibration["levels"]["easy"], "strategy_agreement": {"value": 0.44}}
    lines = list(table_levels.findings({**calibration, "levels": {"easy": card}}))
    assert lines[-1] == ("not transferable: in free wording only 44% of strategies are recognised")


def test_one_level_has_no_order(calibration: dict[str, Any]) -> None:
    alone = {**calibration, "order_holds": None, "order": [], "published": []}
    assert list(table_levels.findings(alone)) == []


def test_the_picture_shows_the_numbers_beside_it(calibration: dict[str, Any]) -> None:
    rows = levels.draw(calibration).rows
    medium = calibration["levels"]["medium"]
    shown = {(r["panel"], r["what"]): r["value"] for r in rows if r["level"] == "medium"}
    assert shown["acceptance", "acceptance"] == medium["acceptance"]["value"]
    assert (
        shown["final_emotion", "silent"] == medium["policies"]["silent"]["final_emotion"]["value"]
    )
    assert sum(panel == "p_rise" for panel, _ in shown) == 9


def test_it_is_drawn_in_the_kinds_that_were_asked_for(
    calibration: dict[str, Any], tmp_path: Path
) -> None:
    write.write_calibration(calibration, tmp_path, ("png",))
    (tmp_path / "calibration_of_mine.png").write_text("mine")
    write.write_calibration(calibration, tmp_path, ("svg",))
    left = {path.name for path in tmp_path.iterdir()}
    ours = {f"calibration.{kind}" for kind in ("json", "csv", "svg")}
    assert left == {"calibration_of_mine.png", *ours}


@pytest.mark.slow
def test_it_is_written_whole_and_the_same_twice(
    calibration: dict[str, Any], tmp_path: Path
) -> None:
    first = {p.name: p.read_bytes() for p in write.write_calibration(calibration, tmp_path / "a")}
    second = {p.name: p.read_bytes() for p in write.write_calibration(calibration, tmp_path / "b")}
    assert set(first) == {f"calibration.{kind}" for kind in ("json", "csv", "png", "svg")}
    assert first == second
    assert json.loads(first["calibration.json"]) == calibration
