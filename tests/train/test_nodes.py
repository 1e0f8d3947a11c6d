"""Runs on several nodes, which here are processes that Slurm's environment tells apart."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from multiprocessing import AuthenticationError
from pathlib import Path
from typing import Any

import pytest

from harness.config.run import PolicyConfig, RunConfig, TrainerConfig
from harness.errors import ConfigError, DeviceError, StoppedError
from harness.execution.nodes import is_of_several
from harness.records import checkpoints
from harness.records.run_folder import RunFolder
from harness.testing import commands
from harness.train.ranks import nodes, place
from harness.train.ranks.nodes import Hello, Nodes, call
from harness.train.ranks.place import RankAddress, place_file
from harness.utils import slurm_step
from harness.utils.slurm_step import SlurmStep
from tests.train.made import make_run, status, wait_for
from tests.train.made_ranks import alone, assert_close, config, lives, ranks_of  # noqa: F401

NAMES = ("n0", "n1")


@pytest.fixture
def slurm(tmp_path: Path) -> dict[str, str]:
    """What srun tells the processes of a step on two nodes, but for which they are on; both are
    this machine, and a program stands for Slurm's own, which would know neither.
    """
    programs = tmp_path / "bin"
    programs.mkdir()
    scontrol = programs / "scontrol"
    scontrol.write_text(
        f"#!/bin/sh\n[ \"$*\" = 'show hostnames n[0-1]' ] && echo {' '.join(NAMES)}"
    )
    scontrol.chmod(0o755)
    return {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "SLURM_JOB_ID": "7",
        "SLURM_STEP_ID": "0",
        "SLURM_STEP_NUM_NODES": "2",
        "SLURM_STEP_NUM_TASKS": "2",
        "SLURM_STEP_NODELIST": "n[0-1]",
        "MASTER_ADDR": "127.0.0.1",
    }


def on_node(number: int, slurm: Mapping[str, str]) -> dict[str, str]:
    """The environment of the process on a node."""
    return {**os.environ, **slurm, "SLURM_NODEID": str(number), "SLURM_PROCID": str(number)}


def started(run: RunFolder, slurm: Mapping[str, str]) -> list[subprocess.Popen[str]]:
    """The processes of both nodes."""
    words = [
        ["harness.train", str(run.path), "--events", "jsonl"],
        ["harness.train.ranks.node", str(run.path), "--nodes", "2"],
    ]
    return [
        subprocess.Popen(
            [sys.executable, "-m", *of_node],
            env=on_node(number, slurm),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        for number, of_node in enumerate(words)
    ]


def on_two(**trainer: Any) -> RunConfig:
    return config(1, nodes=2, **trainer)


def ended(processes: list[subprocess.Popen[str]]) -> list[tuple[int, str]]:
    """Exit code and stderr of each."""
    return [(p.returncode, err) for p in processes for err in [p.communicate(timeout=300)[1]]]


@pytest.mark.slow  # two whole runs; what two ranks compute is tested where they are on one machine
def test_two_nodes_give_the_numbers_of_one(
    alone: RunFolder,  # noqa: F811
    slurm: dict[str, str],
    tmp_path: Path,
) -> None:
    run = make_run(tmp_path / "run", on_two(), users=None)
    both = ended(started(run, slurm))
    assert [code for code, _ in both] == [0, 0], both
    assert_close(run, alone)
    assert not place_file(run.path).exists()


@pytest.mark.slow  # two whole runs
def test_two_nodes_of_two_ranks_give_the_numbers_of_one(
    alone: RunFolder,  # noqa: F811
    slurm: dict[str, str],
    tmp_path: Path,
) -> None:
    run = make_run(tmp_path / "run", config(2, nodes=2), users=None)
    both = ended(started(run, slurm))
    assert [code for code, _ in both] == [0, 0], both
    assert_close(run, alone)


@pytest.mark.slow
def test_a_lost_node_ends_the_run_which_goes_on_on_one(
    alone: RunFolder,  # noqa: F811
    slurm: dict[str, str],
    tmp_path: Path,
) -> None:
    run = make_run(tmp_path / "run", on_two(), users=None)
    first, other = started(run, slurm)
    wait_for(first, "step", 1)
    (rank,) = ranks_of(other)
    os.kill(other.pid, signal.SIGKILL)
    (code, err), _ = ended([first, other])
    lost = f"{run.path}: a run needs all of its ranks, got rank 1 of 2 lost with node n1"
    assert code == StoppedError.exit_code, err
    assert status(run)["reason"].startswith(lost)
    until = time.monotonic() + 10
    while lives(rank):
        assert time.monotonic() < until, "the rank outlived its node's helper"
    saved = checkpoints.all_in(run.checkpoints)
    assert checkpoints.step_of(saved[-1]) == status(run)["last_step"] >= 1
    on_one = [sys.executable, "-m", "harness.train", str(run.path), "--ranks", "1"]
    done = subprocess.run(on_one, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert_close(run, alone)


@pytest.mark.slow
def test_a_lost_rank_of_another_node_is_named_with_it(
    slurm: dict[str, str], tmp_path: Path
) -> None:
    run = make_run(tmp_path / "run", on_two(), users=None)
    first, other = started(run, slurm)
    wait_for(first, "step", 1)
    (rank,) = ranks_of(other)
    os.kill(rank, signal.SIGKILL)
    (code, err), (other_code, _) = ended([first, other])
    assert (code, other_code) == (StoppedError.exit_code, 0), err
    assert "got rank 1 of 2 killed by signal 9 on node n1; continue" in status(run)["reason"]


@pytest.mark.slow
def test_a_node_ends_with_the_first(slurm: dict[str, str], tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", on_two(), users=None)
    first, other = started(run, slurm)
    wait_for(first, "step", 1)
    (rank,) = ranks_of(other)
    os.kill(first.pid, signal.SIGKILL)
    _, (code, err) = ended([first, other])
    assert code == StoppedError.exit_code
    assert "rank 0 is gone" in err
    assert not lives(rank)


def test_a_node_waits_no_longer_for_a_first_one_that_failed_before_it_listened(
    slurm: dict[str, str], tmp_path: Path
) -> None:
    """Of ten minutes; a word of an earlier start of the step is none of this one's."""
    lacks = PolicyConfig(name="hf", kind="hf", model=str(tmp_path / "none"))
    run = make_run(tmp_path / "run", config(1, lacks, nodes=2), users=None)
    place.tell_ended(run, "is not told without Slurm")
    assert not place_file(run.path).exists()
    place.write(run.path, RankAddress("7.0.earlier", ended="ended with exit code 75"))
    (code, err), (other_code, other_err) = ended(started(run, slurm))
    assert code == ConfigError.exit_code, err
    assert other_code == StoppedError.exit_code
    assert other_err == (
        f"harness: {run.path}: a node needs rank 0, got word from n0 that its process ended with "
        "exit code 2 before the nodes had met\n"
    )


