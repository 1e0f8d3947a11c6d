"""One run on two nodes of a real Slurm, both of which are this machine."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.testing import commands, slurm_cluster

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
RUN = (
    "policy=hf", "policy.init=random", "policy.hidden_size=32", "policy.layers=2",
    "policy.attention_heads=4", "policy.key_value_heads=2", "policy.head_size=8",
    "policy.feed_forward_size=64", "policy.vocabulary=800", "policy.max_turn_tokens=8",
    "policy.dtype=float32", "difficulty=easy", "difficulty.turn_cap=2", "algorithm.group_size=4",
    "trainer.gpus=0", "trainer.steps=2", "trainer.conversations=8", "trainer.eval_every=0",
)  # fmt: skip
CLOSE = 1e-5
LONG_S = 900


@pytest.fixture(scope="module", autouse=True)
def cluster() -> Iterator[None]:
    if missing := slurm_cluster.missing():
        pytest.skip(f"no Slurm of two nodes can be started without {', '.join(missing)}")
    with slurm_cluster.start_cluster(2) as conf, pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLURM_CONF", str(conf))
        patch.setenv("MASTER_ADDR", "127.0.0.1")  # the nodes' names lead nowhere
        yield


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Rows of the same run in one process."""
    folder = tmp_path_factory.mktemp("alone")
    ended(commands.command("train", *RUN, "--dir", "run"), folder)
    return rows(folder / "run")


def ended(words: list[str], cwd: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        words, cwd=cwd, env=environment, capture_output=True, text=True, timeout=LONG_S
    )
    assert done.returncode == 0, done.stderr


def rows(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def assert_on_two_nodes(run: Path, alone: list[dict[str, Any]]) -> None:
    """By its rows, and by what its start says."""
    started = json.loads((run / "events.jsonl").read_text().splitlines()[0])
    assert (started["event"], started["ranks"]) == ("start", 2)
    for row, like in zip(rows(run), alone, strict=True):
        for key in row.keys() - {"crc32"}:
            given = like[key] if like[key] is None else pytest.approx(like[key], CLOSE, CLOSE)
            assert row[key] == given, (row["step"], key)


def test_srun_starts_a_run_on_two_nodes(tmp_path: Path, alone: list[dict[str, Any]]) -> None:
    words = commands.command("train", *RUN, "trainer.nodes=2", "--dir", "run")
    ended(["srun", "--nodes=2", "--ntasks-per-node=1", "--kill-on-bad-exit", *words], tmp_path)
    assert_on_two_nodes(tmp_path / "run", alone)


def test_a_sweep_has_a_job_of_two_nodes_for_each_run(
    tmp_path: Path, alone: list[dict[str, Any]]
) -> None:
    if importlib.util.find_spec("submitit") is None:
        pytest.skip("submitit is not installed: pip install '.[slurm]'")
    on_slurm = ("hydra/launcher=slurm", "hydra.launcher.nodes=2", "hydra.launcher.timeout_min=20")
    words = commands.command("sweep", *RUN, "trainer.nodes=2", *on_slurm, "--name", "wide", "--yes")
    ended(words, tmp_path)
    (run,) = (tmp_path / "runs" / "wide").glob("0-*")
    assert_on_two_nodes(run, alone)
