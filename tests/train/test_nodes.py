"""Runs on several nodes, which here are processes that Slurm's environment tells apart."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.config.run import PolicyConfig
from harness.errors import ConfigError, StoppedError
from harness.records import checkpoints
from harness.records.run_folder import RunFolder
from harness.testing import commands
from harness.train.ranks import place
from harness.train.ranks.place import RankAddress, place_file
from tests.train.made import make_run, status, wait_for
from tests.train.made_nodes import on_two, step_on_two_nodes
from tests.train.made_ranks import alone, assert_close, config, lives, ranks_of  # noqa: F401

__all__ = ["step_on_two_nodes"]  # the fixture


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
