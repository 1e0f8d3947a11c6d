"""A run that is stopped, hangs or diverges, and what a killed sweep was building."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from harness.errors import StorageError
from harness.execution import ledger, retry
from harness.records import checkpoints, sweep_file
from harness.records.sweep_file import LedgerRow, Sweep
from harness.testing.commands import live_processes, wait_until
from tests.faults.limited import quick
from tests.train.made import brief, finish, go_on, make_run, start, status, wait_for


def test_sigusr2_stops_a_run_resumably_too(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", quick(steps=100_000))
    child = start(run)
    wait_for(child, "step", 1)
    child.send_signal(signal.SIGUSR2)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 75, err
    found = status(run)
    assert found["status"] == "stopped"
    assert f"stopped by SIGUSR2 after step {found['last_step']}" in found["reason"]
    newest, _ = checkpoints.newest(run.checkpoints)
    assert newest is not None
    assert newest.step == found["last_step"], "nothing is to be computed again"


def test_a_run_past_its_deadline_is_a_row_of_its_sweep(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", brief(conversations=65_536, deadline_s=0.3))
    assert retry.execute(run.path, retries=5).exit_code == 75
    sweep_file.write(tmp_path, Sweep(str(tmp_path), {}, [LedgerRow("run", str(run.path), ())]))
    (row,) = ledger.read(tmp_path).runs
    assert (row.status, row.exit_code) == ("stopped", 75)
    assert row.reason == "ended within step 1, after 0.3 s in it (trainer.deadline_s)"
    assert status(run)["attempts"] == 1, "the next attempt would wait as long"


def test_a_gpu_that_is_missing_is_not_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    run, began = make_run(tmp_path / "run", quick(gpus=1)), time.monotonic()
    assert retry.execute(run.path, retries=1).exit_code == 71
    assert time.monotonic() - began < retry.WAIT_S, "it waits before it tries again"


@pytest.mark.slow
def test_where_no_checkpoint_verifies_the_run_begins_again_with_the_same_rows(
    whole: bytes, tmp_path: Path
) -> None:
    run = make_run(tmp_path / "run", quick())
    assert go_on(run, stop_after=12)[0] == 75
    saved = sorted(run.checkpoints.iterdir())
    for path in saved:
        (path / "table.npy").write_bytes(b"broken")
    code, events, err = finish(run)
    assert code == 0, err
    assert events[0] == {"event": "resume", "step": 0}
    assert run.metrics.read_bytes() == whole
    notes = [json.loads(line) for line in run.events.read_text().splitlines()]
    passed_over = [note["problem"] for note in notes if note["event"] == "checkpoint_passed_over"]
    assert len(passed_over) == len(saved) == checkpoints.KEEP


def test_a_checkpoint_that_cannot_be_saved_takes_no_room(tmp_path: Path) -> None:
    """As on a full disk, whose next attempt needs the room."""

    def fill(path: Path) -> None:
        (path / "half").write_bytes(b"x" * 1000)
        raise OSError(28, "No space left on device", str(path / "half"))

    with pytest.raises(StorageError, match="No space left on device"):
        checkpoints.publish(tmp_path, 5, fill)
    assert list(tmp_path.iterdir()) == []


def test_no_checkpoint_is_saved_of_a_step_that_diverged(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", quick(checkpoint_every=1))
    assert go_on(run, stop_after=3)[0] == 75
    path = run.checkpoints / "step-00003"
    table = np.load(path / "table.npy")
    shutil.rmtree(path)
    checkpoints.publish(run.checkpoints, 3, lambda at: np.save(at / "table.npy", table * np.nan))
    outcome = retry.execute(run.path, retries=5)
    assert outcome.exit_code == 70
    assert "step 4: logits must be finite after an update" in str(outcome.reason)
    assert sorted(path.name for path in run.checkpoints.iterdir()) == ["step-00002", "step-00003"]
    assert status(run)["attempts"] == 2, "it would diverge again"


SWEEP = """
import sys
import time
from pathlib import Path
from harness.execution import start_model
from harness.config.run import RunConfig
start_model.prepare([RunConfig()], Path(sys.argv[1]))
"""


@pytest.mark.slow
def test_the_building_of_a_start_model_ends_with_its_sweep(tmp_path: Path) -> None:
    environment = {**os.environ, "HARNESS_CACHE": str(tmp_path / "cache")}
    parent = subprocess.Popen([sys.executable, "-c", SWEEP, str(tmp_path)], env=environment)
    building = f"}} {parent.pid}"
    try:
        wait_until(lambda: live_processes(building), "the process that builds it")
    finally:
        parent.kill()
        parent.wait()
    wait_until(lambda: not live_processes(building), "its end")
    assert not [path for path in (tmp_path / "cache").glob("start-*") if path.is_dir()]
