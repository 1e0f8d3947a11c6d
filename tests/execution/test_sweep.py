"""Sweeps of real runs: what they leave, what one run's death costs, how they are stopped."""

import json
import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.cli import status
from harness.compose import plan as plans
from harness.compose.plan import Point
from harness.config.run import RunConfig
from harness.execution import ledger as ledgers
from harness.execution import resume
from harness.testing.commands import (
    TABULAR,
    command,
    harness,
    here,
    ledger,
    live_processes,
    only_sweep,
    rows,
    start_command,
    wait_until,
)

LONG = ("trainer.steps=100000", "trainer.checkpoint_every=20")


def folder_of(cwd: Path) -> Path:
    """The folder of the sweep that has been started in `cwd`."""
    return wait_until(lambda: next(cwd.glob("runs/*"), None), "the sweep's folder")


def holder(run: Path) -> int | None:
    """The process that trains `run`, once it has written rows."""
    path = run / ".holder"
    return int(path.read_text().split()[0]) if path.exists() and rows(run) > 2 else None


@pytest.mark.slow
def test_a_sweep_leaves_its_ledger_and_every_run(tmp_path: Path) -> None:
    words = (*TABULAR, "trainer.steps=3", "difficulty=easy,hard", "hydra/launcher=basic")
    done = here("sweep", *words, "--json", cwd=tmp_path)
    assert done.returncode == 0
    root = only_sweep(tmp_path)
    value = json.loads(done.stdout)
    assert value == json.loads((root / "sweep.json").read_text())
    assert (value["dir"], value["axes"]) == (str(root), {"difficulty": ["easy", "hard"]})
    assert [row["name"] for row in value["runs"]] == ["0-easy-seed1", "1-hard-seed1"]
    for row in value["runs"]:
        run = Path(row["dir"])
        assert (run.parent, run.name) == (root, row["name"])
        assert (row["status"], row["exit_code"], row["reason"]) == ("done", 0, None)
        assert json.loads((run / "run.json").read_text())["last_step"] == rows(run) == 3
        assert "step 1" in (run / "train.log").read_text()
    assert "next: `harness fit-entropy-law" in done.stderr
    assert not live_processes(str(tmp_path))


@pytest.mark.parametrize("launcher", ["basic", pytest.param("local", marks=pytest.mark.slow)])
def test_a_killed_run_is_a_row_the_others_finish_and_resume_completes_it(
    launcher: str, tmp_path: Path
) -> None:
    words = (*TABULAR, "trainer.steps=20", "trainer.checkpoint_every=5", "seed=1,2")
    with start_command("sweep", *words, f"hydra/launcher={launcher}", cwd=tmp_path) as sweep:
        root = folder_of(tmp_path)
        victim = root / "0-medium-seed1"
        os.kill(wait_until(lambda: holder(victim), "its process"), signal.SIGKILL)
        _, said = sweep.communicate(timeout=60)
    assert sweep.returncode == 3
    assert [row["status"] for row in ledger(root)] == ["failed", "done"]
    assert ledger(root)[0]["reason"] == "killed by signal 9"
    assert ledger(root)[0]["exit_code"] == 137
    assert "0-medium-seed1: failed, killed by signal 9" in said
    assert f"harness resume {root}" in said

    other = root / "1-medium-seed2" / "run.json"
    before = other.stat().st_mtime_ns
    resumed = harness("resume", str(root), "--events", "jsonl", cwd=tmp_path)
    assert resumed.returncode == 0
    assert [row["status"] for row in ledger(root)] == ["done"] * 2
    assert other.stat().st_mtime_ns == before
    assert json.loads((victim / "run.json").read_text())["attempts"] == 2
    assert rows(victim) == 20
    names = ["0-medium-seed1", "1-medium-seed2"]
    events = [json.loads(line) for line in resumed.stdout.splitlines()]
    done = {"status": "done", "exit_code": 0}
    assert events[:-1] == [{"event": "run", "name": name, **done} for name in names]
    assert events[-1] == {"event": "end", **done}
    assert sorted(path.name for path in root.glob("[0-9]*")) == names


def test_a_stopped_sweep_stops_its_runs_and_can_go_on(tmp_path: Path) -> None:
    words = (*TABULAR, *LONG, "seed=1,2", "hydra.launcher.n_jobs=1")
    with start_command("sweep", *words, cwd=tmp_path) as sweep:
        root = folder_of(tmp_path)
        wait_until(lambda: holder(root / "0-medium-seed1"), "a run")
        sweep.send_signal(signal.SIGTERM)
        _, said = sweep.communicate(timeout=60)
    assert sweep.returncode == 75
    assert "stopping the runs; Ctrl-C again to end now" in said
    assert f"stopped; continue with `harness resume {root}`" in said
    assert [row["status"] for row in ledger(root)] == ["stopped", "planned"]
    assert ledger(root)[0]["exit_code"] == 75
    assert not live_processes(f"{root}/")


