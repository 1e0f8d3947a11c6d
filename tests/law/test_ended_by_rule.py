"""Runs that trainer.stop_when ended are said to be: in law.json, law.csv and on the terminal."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from rich.console import Console

from harness.law import law_json
from harness.law.analysis import analyse
from harness.law.group_results import Analysis
from harness.records import run_status
from harness.records.run_folder import RunFolder
from harness.report.tables import answer, csv_files, summary
from tests.law import ended

RULE = {"rule": "flat", "step": ended.STEPS}
WIDTHS = (60, 80, 120)


def printed(analysed: Analysis, width: int) -> str:
    console = Console(width=width, record=True, file=io.StringIO())
    summary.print_analysis(analysed, console, explained=False)
    return console.export_text()


@pytest.fixture(scope="module")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """Two runs that the rule ended, one that went on after it did, one that it never ended."""
    root = tmp_path_factory.mktemp("runs")
    ended.run(root / "a", seed=1, stopped_by_rule=RULE)
    ended.run(root / "b", seed=2, stopped_by_rule=RULE)
    ended.run(root / "c", seed=3, stopped_by_rule={"rule": "flat", "step": ended.STEPS // 2})
    ended.run(root / "d", seed=4)
    return analyse([root])


def test_a_run_says_at_which_step_its_rule_ended_it(analysed: Analysis) -> None:
    told = [law_json.from_run(run)["ended_by_rule"] for run in analysed.runs]
    assert told == [ended.STEPS, ended.STEPS, None, None]
    rows = csv.DictReader(io.StringIO(csv_files.law_csv(analysed)))
    assert [row["ended_by_rule"] for row in rows] == [str(ended.STEPS)] * 2 + ["", ""]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_terminal_counts_such_runs_and_says_what_their_ends_are_of(
    analysed: Analysis, width: int
) -> None:
    said = printed(analysed, width)
    assert said.count("ended by rule") == (2 if width >= 80 else 0)  # folded below
    assert f"2 of 4 runs were ended by trainer.stop_when, at step {ended.STEPS}: " in said
    assert "final R and H are those of the step where a run ended" in said


def test_the_short_answer_says_so_before_its_rows(analysed: Analysis) -> None:
    console = Console(width=80, record=True, file=io.StringIO())
    answer.print_answer(analysed, Path("law"), None, console)
    said = console.export_text()
    before = said.partition("to noise")[0]
    assert f"2 of 4 runs were ended by trainer.stop_when, at step {ended.STEPS}: " in before
    assert "a later onset was not seen" in before
    assert "not a random subset" in before


def test_runs_without_a_rule_are_not_spoken_of(tmp_path: Path) -> None:
    ended.run(tmp_path / "a")
    assert "stop_when" not in printed(analyse([tmp_path]), 80)


@pytest.mark.parametrize("record", [{"step": "soon"}, {"step": None}, {}, {"rule": "flat"}])
def test_a_record_without_a_step_ends_no_run(tmp_path: Path, record: dict[str, object]) -> None:
    ended.run(tmp_path / "a", stopped_by_rule=record)
    (run,) = analyse([tmp_path]).runs
    assert (run.status, run.ended_by_rule) == ("ok", None)
    assert run_status.read(RunFolder(tmp_path / "a").status).is_over
