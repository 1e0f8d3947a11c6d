"""A study that is gone on with executes and judges the runs it is asked for now, and no others."""

from __future__ import annotations

import dataclasses
import io
import signal
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from harness.cli import status
from harness.cli.study import judge
from harness.errors import ConfigError
from harness.execution import ledger as ledgers
from harness.execution import sweep as sweeps
from harness.records import run_status
from harness.records.run_folder import RunFolder
from harness.report.tables import study
from harness.study import arms, file, folder
from harness.testing.commands import here, ledger, only_sweep, start_command, wait_until
from tests.study import made
from tests.study.made import SMALL, written

ONE_ARM = """
question: Does a step teach?
source: made up
seeds: '1'
words: [policy=tabular, trainer.conversations=8, trainer.steps=1, hydra/launcher=basic]
arms: {hard: [difficulty=hard]}
links: {it gains: {quantity: gain, arm: hard, direction: more, margin: 0.05}}
"""


def ended(run: Path, **as_now: Any) -> None:
    status = run_status.read(RunFolder(run).status)
    run_status.write(RunFolder(run).status, dataclasses.replace(status, **as_now))


def planned(cwd: Path) -> Path:
    """Three seeds of which the third has failed."""
    written(cwd, ONE_ARM)
    root = cwd / "big"
    folder.create_or_complete(arms.plan("mine", file.read("mine"), ["seed=1,2,3"]), root)
    ended(root / "2-hard-seed3", status="failed", reason="it broke", exit_code=70)
    return root


def test_a_folder_in_which_the_first_file_was_not_finished_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path)
    root = tmp_path / "here"
    root.mkdir()
    for name in (".lock", ".holder", ".study.json.0123456789abcdef.tmp"):
        (root / name).write_text("{")
    assert folder.existing(made.planned(), root) is None
    (root / "study.json.tmp").write_text("{")
    with pytest.raises(ConfigError, match=r"hold this study; found 'study\.json\.tmp'"):
        folder.existing(made.planned(), root)


def test_a_sweep_of_which_some_runs_are_asked_for_is_judged_by_these(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    root = planned(tmp_path)
    first = root / "0-hard-seed1"
    (first / "metrics.jsonl").write_text('{"step": 1}\n')
    ended(first, status="done", last_step=1, exit_code=0)
    known, code = sweeps.execute(root, only={first.name})
    assert [row.status for row in known.runs] == ["done", "planned", "failed"]
    assert code == 0


@pytest.mark.slow
def test_runs_that_only_an_earlier_command_asked_for_stay_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    root = planned(tmp_path)
    done = here("study", "mine", "--dir", "big", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "1 run of 1 step" in done.stderr
    assert "seed2" not in done.stderr
    assert "seed3" not in done.stderr
    states = [row["status"] for row in ledger(root)]
    assert states == ["done", "planned", "failed"]


def test_a_study_without_a_pair_of_finished_runs_counts_those_not_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path, SMALL.replace("seeds: 1,2", "seeds: 1,2,3"))
    plan, root = arms.plan("mine", file.read("mine"), []), tmp_path / "study"
    record = folder.create_or_complete(plan, root)

    def told() -> list[str]:
        known, stream = ledgers.refresh(ledgers.read(root)), io.StringIO()
        study.print_study(judge(plan, root, record, known), Console(file=stream, width=150))
        return [*stream.getvalue().splitlines(), *status.failures(known)]

    question, none, end = (
        "Do hard users teach less?",
        "no link can be judged yet: none has a pair of finished runs",
        "mine: undecided",
    )
    waiting = "runs not started: 3 of 3 in every arm"
    assert told() == [question, none, waiting, end, "6 runs not started"]
    ended(root / "1-hard-seed1", status="failed", reason="it broke", exit_code=74)
    assert told() == [
        question, none, "hard: 1 of 3 runs failed or unfinished",
        "runs not started: medium 3 of 3, hard 2 of 3", end,
        "1-hard-seed1: failed, it broke", "5 runs not started",
    ]  # fmt: skip


@pytest.mark.slow
def test_a_study_stopped_before_its_first_run_is_done_says_so_in_three_lines(
    tmp_path: Path,
) -> None:
    written(tmp_path, SMALL.replace("trainer.steps=3", "trainer.steps=3000"))
    with start_command("study", "mine", cwd=tmp_path) as process:
        wait_until(lambda: [*tmp_path.glob("runs/*/*/metrics.jsonl")], "the first step")
        process.send_signal(signal.SIGTERM)
        shown, said = process.communicate(timeout=60)
    assert process.returncode == 75, said
    assert shown == ""
    *_, run, waiting, last = said.splitlines()
    assert run.startswith("harness: 0-medium-seed1: stopped, ")
    assert waiting == "harness: 3 runs not started"
    assert last == (
        f"harness: study stopped: 0 of 4 runs done in {only_sweep(tmp_path)}; "
        "repeat the command to continue"
    )