@pytest.mark.slow
def test_an_interrupt_while_workers_start_stops_the_sweep_without_a_traceback(
    tmp_path: Path,
) -> None:
    words = command("sweep", *TABULAR, *LONG, "seed=1,2", "hydra.launcher.n_jobs=2")
    with subprocess.Popen(
        words, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as sweep:
        try:
            wait_until(lambda: _workers_of(sweep.pid), "a worker to begin")
            os.killpg(sweep.pid, signal.SIGINT)  # as a terminal sends it
            _, said = sweep.communicate(timeout=60)
        finally:
            if sweep.poll() is None:
                os.killpg(sweep.pid, signal.SIGKILL)
    assert "Traceback" not in said
    assert "the launcher failed" not in said
    assert f"stopped; continue with `harness resume {folder_of(tmp_path)}`" in said
    assert sweep.returncode == 75


def _workers_of(pid: int) -> list[Path]:
    """The joblib workers that a process has started so far."""
    lines = Path("/proc").glob(f"{pid}/task/*/children")
    children = [Path("/proc") / child for line in lines for child in line.read_text().split()]
    return [path for path in children if b"popen_loky" in (path / "cmdline").read_bytes()]


@pytest.mark.slow
def test_no_run_outlives_a_killed_sweep_and_the_truth_is_in_the_run_folders(tmp_path: Path) -> None:
    with start_command("sweep", *TABULAR, *LONG, "seed=1,2", cwd=tmp_path) as sweep:
        root = folder_of(tmp_path)
        wait_until(lambda: holder(root / "0-medium-seed1"), "a run")
        wait_until(lambda: holder(root / "1-medium-seed2"), "the other run")
        sweep.kill()
        sweep.communicate(timeout=60)
    wait_until(lambda: not live_processes(f"{root}/"), "the runs to be gone")

    def found() -> set[tuple[str, str]]:
        return {(row["status"], row["reason"]) for row in resume.status(root)["runs"]}

    dead = {("crashed", "process died without writing a status (killed or crashed)")}
    wait_until(
        lambda: found() == dead, "their locks to be let go"
    )  # a moment after their names are
    assert sum("continue with `harness resume" in line for line in status.status_lines(root)) == 2


@pytest.mark.slow
def test_a_second_interrupt_ends_everything_at_once(tmp_path: Path) -> None:
    words = ("policy=tabular", "trainer.conversations=512", *LONG, "seed=1,2")
    with start_command("sweep", *words, cwd=tmp_path) as sweep:
        root = folder_of(tmp_path)
        wait_until(lambda: holder(root / "0-medium-seed1"), "a run")
        sweep.send_signal(signal.SIGINT)
        wait_until(lambda: (root / ".stop").exists(), "the first interrupt to be seen")
        began = time.monotonic()
        sweep.send_signal(signal.SIGINT)
        sweep.communicate(timeout=60)
    assert sweep.returncode == 130
    assert time.monotonic() - began < 10
    assert not live_processes(f"{root}/")


@pytest.mark.slow
def test_on_failure_stop_starts_no_further_run(tmp_path: Path) -> None:
    words = (*TABULAR, "trainer.steps=400", "seed=1,2,3", "hydra/launcher=basic")
    with start_command("sweep", *words, "--on-failure", "stop", cwd=tmp_path) as sweep:
        root = folder_of(tmp_path)
        os.kill(wait_until(lambda: holder(root / "0-medium-seed1"), "its process"), signal.SIGKILL)
        sweep.communicate(timeout=60)
    assert sweep.returncode == 3
    assert [row["status"] for row in ledger(root)] == ["failed", "planned", "planned"]


@pytest.mark.slow
def test_sweeps_that_start_in_the_same_second_have_folders_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plan = plans.build([Point((), {}, RunConfig())], [])
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: ledgers.create(plan, []).dir, range(24)))
    assert len(set(made)) == len(list((tmp_path / "runs").iterdir())) == 24


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["basic", "joblib", "local"])
def test_every_launcher_runs_every_point_once(launcher: str, tmp_path: Path) -> None:
    words = (*TABULAR, "trainer.steps=2", "seed=range(1,6)", f"hydra/launcher={launcher}")
    assert harness("sweep", *words, cwd=tmp_path).returncode == 0
    root = only_sweep(tmp_path)
    assert [row["status"] for row in ledger(root)] == ["done"] * 5
    attempts = [json.loads(p.read_text())["attempts"] for p in root.glob("*/run.json")]
    assert attempts == [1] * 5


@pytest.mark.slow
def test_modules_in_the_current_folder_hide_nothing(tmp_path: Path) -> None:
    for name in ("joblib.py", "yaml.py", "harness/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("raise SystemExit('the wrong one')")
    done = harness("sweep", *TABULAR, "trainer.steps=1", "seed=1,2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
