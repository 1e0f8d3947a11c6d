"""The first second of a run: one winner, private files, and stops that are obeyed from then on."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from harness.records import holder, run_folder
from harness.records.run_folder import RunFolder
from harness.testing.commands import TABULAR, command, harness, rows, start_command, wait_until
from tests.faults.limited import RUN, modes, quick
from tests.train.made import make_run, status

LONG = (*TABULAR, "trainer.steps=100000")
SHORT = (*TABULAR, "trainer.steps=2")


@pytest.mark.slow
def test_of_four_that_start_in_one_folder_one_wins_and_the_others_are_75(tmp_path: Path) -> None:
    words = command("train", *LONG, "--dir", "d")
    pipe = subprocess.PIPE
    four = [
        subprocess.Popen([*words, f"seed={n}"], cwd=tmp_path, stderr=pipe, text=True)
        for n in range(4)
    ]
    try:
        wait_until(lambda: sum(child.poll() is not None for child in four) == 3, "the losers")
        (winner,) = [child for child in four if child.poll() is None]
        wait_until(lambda: rows(tmp_path / "d") > 1, "steps of the winner")
    finally:
        for child in four:
            child.kill()
        said = [child.communicate()[1] for child in four]
    codes = [child.returncode for child in four]
    assert sorted(codes) == [-signal.SIGKILL, 75, 75, 75]
    assert sum("d: held by " in text for text in said) == 3
    config = run_folder.read_config(RunFolder(tmp_path / "d"))
    assert config.seed == four.index(winner), "the config is the winner's"


@pytest.mark.slow
def test_what_a_run_writes_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert harness("train", *SHORT, "--dir", "d", cwd=tmp_path).returncode == 0
    finally:
        os.umask(before)
    assert set(modes(tmp_path).values()) == {"700", "600"}


@pytest.mark.slow
def test_what_a_run_and_its_law_write_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        assert harness("sweep", *SHORT, "seed=1,2", cwd=tmp_path).returncode == 0
        fitted = harness("fit-entropy-law", "runs", "--figures", "none", cwd=tmp_path)
        shared = harness("train", *SHORT, "--dir", "shared", cwd=tmp_path, HARNESS_UMASK="027")
    finally:
        os.umask(before)
    assert (fitted.returncode, shared.returncode) == (0, 0), fitted.stderr + shared.stderr
    found = modes(tmp_path)
    shared_ones = {path for path in found if path.startswith("shared")}
    assert {found[path] for path in found.keys() - shared_ones} == {"700", "600"}
    assert {found[path] for path in shared_ones} == {"750", "640", "600"}
    assert [path for path in sorted(shared_ones) if found[path] == "600"] == ["shared/.lock"]
    wrong = harness("doctor", cwd=tmp_path, HARNESS_UMASK="private")
    assert wrong.returncode == 2
    assert "HARNESS_UMASK must be an octal number as in 027, got 'private'" in wrong.stderr


@pytest.mark.slow
@pytest.mark.parametrize("shut", [">&-", "2>&-", ">&- 2>&- <&-"])
def test_a_closed_stream_is_no_file_of_the_run(whole: bytes, tmp_path: Path, shut: str) -> None:
    """The first file opened would be number 1 or 2, and events or talk would land in it."""
    run = make_run(tmp_path / "run", quick())
    words = " ".join([*RUN, str(run.path), "--events jsonl"])
    done = subprocess.run(["sh", "-c", f"exec {words} {shut}"], capture_output=True, check=False)
    assert done.returncode == 0
    assert run.metrics.read_bytes() == whole
    assert (run.path / ".lock").read_bytes() == b""
    assert all(json.loads(line)["time_unix_s"] for line in run.events.read_text().splitlines())


@pytest.mark.slow
def test_a_command_without_streams_does_its_work(tmp_path: Path) -> None:
    words = " ".join(command("train", *SHORT, "--dir", "d", "--events", "jsonl"))
    for shut in (">&-", ">&- 2>&- <&-"):
        done = subprocess.run(["sh", "-c", f"exec {words} {shut}"], cwd=tmp_path, check=False)
        assert done.returncode == 0
        assert rows(tmp_path / "d") == 2
        shutil.rmtree(tmp_path / "d")


@pytest.mark.slow
@pytest.mark.parametrize("after_s", [0.4, 0.6, 0.9, 1.3, 1.8, 2.5])
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGUSR1"])
def test_a_stop_in_the_first_seconds_leaves_a_run_to_resume(
    tmp_path: Path, name: str, after_s: float
) -> None:
    """`train` keeps stops back from its first line on, until the run's own process is there."""
    words = (*TABULAR, "trainer.steps=100000", "trainer.checkpoint_every=1000000", "--dir", "d")
    with start_command("train", *words, cwd=tmp_path) as child:
        wait_until(lambda: _blocks_stops(child.pid), "the command to have begun")
        time.sleep(after_s - 0.4)
        child.send_signal(signal.Signals[name])
        _, err = child.communicate(timeout=40)
    assert child.returncode == 75, err
    assert "Traceback" not in err
    run = RunFolder(tmp_path / "d")
    assert (status(run)["status"], status(run)["exit_code"]) == ("stopped", 75)
    assert holder.holder(run) is None


