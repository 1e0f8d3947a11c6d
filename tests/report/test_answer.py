"""The answer in a few lines: nobody is hidden, references and noise stand beside the gain."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from harness.law.analysis import analyse
from harness.law.group_results import Analysis, SeedMean
from harness.records import holder
from harness.records.run_folder import RunFolder
from harness.report.tables import answer as table
from harness.report.tables import summary
from harness.report.text import answer, answer_lines
from harness.testing import run_folders, synthetic
from harness.testing.commands import here
from harness.testing.synthetic import LOW
from tests.law import ended

LEVELS = ("easy", "medium", "hard")
SEEDS = range(1, 4)
MOST_LINES = 12


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three levels of three seeds with their null controls, which lose H and gain nothing."""
    made = tmp_path_factory.mktemp("sweep")
    for level in LEVELS:
        for seed in SEEDS:
            for null in (False, True):
                log = synthetic.lawful(9, 300, LOW) if null else synthetic.kink(seed, 300, LOW)
                lines = synthetic.rows(log)
                rewards = [row["reward"] for row in lines]
                rows = [
                    {**row, "eval/reward": reward if n % 10 == 0 else None}
                    for n, (row, reward) in enumerate(zip(lines, rewards, strict=True))
                ]
                name = f"{level}{seed}{'null' if null else ''}"
                run_folders.write_run(made / name, rows, seed=seed, level=level, null_control=null)
    anchors = run_folders.anchors(0.61, 0.77, 1.45, 0.80)
    run_folders.write_cards(made, dict.fromkeys(LEVELS, anchors))
    return made


@pytest.fixture(scope="module")
def analysed(folder: Path) -> Analysis:
    return analyse([folder])


def printed(analysed: Analysis, width: int, picture: Path | None = None) -> str:
    stream = io.StringIO()
    table.print_answer(analysed, Path("law"), picture, Console(file=stream, width=width))
    return stream.getvalue()


def test_every_run_is_in_a_row_or_is_its_noise(analysed: Analysis) -> None:
    rows = answer.rows(analysed)
    assert [row.name for row in rows] == list(LEVELS)
    nulls = sum(answer.is_null_control(group) * len(group.runs) for group in analysed.groups)
    assert sum(row.seeds for row in rows) + nulls == len(analysed.runs)
    assert answer_lines.heading(analysed).startswith("18 runs, 9 of them null controls")


def test_what_was_lost_stands_beside_what_noise_takes(analysed: Analysis) -> None:
    for row in answer.rows(analysed):
        assert row.fall.mean is not None
        assert row.noise is not None
        assert row.noise.mean is not None
        assert row.noise.n == len(SEEDS)
        assert 0 < row.noise.mean < row.fall.mean * 2
        assert len(row.onsets) == len(row.verdicts) == len(SEEDS)


def test_it_takes_at_most_twelve_lines_of_eighty_columns(analysed: Analysis) -> None:
    said = printed(analysed, 80, Path("law/entropy_curves.png"))
    assert len(said.splitlines()) <= MOST_LINES
    assert max(map(len, said.splitlines())) <= 80
    assert said.splitlines()[-1] == "picture: law/entropy_curves.png"


def test_six_rows_and_the_command_that_decides_most_are_twelve_lines(analysed: Analysis) -> None:
    """As `make sweep` ends: with three levels here, nine."""
    runs = tuple(
        replace(run, verdict="undetermined", reasons=["too_few_steps"]) for run in analysed.runs
    )
    console = Console(file=io.StringIO(), width=80, record=True)
    left = replace(analysed, runs=runs)
    table.print_answer(
        left, Path("law"), Path("law/x.png"), console, lambda run: ("+sweeps=first_tabular",)
    )
    said = console.export_text().splitlines()
    assert len(said) == MOST_LINES - 3
    assert said[-3:-1] == [
        "law undecided in 9 of 9 runs; more steps would decide them, if H falls further:",
        "    harness sweep +sweeps=first_tabular trainer.steps=400",
    ]
    assert max(map(len, said)) <= 80


@pytest.mark.parametrize("width", [30, 60, 120, 300])
def test_no_number_is_lost_on_another_terminal(analysed: Analysis, width: int) -> None:
    said = "".join(printed(analysed, width).split())
    for row in answer.rows(analysed):
        assert row.fall.mean is not None
        assert f"{row.fall.mean:.2f}".removeprefix("0") in said


def test_reference_policies_of_the_card_stand_beside_what_was_gained(analysed: Analysis) -> None:
    lines = [line for line in printed(analysed, 120).splitlines() if line.startswith(LEVELS)]
    assert len(lines) == len(LEVELS)
    assert all(".61 .30 .77" in line for line in lines)


def test_a_verdict_on_the_same_batch_says_so(tmp_path: Path) -> None:
    run_folders.write_run(tmp_path / "run", synthetic.lawful_rows())
    found = analyse([tmp_path])
    assert [row.same_batch for row in answer.rows(found)] == [True]
    assert "same batch: 1/1" in printed(found, 120)
    own = "reward of the same batch as H, where the law is expected"
    assert answer_lines.heading(found) == f"1 run; {own}"


def test_runs_that_differ_in_the_seed_alone_are_named_by_their_level(tmp_path: Path) -> None:
    for seed in (1, 2):
        run_folders.write_run(
            tmp_path / f"{seed}", synthetic.lawful_rows(), seed=seed, level="hard"
        )
    (row,) = answer.rows(analyse([tmp_path]))
    assert (row.name, row.seeds) == ("hard", 2)


