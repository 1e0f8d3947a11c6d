"""Runs of several ranks, and what they are compared with."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file

from harness.config.algorithm import RemedyConfig
from harness.config.run import AlgorithmConfig, EvalConfig, PolicyConfig, RunConfig, TrainerConfig
from harness.records import checkpoints
from harness.records.run_folder import RunFolder
from tests.train.made import make_run, short, start

POLICY = PolicyConfig(
    name="hf", kind="hf", init="random", hidden_size=32, layers=2, attention_heads=4,
    key_value_heads=2, head_size=8, feed_forward_size=64, vocabulary=800, max_turn_tokens=8,
)  # fmt: skip


SHORT = short(2)


STEPS = 3


CLOSE = 1e-5


def config(ranks: int, policy: PolicyConfig = POLICY, **trainer: Any) -> RunConfig:
    """Two updates a batch, groups drawn again, and terms that look at the whole batch."""
    settings = {"steps": STEPS, "conversations": 16, "updates_per_batch": 2, "eval_every": 2}
    return RunConfig(
        difficulty=SHORT.easy,
        levels=SHORT,
        policy=policy,
        algorithm=AlgorithmConfig(group_size=4),
        remedy=RemedyConfig(name="several", methods={"dynamic_sampling": {}, "kl_cov": {}}),
        eval=EvalConfig(users=6, prefixes=4),
        trainer=TrainerConfig(ranks=ranks, **(settings | trainer)),
    )


def rows_of(run: RunFolder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run.metrics.read_text().splitlines()]


def trained(path: Path, given: RunConfig) -> RunFolder:
    run = make_run(path, given, users=None)
    child = start(run)
    _, err = child.communicate(timeout=300)
    assert child.returncode == 0, err
    return run


def assert_close(run: RunFolder, other: RunFolder) -> None:
    """All columns of all rows, what was said, and the weights."""
    rows, others = rows_of(run), rows_of(other)
    assert len(rows) == len(others) == STEPS
    for row, like in zip(rows, others, strict=True):
        assert row.keys() == like.keys()
        missing = [key for key in row if row[key] is None]
        assert missing == [key for key in like if like[key] is None]
        for key in row.keys() - {"crc32", *missing}:
            assert row[key] == pytest.approx(like[key], abs=CLOSE, rel=CLOSE), (row["step"], key)
    assert said_in(run) == said_in(other) != []
    weights, alike = (load_file(weights_of(r)) for r in (run, other))
    for name, weight in weights.items():
        torch.testing.assert_close(weight, alike[name], atol=CLOSE, rtol=CLOSE)


def said_in(run: RunFolder) -> list[tuple[str, dict[str, Any]]]:
    """All turns that were written: the step's file, their place, who speaks, and the words."""
    columns = ["group", "sample", "turn", "speaker", "text"]
    return [
        (path.name, turn)
        for path in sorted(run.conversations.glob("*.parquet"))
        for turn in pq.read_table(path, columns=columns).to_pylist()
    ]


def weights_of(run: RunFolder) -> Path:
    newest = checkpoints.all_in(run.checkpoints)[-1]
    return next(newest.rglob("*.safetensors"))


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return trained(tmp_path_factory.mktemp("alone") / "run", config(1))


def lives(pid: int) -> bool:
    """Whether a process is there and has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def ranks_of(child: subprocess.Popen[str]) -> list[int]:
    """The processes of the other ranks of a run."""
    children = Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split()
    return [
        int(pid) for pid in children if b"loop.rank" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]