JOB = """
import sys
from harness.execution import job
from harness.execution.retry import RetryPolicy
outcome = job.execute([sys.argv[1]], 0, 0, False, RetryPolicy())
print(outcome.status, outcome.exit_code)
"""


@pytest.mark.slow
def test_a_node_of_a_job_hears_of_a_first_process_that_was_killed(
    slurm: dict[str, str], tmp_path: Path
) -> None:
    run = make_run(tmp_path / "run", on_two(), users=None)
    words = [sys.executable, "-c", JOB, str(run.path)]
    first, other = (
        subprocess.Popen(
            words, env=on_node(number, slurm), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True,
        )
        for number in (0, 1)
    )  # fmt: skip
    child = commands.wait_until(lambda: child_of(first.pid, "harness.train"), "the run's process")
    os.kill(child, signal.SIGKILL)
    began = time.monotonic()
    both = ended([first, other])
    assert [code for code, _ in both] == [0, 0], both
    assert time.monotonic() - began < 120
    assert "got word from n0 that its process ended with exit code 137" in both[1][1]


def child_of(pid: int, module: str) -> int | None:
    """The child of a process that executes `module`."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    for number in children:
        with contextlib.suppress(OSError):
            if f"-m\0{module}\0" in Path(f"/proc/{number}/cmdline").read_text():
                return int(number)
    return None


def test_without_slurm_several_nodes_are_refused(tmp_path: Path) -> None:
    words = ["policy=hf", "policy.init=random", "trainer.nodes=2"]
    done = commands.harness("train", *words, "--dir", str(tmp_path / "run"), cwd=tmp_path)
    rule = "trainer.nodes=2 must be started on each node by Slurm, as by `srun --nodes=2"
    assert done.returncode == ConfigError.exit_code
    assert rule in done.stderr
    done = commands.harness("sweep", *words, "--yes", cwd=tmp_path)
    assert done.returncode == ConfigError.exit_code
    assert "hydra/launcher=slurm with hydra.launcher.nodes=2, got another launcher" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_job_of_one_node_is_no_helper_wherever_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, slurm: dict[str, str]
) -> None:
    """A worker of Ray may have been started by srun on any node of an allocation."""
    for name, value in (slurm | {"SLURM_NODEID": "1"}).items():
        monkeypatch.setenv(name, value)
    assert slurm_step.is_other_node()
    assert not is_of_several(make_run(tmp_path / "one", config(2)).path)
    assert is_of_several(make_run(tmp_path / "two", on_two()).path)
    assert not is_of_several(tmp_path / "none")


def step_of(monkeypatch: pytest.MonkeyPatch, **values: str) -> SlurmStep:
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    return slurm_step.read(2)


def test_a_step_says_which_node_this_is(
    monkeypatch: pytest.MonkeyPatch, slurm: dict[str, str]
) -> None:
    step = step_of(monkeypatch, **slurm, SLURM_NODEID="1")
    assert step == SlurmStep("7.0.0", NAMES, 1, "127.0.0.1")
    assert slurm_step.is_other_node()
    monkeypatch.delenv("MASTER_ADDR")
    assert step_of(monkeypatch, SLURM_NODEID="0", SLURM_RESTART_COUNT="2") == SlurmStep(
        "7.0.2", NAMES, 0, "n0"
    )
    with pytest.raises(ConfigError, match=r"one process on each of 2 nodes, .* got 4 on 2"):
        step_of(monkeypatch, SLURM_STEP_NUM_TASKS="4")
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "2")
    with pytest.raises(DeviceError, match=r"trainer.nodes: scontrol show hostnames: "):
        step_of(monkeypatch, SLURM_STEP_NODELIST="n[0-2]")


def test_whoever_does_not_know_the_key_is_not_let_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does one that calls and says nothing keep a node out."""
    found: list[Nodes] = []
    step = SlurmStep("7.0.0", NAMES, 0, "127.0.0.1")
    waiting = threading.Thread(target=lambda: found.append(Nodes(tmp_path, step)))
    waiting.start()
    while not place_file(tmp_path).exists():
        time.sleep(0.01)
    there = RankAddress(**json.loads(place_file(tmp_path).read_text()))
    assert place_file(tmp_path).stat().st_mode & 0o077 == 0
    silent = socket.create_connection((there.host, there.port))
    with pytest.raises((AuthenticationError, EOFError, OSError)):
        call(RankAddress(there.step, there.host, there.port, "another"), Hello(1))
    assert not found
    own = call(there, Hello(1))
    waiting.join(10)
    (known,) = found
    assert (known.own, known.others[1].name) == ("127.0.0.1", "n1")
    own.close()
    silent.close()
    known.close()


