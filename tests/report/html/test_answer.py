"""What the page says first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from harness.law import analysis
from harness.records import run_status
from harness.records.run_folder import RunFolder
from harness.report.html import answer
from harness.report.html.blocks import HEADING, QUIET, from_rich
from harness.report.tables import summary
from harness.report.text import naming
from harness.report.text.answer import rows
from harness.testing import run_folders, synthetic
from tests.report import made
from tests.report.html.made_runs import sweep


def cells(path: Path) -> list[list[str]]:
    table = answer.by_level(rows(analysis.analyse([path])))
    return [[" ".join(cell.lines) for cell in row.cells] for row in table.rows]


def test_the_headline_counts_verdicts_and_onsets_of_runs_that_are_no_null_controls() -> None:
    ladder = made.ladder()
    runs = [run for run in ladder.runs if run.status == "ok"]
    assert answer.headline(ladder, runs) == (
        "9 runs: law holds in 3, law holds until the onset in 3, law undetermined in 3; "
        "collapse from step 40 in 3, no onset in 6"
    )
    null = {"algorithm": {"null_control": True}, "policy": {"kind": "tabular"}}
    beside = made.analysis([made.fitted("a"), made.fitted("b", config=null, verdict="fails")])
    said = answer.headline(beside, beside.runs)
    assert said == "1 run, and 1 null control: law holds; no onset"


def test_same_batch_reward_is_labelled_in_the_headline() -> None:
    one = made.analysis([made.fitted("a", same_batch=True)])
    assert answer.headline(one, one.runs) == (
        "1 run: law holds on same-batch reward, which is expected to fit; no onset"
    )


def test_a_row_a_level_with_means_over_seeds(tmp_path: Path) -> None:
    easy, hard = cells(sweep(tmp_path, ("easy", "hard"), 3))
    assert (easy[0], easy[1], hard[0], hard[1]) == ("easy", "3", "hard", "3")
    assert "[" in easy[2]
    assert easy[7].startswith(("0 of 3", "1 of 3", "2 of 3", "3 of 3"))
    assert easy[8].startswith("same batch: ")


def test_a_run_alone_has_its_own_numbers(tmp_path: Path) -> None:
    run = run_folders.write_run(tmp_path / "one", synthetic.lawful_rows(1, 200), 1, "medium")
    (cell,) = cells(run)
    (result,) = analysis.analyse([run]).runs
    assert cell[1] == "1"
    told = answer.of_analysis(analysis.analyse([run]))
    assert told is not None
    assert told.tables[0].rows[0].cells[0].lines == ("medium",)
    assert not any("±" in sentence for sentence in told.sentences)  # the page has brackets
    assert result.gain is not None
    assert cell[2].startswith(f"{result.gain.value:.2f}")
    assert cell[4] == cell[6] == "-"
    assert cell[7] in ("no onset", *([cell[7]] if result.onset else []))


def test_runs_that_a_rule_ended_are_said_to_be_no_random_subset(tmp_path: Path) -> None:
    run = RunFolder(run_folders.write_run(tmp_path / "one", synthetic.lawful_rows(1, 40)))
    ended = {"rule": "flat", "step": 40}
    done = replace(run_status.read(run.status), last_step=40, stopped_by_rule=ended)
    run_status.write(run.status, done)
    section = answer.of_analysis(analysis.analyse([tmp_path]))
    assert section is not None
    assert section.sentences[1].startswith("1 of 1 run was ended by trainer.stop_when, at step 40")


def test_a_table_of_the_terminal_keeps_its_rows_headings_and_what_is_beside() -> None:
    ladder = made.ladder()
    shown = summary.runs_table(ladder, ladder.runs, naming.names(ladder), 160)
    table = from_rich("Runs", shown)
    assert table.headings == ("run", "a", "b", "ceiling", "regime", "verdict")
    kinds = [row.kind for row in table.rows]
    assert kinds.count(HEADING) == 3
    assert [row.cells[0].lines[0] for row in table.rows if row.kind == HEADING] == [
        "easy",
        "medium",
        "hard",
    ]
    assert len([kind for kind in kinds if kind not in (HEADING, QUIET)]) == 9
    assert table.rows[1].cells[0].lines == ("1-easy-seed1", "n = 60")