def test_a_table_says_which_reward_each_row_is_of(analysed: Analysis) -> None:
    first, *others = (run for run in analysed.runs if not run.same_batch)
    same, named = replace(first, same_batch=True), replace(first, reward="val/score")
    mixed = [same, *others]
    held = "reward of held-out users"
    assert (
        answer_lines.which_reward(mixed)
        == f"{held}, or of the same batch as H where the row says so"
    )
    assert answer_lines.which_reward([named]) == "reward in column val/score"
    stream = io.StringIO()
    shown = replace(analysed, runs=(same, *others))
    summary.print_analysis(shown, Console(file=stream, width=120), explained=False)
    rows = stream.getvalue().partition("law: R = ")[0]
    assert rows.count("same batch, expected to fit") == rows.count("on reward") + 1
    assert f"R: {answer_lines.which_reward(shown.runs)}" in stream.getvalue()


def test_the_verdict_on_held_out_users_is_no_same_batch(analysed: Analysis) -> None:
    assert not any(row.same_batch for row in answer.rows(analysed))
    assert "reward of held-out users" in answer_lines.heading(analysed)


def test_what_the_interval_is_of_is_said_for_the_rows_that_are_shown(analysed: Analysis) -> None:
    rows = answer.rows(analysed)
    alone = replace(rows[0], seeds=1)
    unknown = replace(alone, gain=SeedMean(0.1, None, None, 1, 0))
    assert (
        answer_lines.intervals(rows)
        == answer_lines.intervals([*rows, unknown])
        == "±: 95% over seeds"
    )
    assert answer_lines.intervals([*rows, alone]) == "±: 95% over seeds (x1: of the run)"
    assert answer_lines.intervals([alone]) == "±: 95% of each run"
    assert answer_lines.intervals([unknown]) == answer_lines.intervals([]) == ""


def test_runs_that_are_missing_are_told_by_arm_before_the_rows(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        ended.run(tmp_path / f"easy{seed}", seed)
    short = ended.rows(4, 30)
    ended.run(tmp_path / "easy4", 4, short, status="stopped", exit_code=75)
    ended.run(tmp_path / "easy5", 5, short, status="running", exit_code=None)
    ended.run(tmp_path / "easy6", 6, short, status="running", exit_code=None)
    ended.run(tmp_path / "hard1", 1, short, "hard", status="failed", exit_code=70)
    ended.run(tmp_path / "hard2", 2, [], "hard", status="planned", exit_code=None)
    with holder.hold(RunFolder(tmp_path / "easy6")):
        found = analyse([tmp_path])
    line = (
        "5 of 8 runs unfinished and left out: easy 3 of 6 (1 stopped, 1 crashed, 1 running); "
        "hard 2 of 2 (1 diverged, 1 planned)"
    )
    assert answer_lines.unfinished(found) == [line]
    assert answer_lines.unread(found) == []
    said = printed(found, 200).splitlines()
    assert said[0].startswith(answer_lines.heading(found))
    assert said[1] == line
    assert "could not be read" not in said[0]


def test_refusals_of_one_kind_are_one_line(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / f"{name}.csv").write_text("step,loss\n1,2\n")
    found = analyse([tmp_path / f"{name}.csv" for name in "abc"])
    (line,) = answer_lines.unread(found)
    assert line.startswith("3 of 3 runs could not be read, missing column: ")


def test_what_was_not_measured_is_said_with_the_words_that_measure_it(tmp_path: Path) -> None:
    run_folders.write_run(tmp_path / "one", synthetic.rows(synthetic.kink(1, 300, LOW)), seed=1)
    analysed = analyse([tmp_path])
    said = " ".join(answer_lines.open_questions(analysed, answer.rows(analysed)))
    assert "not measured: how much of the fall of H is noise and how much seeds differ" in said
    assert "algorithm.null_control=false,true" in said
    assert "seed=range(1,6)" in said


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    name = "[bold]\x1b]0;x\x07<script>"
    run_folders.write_rows(tmp_path / name, synthetic.lawful_rows())
    said = printed(analyse([tmp_path]), 200)
    assert "\x1b" not in said
    assert "\x07" not in said


def test_the_command_prints_the_answer_and_on_demand_the_tables(
    folder: Path, tmp_path: Path
) -> None:
    words = ("fit-entropy-law", str(folder), "--out", str(tmp_path / "law"), "--figures", "none")
    brief = here(*words, cwd=tmp_path)
    full = here(*words, "--tables", cwd=tmp_path)
    assert brief.returncode == full.returncode == 0
    assert len(brief.stdout.splitlines()) <= MOST_LINES
    assert full.stdout.endswith(brief.stdout)
    assert "n = " in full.stdout
    assert here(*words, "--json", "--tables", cwd=tmp_path).stdout.startswith('{"schema"')


def test_names_that_would_be_shortened_to_the_same_stay_whole(analysed: Analysis) -> None:
    rows = answer.rows(analysed)
    long = [
        replace(rows[0], name=f"hard, acceptance=goal_fit, threshold={value}, std_floor=0.1")
        for value in (0.0, 1.2)
    ]
    console = Console(width=200, file=io.StringIO(), record=True)
    console.print(table.table(long, roomy=True))
    said = console.export_text()
    for row in long:
        assert row.name in said
