"""The rm command on folders that other processes use, change meanwhile or have half removed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from harness.errors import ConfigError
from harness.records import holder, removal
from harness.records.events import EventLog
from harness.records.run_folder import RunFolder
from harness.testing import commands
from harness.testing.commands import TABULAR, command, harness, here
from tests.cli.made_lists import HEX, a_sweep, add, made, names


def test_a_run_that_is_trained_now_is_75_and_goes_on(tmp_path: Path) -> None:
    words = (*TABULAR, "trainer.steps=100000", "difficulty.turn_cap=2")
    with subprocess.Popen(
        command("train", *words, "--dir", "s/0-a"), cwd=tmp_path, stderr=subprocess.DEVNULL
    ) as training:
        commands.wait_until(lambda: commands.rows(tmp_path / "s/0-a") > 1, "a row")
        done = here("rm", "s/0-a", "--yes", cwd=tmp_path)
        assert done.returncode == 75
        assert f"held by process {training.pid}" in done.stderr
        a_sweep(tmp_path / "other", "1-b")
        (tmp_path / "other/sweep.json").rename(tmp_path / "s/sweep.json")
        assert here("rm", "s", "--yes", cwd=tmp_path).returncode == 75
        assert training.poll() is None
        training.kill()
    assert here("rm", "s", "s/0-a", "--yes", cwd=tmp_path).returncode == 0


def test_a_run_of_a_sweep_that_is_executed_now_is_75(tmp_path: Path) -> None:
    a_sweep(tmp_path / "s", "0-a", "1-b")
    with holder.hold(RunFolder(tmp_path / "s")):
        done = harness("rm", "s/0-a", "--yes", cwd=tmp_path)
        assert done.returncode == 75
        assert f"{tmp_path}/s: held by process" in done.stderr
    assert (tmp_path / "s/0-a").is_dir()


def large(path: Path) -> Path:
    """A run whose removal takes a while."""
    run = made(path)
    (run / "simulator").mkdir()
    for number in range(20_000):
        (run / f"simulator/step-{number:05}.jsonl").touch()
    return run


def test_the_second_of_two_removals_says_that_the_first_is_at_it(tmp_path: Path) -> None:
    run = large(tmp_path / "one")
    first = subprocess.Popen(command("rm", "one", "--yes"), cwd=tmp_path)
    commands.wait_until(lambda: not run.exists(), "the folder to be renamed")
    first.send_signal(signal.SIGSTOP)  # half way, however fast the disk is
    try:
        (rest,) = removal.leftovers(tmp_path)
        second = harness("rm", "one", "--yes", cwd=tmp_path)
        assert (second.returncode, second.stdout) == (65, "")
        assert second.stderr == (f"harness: {tmp_path}/one: another process is removing it now\n")
        assert rest.is_dir()
        assert "was begun" not in here("list", cwd=tmp_path).stderr
    finally:
        first.send_signal(signal.SIGCONT)
    assert first.wait(commands.BUDGET_S) == 0
    assert names(tmp_path) == []


def test_of_two_removals_begun_at_once_one_removes_and_nothing_is_left(tmp_path: Path) -> None:
    for number in range(3):
        a_sweep(tmp_path / f"s{number}", "0-a", "1-b")
        words = command("rm", f"s{number}", "--yes")
        pipe = subprocess.PIPE
        both = [
            subprocess.Popen(words, cwd=tmp_path, stdout=pipe, stderr=pipe, text=True)
            for _ in range(2)
        ]
        said = [(*one.communicate(timeout=commands.BUDGET_S), one.returncode) for one in both]
        assert sorted(code for _, _, code in said) == [0, 65]
        assert sum(out.startswith(f"removed {tmp_path}/s{number}") for out, _, _ in said) == 1
        (error,) = (err for _, err, code in said if code)
        assert error.count("\n") == 1
        assert any(
            end in error
            for end in ("another process has removed it meanwhile", "is removing it now", "is none")
        )
        assert names(tmp_path) == []


def test_a_run_that_comes_into_a_sweep_while_it_asks_is_kept(tmp_path: Path) -> None:
    checked = removal.check(a_sweep(tmp_path / "s", "0-a"))
    made(tmp_path / "s/1-b")
    with pytest.raises(
        ConfigError, match="s: the run 1-b was added meanwhile; nothing was removed"
    ):
        removal.remove(checked)
    assert (tmp_path / "s/1-b/run.json").exists()
    assert names(tmp_path) == ["s"]


def held_elsewhere(folder: Path, silent_s: float) -> None:
    """As a process of another machine leaves it that holds the folder through a network's mount,
    where the device has another number and no lock is seen.
    """
    holder = f"4711 on node-7\nstarted 8d6f 123\nfolder 77:{folder.stat().st_ino}\n"
    (folder / ".holder").write_text(holder)
    then = time.time() - silent_s
    for path in folder.iterdir():
        os.utime(path, (then, then))


@pytest.mark.parametrize("what", ["s", "s/0-a"])
def test_what_another_machine_wrote_to_a_while_ago_is_75(what: str, tmp_path: Path) -> None:
    root = a_sweep(tmp_path / "s", "0-a")
    values = json.loads((root / "0-a/run.json").read_text())
    (root / "0-a/run.json").write_text(json.dumps({**values, "status": "running"}))
    held_elsewhere(root / "0-a", 60)
    done = here("rm", what, "--yes", cwd=tmp_path)
    assert done.returncode == 75
    assert f"{root}/0-a: held by process 4711 on node-7, which wrote to it 6" in done.stderr
    advice = "stop it first, or wait until it has written nothing for 10 minutes"
    assert done.stderr.endswith(f"s ago; {advice}\n")
    assert "0-a: running" in here("status", "s", cwd=tmp_path).stdout
    held_elsewhere(root / "0-a", 700)
    assert "0-a: crashed" in here("status", "s", cwd=tmp_path).stdout
    assert here("rm", what, "--yes", cwd=tmp_path).returncode == 0


def test_a_run_with_long_steps_may_be_silent_for_longer(tmp_path: Path) -> None:
    run = RunFolder(made(tmp_path / "one"))
    EventLog(run.events).append("step", step=3, seconds={"rollout": 280.0, "update": 20.0})
    held_elsewhere(run.path, 700)
    assert here("rm", "one", "--yes", cwd=tmp_path).returncode == 75
    held_elsewhere(run.path, 1000)
    assert here("rm", "one", "--yes", cwd=tmp_path).returncode == 0


def test_a_copy_of_a_run_that_another_machine_holds_is_not_held(tmp_path: Path) -> None:
    held_elsewhere(made(tmp_path / "one"), 1)
    shutil.copytree(tmp_path / "one", tmp_path / "copy")
    assert here("rm", "copy", "--yes", cwd=tmp_path).returncode == 0
    assert here("rm", "one", "--yes", cwd=tmp_path).returncode == 75


def test_a_crash_half_way_loses_nothing_else_and_the_next_removal_finishes(tmp_path: Path) -> None:
    run = large(tmp_path / "one")
    made(tmp_path / "two")
    with subprocess.Popen(command("rm", "one", "--yes"), cwd=tmp_path) as removing:
        commands.wait_until(lambda: not run.exists(), "the folder to be renamed")
        removing.send_signal(signal.SIGKILL)
    (rest,) = removal.leftovers(tmp_path)
    assert (rest / "run.json").exists()  # what says that it is ours goes last
    assert removal.original_name(rest) == "one"
    listed = here("list", cwd=tmp_path)
    assert [line.split()[0] for line in listed.stdout.splitlines()[1:]] == ["two"]
    advice = "`harness rm one` finishes it"
    assert listed.stderr == (f"harness: the removal of one is incomplete; {advice}\n")
    done = here("rm", "one", "--yes", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, f"finished the removal of {rest}\n")
    assert names(tmp_path) == ["two"]


def test_a_folder_of_that_name_that_is_not_ours_is_no_rest(tmp_path: Path) -> None:
    add(tmp_path / f".one.{HEX}.trash", "thesis.tex")
    for name in (f".one.{HEX}.trash", "one"):
        assert here("rm", name, "--yes", cwd=tmp_path).returncode == 65
    assert (tmp_path / f".one.{HEX}.trash/thesis.tex").read_text() == "keep me"


def test_another_folder_that_has_come_to_its_place_is_left_alone(tmp_path: Path) -> None:
    checked = removal.check(made(tmp_path / "one"))
    (tmp_path / "one").rename(tmp_path / "moved")
    add(tmp_path / "one", "thesis.tex")
    with pytest.raises(ConfigError, match="was replaced by another folder"):
        removal.remove(checked)
    assert (tmp_path / "one/thesis.tex").read_text() == "keep me"
    assert names(tmp_path) == ["moved", "one"]


def test_a_file_that_comes_into_the_folder_while_it_asks_is_kept(tmp_path: Path) -> None:
    checked = removal.check(made(tmp_path / "one"))
    add(tmp_path / "one", "thesis.tex")
    with pytest.raises(ConfigError, match=r"one: holds 'thesis\.tex', which is not part of a run"):
        removal.remove(checked)
    assert (tmp_path / "one/thesis.tex").read_text() == "keep me"
    assert (tmp_path / "one/run.json").exists()
    assert names(tmp_path) == ["one"]


def test_a_sweep_that_runs_is_said_to_run_whatever_else_lies_in_it(tmp_path: Path) -> None:
    sweep = a_sweep(tmp_path / "s", "0-a")
    (sweep / ".launcher-0123456789abcdef").mkdir()
    (sweep / "thesis").mkdir()
    with holder.hold(RunFolder(sweep)):
        done = here("rm", "s", "--yes", cwd=tmp_path)
    assert (done.returncode, "held by process" in done.stderr) == (75, True)
    (sweep / "thesis").rmdir()
    assert here("rm", "s", "--yes", cwd=tmp_path).returncode == 0
    assert names(tmp_path) == []
