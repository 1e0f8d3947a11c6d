"""A worker of the launcher is killed, as where memory is short: no other run pays for it."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Sequence
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path

import pytest

from harness.execution import relaunch
from harness.records import holder_file as holders
from harness.records import run_folder, run_status
from harness.records.run_folder import RunFolder
from harness.testing.commands import (
    TABULAR,
    ledger,
    live_processes,
    rows,
    start_command,
    wait_until,
)
from tests.faults.limited import quick
from tests.train.made import finish, make_run

Record = Callable[[str, object], None]


def worker_of(run: Path) -> int:
    """The process that started the run's own, which must be training."""
    holder = int((run / ".holder").read_text().split()[0])
    return int(Path(f"/proc/{holder}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.slow
@pytest.mark.attack(
    "kill -9 of a launcher's worker while two runs are under way and a third waits",
    "all three are done, with the rows of undisturbed runs",
)
def test_a_killed_worker_costs_no_run(tmp_path: Path, record_property: Record) -> None:
    short = (*TABULAR, "trainer.steps=200", "trainer.checkpoint_every=20")
    words = (*short, "seed=1,2,3", "hydra.launcher.n_jobs=2")
    with start_command("sweep", *words, cwd=tmp_path) as sweep:
        wait_until(
            lambda: sum(rows(p) > 30 for p in tmp_path.glob("runs/*/*-seed[12]")) == 2,
            "steps of two runs",
        )
        (root,) = (tmp_path / "runs").iterdir()
        os.kill(worker_of(root / "0-medium-seed1"), signal.SIGKILL)
        _, said = sweep.communicate(timeout=170)
    found = ledger(root)
    record_property("seen", f"exit {sweep.returncode}: {[row['status'] for row in found]}")
    assert sweep.returncode == 0, said
    assert [row["status"] for row in found] == ["done"] * 3
    assert [rows(Path(str(row["dir"]))) for row in found] == [200] * 3
    attempts = [run_status.read(RunFolder(Path(str(r["dir"]))).status).attempts for r in found]
    assert max(attempts[:2]) == 2, "from its checkpoint"
    assert "one of its workers was killed" in said
    assert "runs are launched again; started runs continue from checkpoints" in said
    assert "Traceback" not in said
    config = run_folder.read_config(RunFolder(root / "0-medium-seed1"))
    alone = make_run(tmp_path / "alone", config, users=None)
    assert finish(alone)[0] == 0
    assert alone.metrics.read_bytes() == (root / "0-medium-seed1" / "metrics.jsonl").read_bytes()
    assert not live_processes(f"{root}/")


def planned(root: Path, count: int) -> list[Path]:
    return [make_run(root / str(number), quick()).path for number in range(count)]


def becomes(path: Path, status: str) -> None:
    run = RunFolder(path)
    now = run_status.read(run.status)
    run_status.write(run.status, replace(now, status=status, attempts=now.attempts + 1))


@pytest.mark.attack(
    "one run ends its worker each time that it is tried",
    "it is a failed row with that reason, and the others are done",
)
def test_what_kills_its_workers_is_a_failed_row_in_the_end(
    tmp_path: Path, record_property: Record
) -> None:
    poison, *others = planned(tmp_path, 3)
    launches: list[list[Path]] = []

    def launch(dirs: Sequence[Path]) -> None:
        launches.append([*dirs])
        if poison in dirs:
            becomes(poison, "running")
            raise BrokenProcessPool
        for path in dirs:
            becomes(path, "done")

    relaunch.execute(tmp_path, [poison, *others], launch)
    ended = [run_status.read(RunFolder(path).status) for path in (poison, *others)]
    record_property("seen", f"{ended[0].reason}; {[status.status for status in ended]}")
    assert launches == [[poison, *others]] * 3 + [others]
    assert [status.status for status in ended] == ["failed", "done", "done"]
    assert (ended[0].reason, ended[0].exit_code) == (
        "the launcher's worker was killed 3 times",
        137,
    )


def test_what_had_ended_is_not_launched_again(tmp_path: Path) -> None:
    first, second, third = planned(tmp_path, 3)
    becomes(third, "failed")  # of an earlier attempt at the sweep
    launches: list[list[Path]] = []

    def launch(dirs: Sequence[Path]) -> None:
        launches.append([*dirs])
        if len(launches) == 1:
            becomes(first, "failed")
            becomes(second, "running")
            raise BrokenProcessPool

    relaunch.execute(tmp_path, [first, second, third], launch)
    assert launches == [[first, second, third], [second, third]]


def test_a_launcher_that_begins_nothing_is_not_tried_for_ever(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = planned(tmp_path, 1)
    launches: list[Sequence[Path]] = []

    def launch(dirs: Sequence[Path]) -> None:
        launches.append(dirs)
        raise BrokenProcessPool if error is None else error

    error: Exception | None = None
    relaunch.execute(tmp_path, runs, launch)
    assert len(launches) == relaunch.MOST_LOSSES
    error = ValueError("no such queue")
    relaunch.execute(tmp_path, runs, launch)
    assert len(launches) == relaunch.MOST_LOSSES + 1
    assert "the launcher failed: ValueError: no such queue" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.attack(
    "kill -9 of a launcher's worker of a sweep that is being stopped",
    "it stops: nothing is launched again",
)
def test_a_sweep_that_is_stopping_launches_nothing_again(
    tmp_path: Path, record_property: Record
) -> None:
    words = ("policy=tabular", "trainer.conversations=4096", "trainer.steps=9", "seed=1,2")
    with start_command("sweep", *words, cwd=tmp_path) as sweep:
        held = wait_until(lambda: next(tmp_path.glob("runs/*/*-seed*/.holder"), None), "a run")
        (root,) = (tmp_path / "runs").iterdir()
        worker = worker_of(held.parent)
        sweep.send_signal(signal.SIGTERM)
        wait_until(lambda: (root / ".stop").exists(), "the stop")
        os.kill(worker, signal.SIGKILL)
        _, said = sweep.communicate(timeout=60)
    record_property("seen", f"exit {sweep.returncode}")
    assert sweep.returncode == 75, said
    assert "launched again" not in said
    assert not live_processes(f"{root}/")


def descendants(pid: int) -> dict[int, str]:
    """Command lines of the live processes that process `pid` has started, and those of these."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            parent = int(path.read_text().rpartition(")")[2].split()[1])
            children.setdefault(parent, []).append(int(path.parent.name))
    found, ahead = {}, [pid]
    while ahead:
        for child in children.get(ahead.pop(), []):
            found[child] = holders.command_line(child)
            ahead.append(child)
    return found


def workers_of(sweep: int) -> set[int]:
    """Numbers of a sweep's workers."""
    return {pid for pid, words in descendants(sweep).items() if "LokyProcess-" in words}


@pytest.mark.slow
@pytest.mark.attack(
    "kill -9 of a sweep while its workers are still starting, before any has begun a run",
    "the workers end with it and execute nothing",
)
def test_workers_that_outlive_a_killed_sweep_begin_no_run(
    tmp_path: Path, record_property: Record
) -> None:
    words = (*TABULAR, "trainer.steps=2000", "seed=1,2", "hydra.launcher.n_jobs=2")
    with start_command("sweep", *words, cwd=tmp_path) as sweep:
        wait_until(lambda: len(workers_of(sweep.pid)) == 2, "two workers")
        workers = workers_of(sweep.pid)
        for worker in workers:
            os.kill(worker, signal.SIGSTOP)
        time.sleep(1.0)  # the runs are handed to them meanwhile
        begun = descendants(sweep.pid)
        sweep.kill()
    for worker in workers:
        os.kill(worker, signal.SIGCONT)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and any(map(holders.start_time, begun)):
        time.sleep(0.1)
    left = [words for pid, words in begun.items() if holders.start_time(pid)]
    (root,) = (tmp_path / "runs").iterdir()
    attempts = [run_status.read(RunFolder(p).status).attempts for p in root.glob("*-seed?")]
    record_property("seen", f"{len(left)} processes left, {sum(attempts)} runs begun")
    for pid in begun:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert left == []
    assert attempts == [0, 0]
    assert not live_processes(f"{root}/")
