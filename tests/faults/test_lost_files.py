"""A run's files that are gone or cut since: seen, said, and in nobody else's way."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.execution import ledger, resume
from harness.records import run_status, soundness
from harness.records.run_folder import RunFolder
from harness.testing.commands import TABULAR, harness, here, only_sweep
from tests.faults.limited import quick
from tests.train.made import go_on, make_run, status


def _less_a_row(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1].rpartition(b"\n")[0] + b"\n")


def _as_a_pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


CUT: dict[str, Callable[[Path], object]] = {
    "emptied": lambda path: path.write_bytes(b""),
    "cut in a row": lambda path: os.truncate(path, path.stat().st_size - 1),
    "cut by a row": _less_a_row,
    "gone": Path.unlink,
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "pipe": _as_a_pipe,
}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    run = make_run(tmp_path_factory.mktemp("done") / "run", quick(steps=3))
    assert go_on(run)[0] == 0
    return run


def copied(done: RunFolder, path: Path) -> RunFolder:
    return RunFolder(Path(shutil.copytree(done.path, path / "run")))


@pytest.mark.parametrize("kind", CUT)
def test_a_done_run_whose_rows_were_cut_is_said_to_be_damaged(
    done: RunFolder, tmp_path: Path, kind: str
) -> None:
    run = copied(done, tmp_path)
    assert soundness.damage(run, run_status.read(run.status)) is None
    CUT[kind](run.metrics)
    last = "step 2" if kind.startswith("cut") else "none"
    reason = (
        f"damaged: {run.metrics}: a run that is done must end with the row of step 3, "
        f"got {last} as its last"
    )
    found = resume.status(run.path)
    assert (found["status"], found["reason"], found["exit_code"]) == ("damaged", reason, 65)
    shown = here("status", "run", cwd=tmp_path)
    assert shown.stdout.startswith("run: damaged, ")
    assert "must end with the row of step 3" in shown.stdout
    assert status(run)["status"] == "done", "looking changes nothing"


def test_its_resume_ends_65_and_without_checkpoints_it_computes_the_rows_again(
    done: RunFolder, tmp_path: Path
) -> None:
    run = copied(done, tmp_path)
    run.metrics.write_bytes(b"")
    code, _, err = go_on(run)
    assert code == 65
    assert "needs a row for each step up to it, found 0; without checkpoints/ it begins anew" in err
    shutil.rmtree(run.checkpoints)
    assert go_on(run)[0] == 0
    assert run.metrics.read_bytes() == done.metrics.read_bytes()
    assert status(run)["status"] == "done"


@pytest.mark.slow
def test_a_run_without_run_json_is_a_row_with_a_way_out_and_the_others_go_on(
    tmp_path: Path,
) -> None:
    short = (*TABULAR, "trainer.steps=2", "seed=1,2")
    assert harness("sweep", *short, cwd=tmp_path).returncode == 0
    root = only_sweep(tmp_path)
    (root / "0-medium-seed1" / "run.json").unlink()
    (root / "1-medium-seed2" / "run.json").unlink()
    shutil.rmtree(root / "1-medium-seed2" / "checkpoints")
    for name in ("metrics.jsonl", "outcomes.json", "conversations"):
        path = root / "1-medium-seed2" / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    way_out = "move the folder away and resume the sweep to start the run again"
    for _ in range(2):
        found = harness("resume", str(root), cwd=tmp_path)
        assert found.returncode == 3
        assert way_out in found.stderr
        assert [row.status for row in ledger.read(root).runs] == ["failed", "done"]
    (root / "0-medium-seed1").rename(tmp_path / "away")
    assert harness("resume", str(root), cwd=tmp_path).returncode == 0
    assert [row.status for row in ledger.read(root).runs] == ["done", "done"]


def test_a_folder_of_a_sweep_that_lost_its_run_json_is_failed_and_not_planned(
    done: RunFolder, tmp_path: Path
) -> None:
    run = copied(done, tmp_path)
    row: dict[str, object] = {
        "name": "run", "dir": str(run.path), "overrides": [], "status": "done", "reason": None,
        "exit_code": 0,
    }  # fmt: skip
    sweep = {"schema": 1, "dir": str(tmp_path), "axes": {}, "runs": [row], "command": []}
    (tmp_path / "sweep.json").write_text(json.dumps(sweep))
    assert ledger.read(tmp_path).runs[0].status == "done"
    run.status.unlink()
    (found,) = ledger.read(tmp_path).runs
    assert (found.status, found.exit_code) == ("failed", 65)
    assert found.reason == (
        f"{run.path}: run.json is missing, and a run can start again only in an empty folder; "
        "move the folder away and resume the sweep to start the run again"
    )
