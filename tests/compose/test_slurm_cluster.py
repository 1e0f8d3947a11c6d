"""Sweeps on a real Slurm: the one that answers here, or one of one node that is started."""

import importlib.util
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.testing import slurm_cluster
from harness.testing.commands import (
    TABULAR,
    harness,
    ledger,
    live_processes,
    only_sweep,
    rows,
    start_command,
    wait_until,
)

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
STEPS = 300
WORDS = (*TABULAR, f"trainer.steps={STEPS}", "trainer.checkpoint_every=50", "seed=1,2")
ON_SLURM = ("hydra/launcher=slurm", "hydra.launcher.timeout_min=20")
ONE_AT_ONCE = "hydra.launcher.array_parallelism=1"


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    if importlib.util.find_spec("submitit") is None:
        pytest.skip("submitit is not installed: pip install '.[slurm]'")
    if slurm_cluster.answers():
        yield
        return
    if missing := slurm_cluster.missing():
        pytest.skip(f"no Slurm answers, and none can be started without {', '.join(missing)}")
    with slurm_cluster.start_cluster() as conf, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", str(conf))
        yield


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """Rows by run of the same sweep on this machine."""
    folder = tmp_path_factory.mktemp("here")
    done = harness("sweep", *WORDS, cwd=folder)
    assert done.returncode == 0, done.stderr
    return rows_of(only_sweep(folder))


def rows_of(root: Path) -> dict[str, list[dict[str, Any]]]:
    """Rows by run, without what a clock says."""
    return {run.name: metrics(run) for run in root.glob("*-seed*")}


def metrics(run: Path) -> list[dict[str, Any]]:
    lines = (run / "metrics.jsonl").read_text().splitlines()
    return [{k: v for k, v in json.loads(line).items() if not k.endswith("_s")} for line in lines]


def attempts(root: Path) -> list[int]:
    runs = sorted(root.glob("*-seed*"))
    return [json.loads((run / "run.json").read_text())["attempts"] for run in runs]


def jobs(root: Path) -> list[str]:
    """Numbers of the sweep's jobs that have not ended, by their name."""
    words = ["squeue", "--noheader", "--array", f"--name=harness-{root.name}", "--format=%i"]
    return sorted(subprocess.check_output(words, text=True).split())


def begun(cwd: Path) -> Path:
    """The sweep's folder, once its first run has rows."""
    root = wait_until(lambda: next(cwd.glob("runs/*"), None), "the sweep's folder")
    wait_until(lambda: rows(root / "0-medium-seed1") > 5, "steps of the first run")
    return root


def test_a_sweep_on_slurm_has_the_rows_of_one_on_this_machine(
    tmp_path: Path, undisturbed: dict[str, list[dict[str, Any]]]
) -> None:
    done = harness("sweep", *WORDS, *ON_SLURM, cwd=tmp_path, OTHERS_API_KEY="canary-of-a-key")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "sacct" not in done.stderr
    root = only_sweep(tmp_path)
    assert rows_of(root) == undisturbed
    assert attempts(root) == [1, 1]
    assert jobs(root) == []
    written = [path for path in root.rglob("*") if path.is_file()]
    assert any(path.name.endswith("_submission.sh") for path in written)
    assert not [path for path in written if b"canary-of-a-key" in path.read_bytes()]


def test_a_job_that_slurm_queues_again_continues_its_run(
    tmp_path: Path, undisturbed: dict[str, list[dict[str, Any]]]
) -> None:
    with start_command("sweep", *WORDS, *ON_SLURM, cwd=tmp_path) as sweep:
        root = begun(tmp_path)
        first = jobs(root)[0]
        subprocess.check_call(["scontrol", "requeue", first])
        wait_until(lambda: ledger(root)[0]["status"] == "stopped", "the first run's stop")
        assert sweep.poll() is None
        hurry(first)
        _, errors = sweep.communicate(timeout=400)
    assert sweep.returncode == 0, errors
    assert rows_of(root) == undisturbed
    assert attempts(root) == [2, 1]


def hurry(job: str) -> None:
    """Let a job begin that Slurm queued again: it would wait two minutes."""
    now = ["scontrol", "update", f"JobId={job}", "StartTime=now"]
    state = ["squeue", "--noheader", f"--jobs={job}", "--format=%T"]

    def runs() -> bool:
        subprocess.run(now, capture_output=True, check=False)  # refused while the job still ends
        return subprocess.check_output(state, text=True).strip() == "RUNNING"

    wait_until(runs, "the job's second start")


def test_a_sweep_that_is_stopped_cancels_pending_jobs_and_is_resumed(
    tmp_path: Path, undisturbed: dict[str, list[dict[str, Any]]]
) -> None:
    with start_command("sweep", *WORDS, *ON_SLURM, ONE_AT_ONCE, cwd=tmp_path) as sweep:
        root = begun(tmp_path)
        sweep.send_signal(signal.SIGINT)
        _, errors = sweep.communicate(timeout=100)
    assert sweep.returncode == 75, errors
    assert "stopped; continue with `harness resume" in errors
    assert [row["status"] for row in ledger(root)] == ["stopped", "planned"]
    assert jobs(root) == []
    assert harness("resume", str(root), cwd=tmp_path).returncode == 0
    assert rows_of(root) == undisturbed
    assert attempts(root) == [2, 1]


def test_a_resume_waits_for_the_jobs_of_a_sweep_that_was_killed(
    tmp_path: Path, undisturbed: dict[str, list[dict[str, Any]]]
) -> None:
    with start_command("sweep", *WORDS, *ON_SLURM, ONE_AT_ONCE, cwd=tmp_path) as sweep:
        root = begun(tmp_path)
        os.kill(sweep.pid, signal.SIGKILL)
        sweep.wait()
    assert len(jobs(root)) == 2
    done = harness("resume", str(root), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "waiting for 2 jobs of an earlier launch, which Slurm still has" in done.stderr
    assert rows_of(root) == undisturbed
    assert attempts(root) == [1, 1]
    assert not live_processes(f"{root}/")


def test_jobs_that_slurm_refuses_are_one_sentence(tmp_path: Path) -> None:
    nowhere = "hydra.launcher.partition=nowhere"
    done = harness("sweep", *WORDS, *ON_SLURM, nowhere, cwd=tmp_path)
    assert done.returncode == 71
    last = done.stderr.strip().splitlines()[-1]
    assert "hydra/launcher=slurm: no job was submitted: " in last
    assert "nvalid partition" in last
    assert "Traceback" not in done.stderr
