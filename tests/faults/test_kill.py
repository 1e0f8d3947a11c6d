"""Nobody is killed for a number in a file: Ctrl-C twice ends what the sweep started, no other."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.execution import child_process
from harness.records import holder, holder_file, run_lock
from harness.records.run_folder import RunFolder
from harness.testing.commands import (
    TABULAR,
    ledger,
    live_processes,
    rows,
    start_command,
    wait_until,
)
from tests.faults.limited import RUN, quick
from tests.train.made import make_run

NODE = os.uname().nodename
Record = Callable[[str, object], None]


def attack(what: str) -> pytest.MarkDecorator:
    return pytest.mark.attack(what, expected="that process lives on")


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """Somebody else's process, with a group of its own."""
    with subprocess.Popen(["sleep", "300"], start_new_session=True) as sleeper:
        yield sleeper
        sleeper.kill()


@attack("a held folder's .holder names another process, as older versions and as this one write it")
def test_a_number_in_holder_is_no_reason_to_kill(
    tmp_path: Path, bystander: subprocess.Popen[bytes], record_property: Record
) -> None:
    run = make_run(tmp_path / "run", quick())
    taken = run_lock.acquire(run.path, 0)
    assert taken is not None
    began = holder_file.start_time(bystander.pid)
    for text in (
        f"{bystander.pid} on {NODE}\n",
        f"{bystander.pid} on {NODE}\nstarted {began}\n",
        f"{bystander.pid} on {NODE}\nstarted 8d6f4c02 1\n",
        f"1 on {NODE}\n",
        f"1 on {NODE}\nstarted {holder_file.start_time(1)}\n",
        f"0 on {NODE}\nstarted None\n",
        f"-1 on {NODE}\nstarted None\n",
        f"{os.getpid()} on {NODE}\nstarted {holder_file.start_time(os.getpid())}\n",
    ):
        run.holder.write_text(text)
        holder.kill(run)
    time.sleep(0.1)
    record_property("seen", f"the process {bystander.pid}: {bystander.poll() or 'alive'}")
    assert bystander.poll() is None
    os.close(taken)


@attack("a run in the foreground, of this user, holds a folder that a sweep gives up")
def test_a_run_that_a_person_started_is_not_the_sweeps_to_kill(
    tmp_path: Path, record_property: Record
) -> None:
    run = make_run(tmp_path / "run", quick(steps=100_000))
    with subprocess.Popen([*RUN, str(run.path)], stderr=subprocess.DEVNULL) as child:
        wait_until(lambda: rows(run.path) > 0, "a step")
        holder.kill(run)
        time.sleep(0.2)
        record_property("seen", f"the process {child.pid}: {child.poll() or 'alive'}")
        assert child.poll() is None
        child.kill()


@attack("while a sweep runs, .holder of its runs is made to name another; Ctrl-C twice")
@pytest.mark.slow
def test_ctrl_c_twice_ends_what_the_sweep_started_and_no_other(
    tmp_path: Path, bystander: subprocess.Popen[bytes], record_property: Record
) -> None:
    words = ("policy=tabular", "trainer.conversations=512", "trainer.steps=100000", "seed=1,2")
    with start_command("sweep", *words, cwd=tmp_path) as sweep:
        wait_until(lambda: any(map(rows, tmp_path.glob("runs/*/*-seed1"))), "steps")
        (root,) = (tmp_path / "runs").iterdir()
        for _ in range(2):
            for path in root.glob("*/.holder"):
                path.write_text(f"{bystander.pid} on {NODE}\n")
            sweep.send_signal(signal.SIGINT)
            wait_until(lambda: sweep.poll() is not None or (root / ".stop").exists(), "Ctrl-C")
        sweep.communicate(timeout=60)
    record_property("seen", f"exit {sweep.returncode}; the other: {bystander.poll() or 'alive'}")
    assert sweep.returncode == 130
    assert bystander.poll() is None
    wait_until(lambda: not live_processes(f"{root}/"), "the runs to be gone")


@pytest.mark.slow
def test_a_run_of_a_sweep_is_killed_with_what_it_started(tmp_path: Path) -> None:
    with start_command("sweep", *TABULAR, "trainer.steps=100000", "seed=1", cwd=tmp_path) as sweep:
        wait_until(lambda: any(map(rows, tmp_path.glob("runs/*/*-seed1"))), "steps")
        (path,) = tmp_path.glob("runs/*/*-seed1")
        holder.kill(RunFolder(path))
        sweep.communicate(timeout=60)
    assert sweep.returncode == 3
    assert ledger(path.parent)[0]["reason"] == "killed by signal 9"


@pytest.mark.attack(
    "a run's process ends and leaves one of its own behind, in its group", "that one is ended too"
)
def test_what_a_run_started_ends_with_it(tmp_path: Path, record_property: Record) -> None:
    words = ["sh", "-c", "sleep 300 & echo $! > left; exit 7"]
    child = subprocess.Popen(words, cwd=tmp_path, start_new_session=True)
    assert child_process.wait(child, lambda: False, 1.0) == 7
    left = int((tmp_path / "left").read_text())
    wait_until(lambda: holder_file.start_time(left) is None, "it to be gone")
    record_property("seen", f"exit 7; {left} is gone")