def test_nodes_that_do_not_join_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes, "JOINED_WITHIN_S", 0.2)
    step = SlurmStep("7.0.0", ("n0", "n1", "n2"), 0, "127.0.0.1")
    with pytest.raises(StoppedError, match=r"all of its nodes, n1, n2 did not join within 0.2 s"):
        Nodes(tmp_path, step)


def test_nodes_count_towards_the_ranks() -> None:
    assert TrainerConfig(nodes=2, gpus=4).world == 8
    assert TrainerConfig(nodes=3).world == 3
    alone_again = config(2, nodes=2).on_ranks(1).trainer
    assert (alone_again.nodes, alone_again.world) == (1, 1)
    with pytest.raises(ConfigError, match=r"must give at most 64 ranks, got 16 nodes of 8"):
        TrainerConfig(nodes=16, gpus=8)
    with pytest.raises(ConfigError, match=r"trainer.runs_per_gpu must be 1 for a run on several"):
        TrainerConfig(nodes=2, gpus=1, runs_per_gpu=2)


def test_a_run_that_shared_its_gpu_goes_on_with_several_of_its_own() -> None:
    given = config(1)
    trainer = replace(given.trainer, gpus=1, ranks=None, runs_per_gpu=2)
    shared = replace(given, trainer=trainer)
    assert shared.on_ranks(2).trainer.runs_per_gpu == 1
    assert shared.on_ranks(1).trainer.runs_per_gpu == 2
    with pytest.raises(ConfigError, match=r"not share its GPUs, got 2 with trainer.gpus=2"):
        TrainerConfig(gpus=2, runs_per_gpu=2)
