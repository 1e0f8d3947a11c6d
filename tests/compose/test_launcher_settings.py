"""Launchers as they run: many runs on few GPUs, submitit's local executor, a local Ray cluster."""

import contextlib
import importlib.util
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

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

pytestmark = pytest.mark.slow


def needs(plugin: str, extra: str) -> pytest.MarkDecorator:
    absent = importlib.util.find_spec("hydra_plugins") is None or (
        importlib.util.find_spec(f"hydra_plugins.{plugin}") is None
    )
    return pytest.mark.skipif(absent, reason=f"{plugin} is not installed: pip install '.[{extra}]'")


SUBMITIT = needs("hydra_submitit_launcher", "slurm")
RAY = needs("hydra_ray_launcher", "ray")


def events(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "events.jsonl").read_text().splitlines()]


def most_at_once(spans: list[tuple[float, float]]) -> int:
    return max(sum(a <= began < b for a, b in spans) for began, _ in spans)


def test_twenty_runs_keep_eight_gpus_busy_and_never_share_one(tmp_path: Path) -> None:
    words = (*TABULAR, "trainer.steps=200", "trainer.gpus=1", "seed=range(1,21)")
    cards = [str(n) for n in range(8)]
    done = harness("sweep", *words, cwd=tmp_path, CUDA_VISIBLE_DEVICES=",".join(cards))
    assert done.returncode == 0, done.stderr
    spans: dict[str, list[tuple[float, float]]] = {card: [] for card in cards}
    for run in runs(only_sweep(tmp_path)):
        record = events(run)
        (start,) = [event for event in record if event["event"] == "start"]
        spans[start["gpus"]].append((start["time_unix_s"], record[-1]["time_unix_s"]))
    assert sum(map(len, spans.values())) == 20
    assert all(most_at_once(on_card) == 1 for on_card in spans.values())
    assert most_at_once([span for on_card in spans.values() for span in on_card]) == 8


@SUBMITIT
def test_a_job_that_submitit_stops_is_queued_again_and_its_run_goes_on(tmp_path: Path) -> None:
    """Slurm sends SIGUSR2 before it preempts a job; here it goes to submitit's local executor."""
    words = (*TABULAR, "trainer.steps=300", "trainer.checkpoint_every=1000", "seed=1,2,3")
    with start_command("sweep", *words, "hydra/launcher=submitit_local", cwd=tmp_path) as sweep:
        root = wait_until(lambda: next(tmp_path.glob("runs/*"), None), "the sweep's folder")
        first = root / "0-medium-seed1"
        wait_until(lambda: rows(first) > 5, "steps of the first run")
        os.kill(parent(int((first / ".holder").read_text().split()[0])), signal.SIGUSR2)
        _, errors = sweep.communicate(timeout=200)
    assert sweep.returncode == 0, errors
    assert [row["status"] for row in ledger(root)] == ["done"] * 3
    assert [attempts(run) for run in runs(root)] == [2, 1, 1]
    (again,) = [event for event in events(first) if event["event"] == "resume"]
    assert again["step"] == again["rows"] > 5  # it goes on where it was stopped; nothing is redone
    assert rows(first) == 300
    assert not live_processes(f"{root}/")


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def attempts(run: Path) -> int:
    return int(json.loads((run / "run.json").read_text())["attempts"])


@pytest.fixture
def ray_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A cluster with room for two runs, as `ray start` makes it."""
    ray = [sys.executable, "-m", "ray.scripts.scripts"]
    words = ["start", "--head", "--block", "--num-cpus=2", "--port=0", "--disable-usage-stats"]
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")  # newer ones ask for a token
    with (
        (tmp_path / "ray.log").open("wb") as log,
        subprocess.Popen([*ray, *words], stdout=log, stderr=log, start_new_session=True) as head,
    ):
        try:
            address = wait_until(
                lambda: re.search(r"--address='([^']+)'", (tmp_path / "ray.log").read_text()),
                "the address of the cluster",
            )
            monkeypatch.setenv("RAY_ADDRESS", address[1])
            yield
        finally:
            head.terminate()
            head.wait(timeout=60)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(head.pid, signal.SIGKILL)


@RAY
@pytest.mark.usefixtures("ray_cluster")
def test_a_ray_cluster_of_two_workers_runs_a_sweep(tmp_path: Path) -> None:
    words = (*TABULAR, "trainer.steps=40", "seed=1,2,3", "hydra/launcher=ray_cluster")
    done = harness("sweep", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    root = only_sweep(tmp_path)
    assert [row["status"] for row in ledger(root)] == ["done"] * 3
    records = [events(run) for run in runs(root)]
    spans = [(record[0]["time_unix_s"], record[-1]["time_unix_s"]) for record in records]
    assert most_at_once(spans) == 2
    assert [attempts(run) for run in runs(root)] == [1, 1, 1]


@RAY
@pytest.mark.usefixtures("ray_cluster")
def test_a_sweep_on_ray_that_is_stopped_stops_its_runs_and_goes_on(tmp_path: Path) -> None:
    words = (*TABULAR, "trainer.steps=400", "seed=1,2,3", "hydra/launcher=ray_cluster")
    with start_command("sweep", *words, cwd=tmp_path) as sweep:
        root = wait_until(lambda: next(tmp_path.glob("runs/*"), None), "the sweep's folder")
        wait_until(lambda: rows(root / "0-medium-seed1") > 5, "steps of the first run")
        time.sleep(1.5)  # Ray has taken SIGTERM for itself, and the sweep has taken it back
        sweep.send_signal(signal.SIGTERM)
        _, errors = sweep.communicate(timeout=100)
    assert sweep.returncode == 75, errors
    assert "stopped; continue with `harness resume" in errors
    assert {row["status"] for row in ledger(root)} <= {"stopped", "planned", "done"}
    assert harness("resume", str(root), cwd=tmp_path).returncode == 0
    assert [rows(run) for run in runs(root)] == [400] * 3


def runs(root: Path) -> list[Path]:
    return sorted(root.glob("*-seed*"))
