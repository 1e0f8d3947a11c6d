"""A study that is gone on with executes and judges the runs it is asked for now, and no others."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from harness.execution import sweep as sweeps
from harness.records import run_status
from harness.records.run_folder import RunFolder
from harness.study import arms, file, folder
from harness.testing.commands import here, ledger
from tests.study.made import written

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
