"""The lock of a folder that is held is deleted: there is still one writer, and it is named."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from harness.errors import StoppedError
from harness.records import holder, holder_file, run_lock
from harness.records.run_folder import RunFolder
from harness.testing.commands import TABULAR, harness, here, rows, start_command, wait_until
from harness.train.__main__ import attempt
from tests.faults.limited import RUN, quick
from tests.train.made import make_run, status

Record = Callable[[str, object], None]


def attack(what: str) -> pytest.MarkDecorator:
    return pytest.mark.attack(
        what, expected="75 with the first one's number; the rows are the first one's"
    )


SLEEPS = """
import sys, time
from pathlib import Path
from harness.errors import StoppedError
from harness.records import holder, run_folder
run = run_folder.RunFolder(Path(sys.argv[1]))
with holder.hold(run), holder.only_writer(run):
    print("held", flush=True)
    time.sleep(60)
"""


def deleted(run: Path, names: Sequence[str]) -> None:
    for name in names:
        (run / name).unlink()


@pytest.mark.parametrize("names", [[".lock"], [".lock", ".holder"]])
@attack("the lock of a folder is deleted while a process that writes no row holds it")
def test_a_deleted_lock_frees_no_folder(
    tmp_path: Path, names: Sequence[str], record_property: Record
) -> None:
    run = RunFolder(tmp_path)
    words = [sys.executable, "-c", SLEEPS, str(tmp_path)]
    other = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        deleted(tmp_path, names)
        with pytest.raises(StoppedError) as refused:
            holder.take(run)
        assert holder.holder(run) is not None
    finally:
        other.kill()
        other.communicate()
    record_property("seen", str(refused.value))
    by = str(other.pid) if len(names) == 1 else "(number unknown, since .holder does not name it)"
    assert f"{tmp_path}: held by process {by}" in str(refused.value)
    assert holder.holder(run) is None, "free once it is dead"
    os.close(holder.take(run))


@attack("the lock of a run is deleted, then `train`, `resume` or the run's process starts in it")
@pytest.mark.parametrize("names", [[".lock"], [".lock", ".holder"]])
def test_a_run_whose_lock_is_deleted_stays_the_only_writer(
    whole: bytes, tmp_path: Path, names: Sequence[str], record_property: Record
) -> None:
    run = make_run(tmp_path / "run", quick(steps=100_000))
    child = subprocess.Popen([*RUN, str(run.path)], stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: rows(run.path) > 2, "steps")
        deleted(run.path, names)
        second = subprocess.run([*RUN, str(run.path)], capture_output=True, text=True, check=False)
        wait_until(lambda: (run.path / names[-1]).exists(), "the holder to notice")
        resumed = here("resume", "run", cwd=tmp_path)
        assert child.poll() is None
        by = holder.holder(run)
    finally:
        child.kill()
        child.wait()
    record_property("seen", f"exit {second.returncode}: {second.stderr.strip()}")
    assert (second.returncode, resumed.returncode) == (75, 75)
    assert f"held by process {child.pid} on " in resumed.stderr
    assert by == str(holder_file.read(run.path))
    assert status(run)["attempts"] == 1
    assert run.metrics.read_bytes().startswith(whole[: whole.index(b"\n") + 1])
    found = [json.loads(line)["step"] for line in run.metrics.read_text().splitlines()]
    assert found == [*range(1, len(found) + 1)]
    assert "lock_renewed" in run.events.read_text()


@pytest.mark.attack(
    "a run folder is copied, its `.holder` too, while the run is under way; the copy is resumed",
    "the copy is nobody's and goes on; its original stays held",
)
def test_a_copy_of_a_folder_that_is_held_is_free(tmp_path: Path, record_property: Record) -> None:
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    words = [sys.executable, "-c", SLEEPS, str(run.path)]
    other = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        shutil.copytree(run.path, tmp_path / "copy")
        copy = RunFolder(tmp_path / "copy")
        by = holder.holder(copy)
        os.close(holder.take(copy))
        run.path.rename(tmp_path / "moved")
        moved = holder.holder(RunFolder(tmp_path / "moved"))
    finally:
        other.kill()
        other.communicate()
    record_property("seen", f"the copy is held by {by}, the folder that was moved by {moved}")
    assert by is None
    assert moved == f"{other.pid} on {os.uname().nodename}"


@attack("the lock of a sweep is deleted, then the sweep is resumed")
@pytest.mark.slow
def test_a_sweep_whose_lock_is_deleted_is_executed_once(
    tmp_path: Path, record_property: Record
) -> None:
    words = (*TABULAR, "trainer.steps=100000", "seed=1,2")
    with start_command("sweep", *words, cwd=tmp_path) as sweep:
        wait_until(lambda: any(map(rows, tmp_path.glob("runs/*/*-seed1"))), "steps")
        (root,) = (tmp_path / "runs").iterdir()
        (root / ".lock").unlink()
        done = harness("resume", str(root), cwd=tmp_path)
        wait_until(lambda: (root / ".lock").exists() and run_lock.is_taken(root), "a lock again")
        pid = sweep.pid
    record_property("seen", f"exit {done.returncode}: {done.stderr.strip()}")
    assert done.returncode == 75
    assert f"{root}: held by process {pid} on " in done.stderr


@pytest.mark.attack(
    "a file `.holder` is left that names this very process's number, of another boot",
    "the folder is free: its holder is not alive",
)
def test_a_number_that_was_given_again_holds_nothing(
    tmp_path: Path, record_property: Record
) -> None:
    run = RunFolder(tmp_path)
    (tmp_path / ".lock").touch()
    node = os.uname().nodename
    for text in (f"{os.getppid()} on {node}\n", f"{os.getppid()} on {node}\nstarted 8d6f4c02 1\n"):
        run.holder.write_text(text)
        assert holder.holder(run) is None
        os.close(holder.take(run))
    record_property("seen", f"free, though {os.getppid()} is alive")


def test_a_folder_held_by_an_older_version_is_held_and_named(tmp_path: Path) -> None:
    taken = run_lock.acquire(tmp_path, 0)
    assert taken is not None
    (tmp_path / ".holder").write_text("4711 on elsewhere\n")
    assert holder.holder(RunFolder(tmp_path)) == "4711 on elsewhere"
    with pytest.raises(StoppedError, match="held by process 4711 on elsewhere"):
        holder.take(RunFolder(tmp_path))
    os.close(taken)


def test_who_waits_for_a_lock_that_is_deleted_takes_the_file_of_that_name(tmp_path: Path) -> None:
    first = run_lock.acquire(tmp_path, 0)
    assert first is not None
    got: list[int | None] = []
    waiting = threading.Thread(target=lambda: got.append(run_lock.acquire(tmp_path, 5.0)))
    waiting.start()
    (tmp_path / ".lock").unlink()
    os.close(first)
    waiting.join()
    assert got[0] is not None
    assert os.path.samestat(os.fstat(got[0]), (tmp_path / ".lock").stat())
    os.close(got[0])


def test_a_folder_taken_over_is_written_to_no_more(tmp_path: Path) -> None:
    """As by an older version, which asks for the lock alone."""
    run = make_run(tmp_path / "run", quick())
    other = subprocess.Popen(["sleep", "60"])
    try:
        with holder.hold(run):
            seen: list[int] = []

            def emit(event: object) -> None:
                if isinstance(event, dict) and event.get("step") == 3 and not seen:
                    seen.append(3)
                    by = holder_file.Holder(
                        other.pid, os.uname().nodename, holder_file.start_time(other.pid)
                    )
                    run.holder.write_text(by.to_text())

            assert attempt(run, emit) == 75
    finally:
        other.kill()
        other.wait()
    assert rows(run.path) == 3
    assert f"taken over by process {other.pid} on" in status(run)["reason"]


def test_the_rows_of_a_shared_run_can_be_read_by_the_group(tmp_path: Path) -> None:
    """Their file is created when it is locked. The lock file itself stays private."""
    run, before = RunFolder(tmp_path), os.umask(0o027)
    try:
        with holder.hold(run), holder.only_writer(run):
            pass
    finally:
        os.umask(before)
    modes = {path.name: f"{path.stat().st_mode & 0o777:o}" for path in tmp_path.iterdir()}
    assert modes == {".lock": "600", "metrics.jsonl": "640"}