def _blocks_stops(pid: int) -> bool:
    """Whether SIGTERM is blocked, or caught, in the process."""
    lines = dict(
        line.split(":\t")
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if ":\t" in line
    )
    bit = 1 << (signal.SIGTERM - 1)
    return any(int(lines[name], 16) & bit for name in ("SigBlk", "SigCgt"))


@pytest.mark.slow
def test_a_hangup_stops_nothing(whole: bytes, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", quick())
    child = subprocess.Popen([*RUN, str(run.path)], stderr=subprocess.DEVNULL)
    wait_until(
        lambda: run.path.joinpath(".holder").exists() or child.poll() is not None, "its start"
    )
    for _ in range(5):
        child.send_signal(signal.SIGHUP)
        time.sleep(0.05)
    assert child.wait(60) == 0
    assert run.metrics.read_bytes() == whole


@pytest.mark.slow
def test_who_reads_the_events_may_leave(whole: bytes, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", quick())
    words = [*RUN, str(run.path), "--events", "jsonl"]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert child.stdout is not None
    assert child.stderr is not None
    child.stdout.readline()
    child.stdout.close()
    child.stderr.close()
    assert child.wait(60) == 0
    assert run.metrics.read_bytes() == whole


CLOCK = """
import itertools, time
from datetime import datetime
jumps = itertools.cycle([-3.2e8, 3.2e8, -1e9, 0.0])
real = time.time
time.time = lambda: max(0.0, real() + next(jumps))
"""


@pytest.mark.slow
def test_a_clock_that_jumps_by_decades_changes_no_row(whole: bytes, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(CLOCK)
    run = make_run(tmp_path / "run", quick())
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [*RUN, str(run.path)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert run.metrics.read_bytes() == whole
    noted = [json.loads(line) for line in run.events.read_text().splitlines()]
    assert {event["time_unix_s"] < 1.5e9 for event in noted} == {True, False}, "it did jump"
    assert min(s for e in noted if e["event"] == "step" for s in e["seconds"].values()) >= 0


@pytest.mark.slow
def test_a_run_asked_for_twice_goes_on_once(whole: bytes, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", quick(steps=100_000))
    child = subprocess.Popen([*RUN, str(run.path)], stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: rows(run.path) > 0, "a step")
        done = subprocess.run([*RUN, str(run.path)], capture_output=True, text=True, check=False)
        assert done.returncode == 75
        assert f"held by process {child.pid} on " in done.stderr
    finally:
        child.kill()
        child.wait()
    began = time.monotonic()
    holder.hold(run).__enter__()
    assert time.monotonic() - began < 0.2, "the lock of the dead is free at once"


def test_a_start_that_died_while_it_took_the_lock_is_in_nobodys_way(tmp_path: Path) -> None:
    (tmp_path / "..holder.17.tmp").write_text("17 on")
    (tmp_path / ".lock").write_text("")
    run_folder.create(RunFolder(tmp_path), quick())
    assert sorted(p.name for p in tmp_path.iterdir()) == [".lock", "config.yaml", "run.json"]
