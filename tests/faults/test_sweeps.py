"""Poison runs are rows with a reason; a sweep that cannot work stops by itself."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from harness.records import run_status
from harness.records.run_folder import RunFolder
from harness.testing.commands import (
    TABULAR,
    command,
    ledger,
    live_processes,
    only_sweep,
    rows,
    start_command,
    wait_until,
)

ONE_AT_ONCE = ("hydra.launcher.n_jobs=1", "trainer.steps=9")


@pytest.mark.slow
def test_a_sweep_whose_first_runs_fail_alike_starts_no_more(tmp_path: Path) -> None:
    """No file may grow beyond some four rows: as on a disk that is full."""
    words = command("sweep", *TABULAR, *ONE_AT_ONCE, "seed=range(1,7)", "--retries=0", "--json")
    shell = f"ulimit -f 24; exec {' '.join(words)}".replace("range(1,7)", "'range(1,7)'")
    unhurt = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # modules' caches would be cut too
    done = subprocess.run(
        ["sh", "-c", shell], cwd=tmp_path, env=unhurt, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3, done.stderr
    found = json.loads(done.stdout)["runs"]
    assert [row["status"] for row in found] == ["failed"] * 3 + ["planned"] * 3
    assert {row["exit_code"] for row in found[:3]} == {74}
    assert all("metrics.jsonl: File too large" in row["reason"] for row in found[:3])
    assert (
        "3 runs failed for the same reason and none succeeded; remaining runs were not started"
        in done.stderr
    )
    assert "Traceback" not in done.stderr


POISON = {
    "exit(0)": "import os; os._exit(0)",
    "exit(7)": "import os; os._exit(7)",
    "abort": "import os; os.abort()",
    "segfault": "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)",
}


@pytest.mark.slow
def test_each_poison_is_a_row_with_its_reason_and_the_others_are_done(tmp_path: Path) -> None:
    """sitecustomize poisons the process of one seed each; the sixth run is healthy."""
    cases = "\n".join(f"    if seed == {n}: {code}" for n, code in enumerate(POISON.values(), 1))
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "words = [w for w in sys.orig_argv if '-seed' in w]\n"
        "if 'harness.train' in sys.orig_argv and words:\n"
        f"    seed = int(words[0].rsplit('-seed', 1)[1])\n{cases}\n"
    )
    words = command("sweep", *TABULAR, "trainer.steps=2", "seed=range(1,7)", "--json")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 3, done.stderr
    found = json.loads(done.stdout)["runs"]
    assert [row["status"] for row in found] == ["failed"] * 4 + ["done"] * 2
    assert found[0]["reason"] == "ended early, with exit code 0"
    assert [row["reason"] for row in found[2:4]] == ["killed by signal 6", "killed by signal 11"]


@pytest.mark.slow
def test_a_preempted_sweep_stops_its_runs_resumably(tmp_path: Path) -> None:
    """As Slurm does it, with SIGUSR1 to the whole process group."""
    words = (*TABULAR, "trainer.steps=100000", "trainer.checkpoint_every=20", "seed=1,2")
    with start_command("sweep", *words, cwd=tmp_path) as sweep:
        root = wait_until(lambda: next(tmp_path.glob("runs/*"), None), "the folder")
        run = root / "0-medium-seed1"
        wait_until(lambda: rows(run) > 2, "steps")
        os.kill(sweep.pid, signal.SIGUSR1)
        sweep.communicate(timeout=60)
    assert sweep.returncode == 75
    assert {row["status"] for row in ledger(only_sweep(tmp_path))} <= {"stopped", "planned"}
    assert run_status.read(RunFolder(run).status).exit_code == 75
    assert not live_processes(f"{root}/")
