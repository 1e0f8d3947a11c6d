"""Nodes before they train: what Slurm says of them, who is let in, and how they count."""

from __future__ import annotations

import json
import socket
import threading
import time
from dataclasses import replace
from multiprocessing import AuthenticationError
from pathlib import Path

import pytest

from harness.config.run import TrainerConfig
from harness.errors import ConfigError, DeviceError, StoppedError
from harness.execution.nodes import is_of_several
from harness.testing import commands
from harness.train.ranks import nodes
from harness.train.ranks.nodes import Hello, Nodes, call
from harness.train.ranks.place import RankAddress, place_file
from harness.utils import slurm_step
from harness.utils.slurm_step import SlurmStep
from tests.train.made import make_run
from tests.train.made_nodes import NAMES, on_two, step_on_two_nodes
from tests.train.made_ranks import config

__all__ = ["step_on_two_nodes"]  # the fixture


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
