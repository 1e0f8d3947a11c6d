"""Whoever reads what a run or a sweep says stops reading: it still ends when it has to."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.records.run_folder import RunFolder
from harness.testing.commands import TABULAR, command, ledger, rows, wait_until
from tests.faults.limited import RUN, acknowledged, quick
from tests.train.made import finish, make_run, status

PAGE = 4096
GRACE_S = 0.5
LAST_S = 15.0
"""What it may take beyond that: some seconds for the last words, and a busy machine."""
Record = Callable[[str, object], None]
SLOWER = (
    ("SIGTERM", False),
    ("SIGINT twice", False),
    ("SIGINT twice", True),
    ("deadline", False),
    ("deadline", True),
)


def attack(what: str) -> pytest.MarkDecorator:
    return pytest.mark.attack(what, expected="it ends on time, resumable, with its rows")


class Pipe:
    """A pipe of one page that is read when asked only."""

    def __init__(self, full: bool) -> None:
        self.read_end, self.write_end = os.pipe()
        fcntl.fcntl(self.write_end, fcntl.F_SETPIPE_SZ, PAGE)
        if full:
            os.write(self.write_end, b"\n" * PAGE)

    def close_write_end(self) -> None:
        os.close(self.write_end)

    def text(self) -> str:
        """All that was written, once every writer has gone."""
        with os.fdopen(self.read_end, "rb") as file:
            return file.read().decode().lstrip("\n")


@contextlib.contextmanager
def begun(words: list[str], cwd: Path, out: int, err: int) -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen(words, cwd=cwd, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
    try:
        yield child
    finally:
        child.kill()
        child.wait()


def stands_still(run: RunFolder) -> bool:
    """Whether the run has written rows, and none for a while."""
    before = rows(run.path)
    time.sleep(0.4)
    return 0 < before == rows(run.path)


def held_up(path: Path, **trainer: float) -> RunFolder:
    return make_run(path, quick(steps=100_000, grace_s=GRACE_S, **trainer))


@attack("nobody reads --events, or stderr either, and the run is told to stop")
@pytest.mark.parametrize(
    ("how", "both"),
    [
        ("SIGTERM", True),
        *(pytest.param(how, both, marks=pytest.mark.slow) for how, both in SLOWER),
    ],
)
def test_a_run_that_waits_for_its_reader_ends_when_it_must(
    tmp_path: Path, how: str, both: bool, record_property: Record
) -> None:
    run = held_up(tmp_path / "run", **({"deadline_s": 3.0} if how == "deadline" else {}))
    out, err = Pipe(full=False), Pipe(full=both)
    words = [*RUN, str(run.path), "--events", "jsonl"]
    with begun(words, tmp_path, out.write_end, err.write_end) as child:
        out.close_write_end()
        err.close_write_end()
        wait_until(lambda: stands_still(run) or child.poll() is not None, "the pipe to be full")
        began = time.monotonic()
        for _ in range({"SIGTERM": 1, "SIGINT twice": 2}.get(how, 0)):
            child.send_signal(signal.SIGINT if "INT" in how else signal.SIGTERM)
            time.sleep(0.1)
        code = child.wait(LAST_S + GRACE_S)
    record_property("seen", f"exit {code} after {time.monotonic() - began:.1f} s")
    assert code == (130 if "INT" in how else 75)
    assert (status(run)["status"], status(run)["exit_code"]) == ("stopped", code)
    said = out.text()
    assert said.endswith("}\n"), "no line is cut"
    assert 0 < acknowledged(said) <= rows(run.path) <= acknowledged(said) + 1
    assert json.loads(run.metrics.read_text().splitlines()[-1])["step"] == rows(run.path)


@attack("the program that reads --events pauses for a second and goes on")
def test_a_reader_that_pauses_misses_no_step(
    whole: bytes, tmp_path: Path, record_property: Record
) -> None:
    run = make_run(tmp_path / "run", quick())
    out = Pipe(full=True)
    words = [*RUN, str(run.path), "--events", "jsonl"]
    with begun(words, tmp_path, out.write_end, subprocess.DEVNULL) as child:
        out.close_write_end()
        wait_until(lambda: stands_still(run), "the run to wait")
        said = out.text()
        code = child.wait(LAST_S)
    record_property("seen", f"exit {code}, steps acknowledged to {acknowledged(said)}")
    assert code == 0
    events = [json.loads(line) for line in said.splitlines()]
    assert [e["step"] for e in events if e["event"] == "step"] == [*range(1, 25)]
    assert run.metrics.read_bytes() == whole


@attack("nobody reads stderr of a run from its first line to its last")
def test_a_person_who_does_not_read_holds_up_no_run(
    whole: bytes, tmp_path: Path, record_property: Record
) -> None:
    run = make_run(tmp_path / "run", quick())
    err = Pipe(full=True)
    with begun([*RUN, str(run.path)], tmp_path, subprocess.DEVNULL, err.write_end) as child:
        code = child.wait(LAST_S)
    record_property("seen", f"exit {code}, {rows(run.path)} rows")
    assert code == 0
    assert run.metrics.read_bytes() == whole


@attack("Ctrl-S on the terminal of a run, then SIGTERM")
def test_a_terminal_that_is_stopped_keeps_no_run_alive(
    tmp_path: Path, record_property: Record
) -> None:
    run = held_up(tmp_path / "run")
    ours, theirs = pty.openpty()
    words = [*RUN, str(run.path), "--events", "jsonl"]
    with begun(words, tmp_path, theirs, theirs) as child:
        os.close(theirs)
        os.read(ours, 20)
        os.write(ours, b"\x13")
        wait_until(lambda: stands_still(run) or child.poll() is not None, "the terminal to stop")
        child.terminate()
        code = child.wait(LAST_S + GRACE_S)
    record_property("seen", f"exit {code}: {status(run)['reason']}")
    assert (code, status(run)["status"]) == (75, "stopped")


@attack("a run that waited for its reader and was stopped is continued")
@pytest.mark.slow
def test_what_was_stopped_so_goes_on_to_the_same_rows(whole: bytes, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", quick(grace_s=GRACE_S))
    out = Pipe(full=True)
    words = [*RUN, str(run.path), "--events", "jsonl"]
    with begun(words, tmp_path, out.write_end, subprocess.DEVNULL) as child:
        wait_until(lambda: stands_still(run), "the run to wait")
        child.terminate()
        assert child.wait(LAST_S) == 75
    assert finish(run)[0] == 0
    assert run.metrics.read_bytes() == whole


@pytest.mark.attack(
    "nobody reads stderr of a sweep", "its runs are done all the same, or stopped when told to"
)
@pytest.mark.slow
@pytest.mark.parametrize("stop", [False, True])
def test_a_sweep_whose_progress_nobody_reads_ends(
    tmp_path: Path, stop: bool, record_property: Record
) -> None:
    err = Pipe(full=True)
    steps = 100_000 if stop else 3
    words = command("sweep", *TABULAR, f"trainer.steps={steps}", "seed=1,2", "--json")
    with begun(words, tmp_path, subprocess.DEVNULL, err.write_end) as child:
        if stop:
            wait_until(lambda: any(map(rows, tmp_path.glob("runs/*/*-seed1"))), "steps")
            time.sleep(1.5)
            child.terminate()
        code = child.wait(60)
    (root,) = (tmp_path / "runs").iterdir()
    found = [row["status"] for row in ledger(root)]
    record_property("seen", f"exit {code}: {', '.join(map(str, found))}")
    assert code == (75 if stop else 0)
    assert set(found) <= ({"stopped", "planned"} if stop else {"done"})
