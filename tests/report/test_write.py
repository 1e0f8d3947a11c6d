"""The results folder."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from harness.errors import StorageError
from harness.report import write
from harness.report.figures import power
from harness.report.write import write_results
from tests.report import made

FIGURES = {
    f"{name}.{end}"
    for name in ("entropy_law", "entropy_curves", "residuals")
    for end in ("png", "svg", "csv")
}


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Path]]:
    """A folder two below what was there, and what was written to it."""
    out = tmp_path_factory.mktemp("results") / "deep" / "law"
    return out, list(write_results(made.ladder(levels=2, seeds=1), out, "auto"))


def test_every_file_is_there_whole_and_listed(written: tuple[Path, list[Path]]) -> None:
    out, files = written
    assert {path.name for path in files} == {"law.json", "law.csv", *FIGURES}
    assert set(files) == set(out.iterdir())
    assert (out / "entropy_law.png").read_bytes().startswith(b"\x89PNG")
    assert (out / "entropy_law.svg").read_text().endswith("</svg>\n")


def test_law_json_is_the_analysis_with_null_for_what_is_missing(tmp_path: Path) -> None:
    analysis = made.analysis([made.fitted("r", gain=None)], [made.unread("x", "no")])
    write_results(analysis, tmp_path, "none")
    read = json.loads((tmp_path / "law.json").read_text(), parse_constant=pytest.fail)
    assert read["runs"][0]["a"] == {"value": 0.3, "low": 0.29, "high": 0.31}
    assert read["runs"][0]["gain"] is None
    assert read["runs"][1]["error"] == {"class": "empty_input", "message": "no"}


def test_law_json_has_a_run_a_line_and_no_nan(tmp_path: Path) -> None:
    analysis = made.analysis([made.fitted(name) for name in "abc"], [made.unread("x", "no")])
    write_results(analysis, tmp_path, "none")
    lines = (tmp_path / "law.json").read_text().splitlines()
    assert [sum(f'"run": "{name}"' in line for line in lines) for name in "abcx"] == [1] * 4
    broken = made.analysis([made.fitted("r", n_eff=float("nan"))])
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_results(broken, tmp_path, "none")


def test_law_csv_has_a_row_a_run_with_flat_intervals(tmp_path: Path) -> None:
    analysis = made.analysis(
        [made.fitted("r", level="easy"), made.fitted("=1+1", "hard", 2, identified=False)],
        [made.unread("x", "no such file", "missing_file")],
    )
    write_results(analysis, tmp_path, "none")
    good, weak, failed = rows(tmp_path / "law.csv")
    assert (good["run"], good["level"], good["seed"]) == ("r", "easy", "1")
    assert [float(good[k]) for k in ("a", "a_low", "a_high")] == [0.3, 0.29, 0.31]
    assert (good["ceiling_identified"], weak["ceiling_identified"]) == ("true", "false")
    assert (weak["run"], weak["reasons"]) == ("'=1+1", "identification_range")
    assert (failed["status"], failed["error"], failed["a"]) == ("error", "missing_file", "")


def test_the_numbers_beside_a_figure_are_those_it_shows(written: tuple[Path, list[Path]]) -> None:
    analysis, (out, _) = made.ladder(levels=2, seeds=1), written
    law = rows(out / "entropy_law.csv")
    easy = [row for row in law if row["level"] == "easy"]
    points = [float(row["reward"]) for row in easy if row["kind"] == "point"]
    assert points == analysis.series["runs/1-easy-seed1"].reward.tolist()
    (ceiling,) = [row for row in easy if row["kind"] == "ceiling"]
    assert (float(ceiling["reward"]), ceiling["identified"]) == (0.8, "true")
    (onset,) = [r for r in rows(out / "entropy_curves.csv") if r["kind"] == "terminal_fall"]
    assert [float(onset[k]) for k in ("step", "low", "high")] == [40, 35, 45]


def test_no_figure_of_an_earlier_analysis_stays_and_nothing_else_goes(tmp_path: Path) -> None:
    write_results(made.ladder(levels=1), tmp_path, "none")
    for name in (*FIGURES, "entropy_curves_2.csv", "residuals_3.png"):
        (tmp_path / name).write_text("drawn before")
    for name in ("entropy_law_draft.png", "notes.png"):
        (tmp_path / name).write_text("somebody's")
    write_results(made.ladder(levels=1), tmp_path, "none")
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"law.json", "law.csv", "notes.png", "entropy_law_draft.png"}


def test_figures_in_a_folder_that_holds_no_results_are_somebody_elses(tmp_path: Path) -> None:
    (tmp_path / "entropy_law_1.png").write_text("mine")
    write_results(made.ladder(levels=1), tmp_path, "none")
    assert (tmp_path / "entropy_law_1.png").read_text() == "mine"


def test_a_plan_without_a_curve_takes_the_earlier_picture_away(tmp_path: Path) -> None:
    curve = power.PowerCurve(0.05, (2, 4), (0.5, 0.9), (0.4, 0.8), (0.6, 1.0))
    shown = power.PowerPlot("gain", "reward", (curve,), 4, 0.8)
    write.write_plan({"planned": 4}, shown, tmp_path, {"planned.yaml": "mine"})
    assert (tmp_path / "power.png").exists()
    write.write_plan({"planned": None}, None, tmp_path, {})
    assert {path.name for path in tmp_path.iterdir()} == {"plan.json", "planned.yaml"}


def test_a_picture_in_a_folder_without_a_plan_is_somebody_elses(tmp_path: Path) -> None:
    (tmp_path / "power.png").write_text("mine")
    write.write_plan({"planned": None}, None, tmp_path, {})
    assert (tmp_path / "power.png").read_text() == "mine"


@pytest.mark.slow
def test_31_runs_are_written_as_medians(tmp_path: Path) -> None:
    runs = [made.fitted(f"r/{seed}", seed=seed, n=8) for seed in range(31)]
    written = {path.name for path in write_results(made.analysis(runs), tmp_path, "auto")}
    assert written == {"law.json", "law.csv", *FIGURES}
    assert len(rows(tmp_path / "law.csv")) == 31
    medians = rows(tmp_path / "entropy_law.csv")
    assert {row["runs"] for row in medians} == {"31"}


def test_nothing_readable_is_written_too(tmp_path: Path) -> None:
    written = write_results(made.analysis([], [made.unread("=x", "@y")]), tmp_path, "auto")
    assert len(written) == 2 + len(FIGURES)
    assert rows(tmp_path / "entropy_law.csv") == [{"run": "'=x", "reason": "'@y"}]


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match=r"file.*: "):
        write_results(made.ladder(levels=1), tmp_path / "file", "none")
    with pytest.raises(ValueError, match="figures must be one of auto, all, none, got 'some'"):
        write_results(made.ladder(levels=1), tmp_path, "some")
