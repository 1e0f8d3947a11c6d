"""Runs of several ranks: the numbers of one, and what comes of a rank that is lost."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from harness.config.algorithm import RemedyConfig
from harness.config.run import AlgorithmConfig, PolicyConfig, TrainerConfig
from harness.errors import ConfigError, StoppedError
from harness.records import checkpoints, run_folder
from harness.records.run_folder import RunFolder
from harness.testing import commands
from harness.train.ranks.batch_parts import by_tokens
from harness.train.ranks.links import BUCKET, _buckets
from harness.train.ranks.worker import Call, RankError, started_here
from tests.train.made import make_run, start, status, wait_for
from tests.train.made_ranks import POLICY, alone, assert_close, config, lives, ranks_of, trained

__all__ = ["alone"]  # the fixture


def test_two_ranks_give_the_numbers_of_one(alone: RunFolder, tmp_path: Path) -> None:
    assert_close(trained(tmp_path / "two", config(2)), alone)


@pytest.mark.slow
def test_four_ranks_give_the_numbers_of_one(alone: RunFolder, tmp_path: Path) -> None:
    assert_close(trained(tmp_path / "four", config(4)), alone)


@pytest.mark.slow
def test_with_adapters_two_ranks_give_the_numbers_of_one(tmp_path: Path) -> None:
    adapted = replace(POLICY, lora_rank=4)
    one, two = (trained(tmp_path / str(n), config(n, adapted)) for n in (1, 2))
    assert_close(two, one)


@pytest.mark.slow  # three runs of two ranks
def test_a_lost_rank_ends_the_run_which_goes_on_with_another_number(
    alone: RunFolder, tmp_path: Path
) -> None:
    """The last whole step is saved, though no checkpoint was due."""
    run = make_run(tmp_path / "run", config(2), users=None)
    child = start(run)
    wait_for(child, "step", 1)
    (other,) = ranks_of(child)
    os.kill(other, signal.SIGKILL)
    err = child.communicate(timeout=120)[1]
    rule = f"{run.path}: a run needs all of its ranks, got rank 1 of 2 killed by signal 9"
    assert (child.returncode, status(run)["status"]) == (StoppedError.exit_code, "stopped")
    assert status(run)["reason"] == f"{rule}; continue with `harness resume {run.path}`"
    assert rule in err
    saved = checkpoints.all_in(run.checkpoints)
    assert checkpoints.step_of(saved[-1]) == status(run)["last_step"] >= 1
    done = commands.harness("resume", str(run.path), "--ranks", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert_close(run, alone)
    begun = [json.loads(line) for line in run.events.read_text().splitlines()]
    assert [e["ranks"] for e in begun if e["event"] in ("start", "resume")] == [2, 1]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["learn", "share_weights", "log_probabilities"])
def test_wherever_a_rank_is_lost_the_last_whole_step_is_saved(tmp_path: Path, method: str) -> None:
    """In the third step; the rank ends itself when it is asked for `method`."""
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n"
        "if 'harness.train.loop.rank' in sys.orig_argv:\n"
        "    from harness.train.ranks import worker\n"
        "    before, asked = worker._answer, []\n"
        "    def answer(rank, call, *more):\n"
        f"        asked.append(call.method == {method!r})\n"
        f"        if sum(asked) == {MET[method]}:\n"
        "            os._exit(9)\n"
        "        return before(rank, call, *more)\n"
        "    worker._answer = answer\n"
    )
    run = make_run(tmp_path / "run", config(2), users=None)
    words = [sys.executable, "-m", "harness.train", str(run.path)]
    path = f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == StoppedError.exit_code, done.stderr
    assert "rank 1 of 2 ended with exit code 9" in done.stderr
    saved = checkpoints.all_in(run.checkpoints)
    assert checkpoints.step_of(saved[-1]) == status(run)["last_step"] == 2


MET = {"learn": 5, "share_weights": 6, "log_probabilities": 3}
"""How often each is asked for until it is in the third step, between its updates if it can be."""


@pytest.mark.slow  # it waits for a deadline
def test_a_rank_that_hangs_is_named_at_the_deadline(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", config(2, deadline_s=12.0), users=None)
    child = start(run)
    wait_for(child, "step", 1)
    (other,) = ranks_of(child)
    os.kill(other, signal.SIGSTOP)
    child.communicate(timeout=120)
    assert child.returncode == StoppedError.exit_code
    waited = "after 12 s in it (trainer.deadline_s), waiting for rank 1 of 2"
    assert status(run)["reason"].endswith(waited)
    until = time.monotonic() + 10
    while lives(other):
        assert time.monotonic() < until, "the rank outlived its run"


def test_a_bug_in_a_rank_has_its_name_and_its_traceback(tmp_path: Path) -> None:
    worker = started_here(tmp_path, 1, 2)
    try:
        worker.send(Call("meet", ("nothing",)))
        with pytest.raises(RankError, match=r"AttributeError: .* \(rank 1 of 2\)") as raised:
            worker.receive()
        assert "Traceback" in raised.value.__notes__[0]
        worker.send(Call("begin", (replace(config(1), trainer=TrainerConfig(gpus=1)), False)))
        with pytest.raises(StoppedError.__mro__[1], match="torch sees no GPU") as refused:
            worker.receive()
        assert str(refused.value).endswith("(rank 1 of 2)")
    finally:
        worker.end()


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        (
            {"policy": PolicyConfig(name="tabular", kind="tabular")},
            "policy.kind=tabular trains in one process, got trainer.gpus=2",
        ),
        (
            {"trainer": TrainerConfig(gpus=4, conversations=16), "algorithm": AlgorithmConfig()},
            "trainer.conversations must be at least one group per rank, got 2 groups of 8 "
            "conversations with trainer.gpus=4",
        ),
    ],
)
def test_ranks_that_have_nothing_to_share_are_refused(changes: Any, rule: str) -> None:
    given = replace(config(1), trainer=TrainerConfig(), remedy=RemedyConfig())
    with pytest.raises(ConfigError) as refused:
        replace(given, **({"trainer": TrainerConfig(gpus=2)} | changes))
    assert str(refused.value) == rule


@pytest.mark.parametrize(
    ("conversations", "group_size", "ranks", "most"),
    [(64, 16, 3, 32), (64, 8, 3, 24), (64, 8, 8, 8), (64, 8, 1, 64)],
)
def test_a_rank_draws_whole_groups(
    conversations: int, group_size: int, ranks: int, most: int
) -> None:
    trainer = TrainerConfig(conversations=conversations, ranks=ranks)
    given = replace(config(1), trainer=trainer, algorithm=AlgorithmConfig(group_size=group_size))
    assert given.conversations_of_a_rank == most


def test_a_gpu_has_one_rank() -> None:
    rule = "trainer.ranks must be null or the number of GPUs, since each rank has one, got 3"
    with pytest.raises(ConfigError, match=rule):
        TrainerConfig(gpus=2, ranks=3)
    with pytest.raises(ConfigError, match="gets its weights from one process, got 2 ranks"):
        TrainerConfig(ranks=2, engine="vllm_server", engine_url="http://localhost:1")


def test_only_a_run_goes_on_with_another_number_of_ranks(tmp_path: Path) -> None:
    words = ["policy=tabular", "trainer.steps=1", "--dir", str(tmp_path / "sweep"), "--yes"]
    assert commands.harness("sweep", *words, cwd=tmp_path).returncode == 0
    refused = commands.harness("resume", str(tmp_path / "sweep"), "--ranks", "2", cwd=tmp_path)
    assert refused.returncode == ConfigError.exit_code
    assert "--ranks: must be given with a run, got the sweep" in refused.stderr
    (run,) = (tmp_path / "sweep").glob("0-*")
    refused = commands.harness("resume", str(run), "--ranks", "2", cwd=tmp_path)
    assert refused.returncode == ConfigError.exit_code
    assert "policy.kind=tabular trains in one process, got trainer.ranks=2" in refused.stderr


@given(st.lists(st.integers(1, 500), min_size=8, max_size=60), st.integers(1, 8))
def test_parts_have_every_conversation_once_and_as_many_tokens(lengths: Any, parts: int) -> None:
    split = by_tokens(lengths, parts)
    assert sorted(i for part in split for i in part) == list(range(len(lengths)))
    assert all(part and part == sorted(part) for part in split)
    tokens = [sum(lengths[i] for i in part) for part in split]
    assert max(tokens) - min(tokens) <= max(lengths)


@given(st.lists(st.integers(1, BUCKET), min_size=1, max_size=12))
def test_buckets_keep_the_order_and_are_no_larger_than_they_may(sizes: Any) -> None:
    tensors = [torch.empty(size, device="meta") for size in sizes]
    buckets = list(_buckets(tensors))
    assert [t for bucket in buckets for t in bucket] == tensors
    assert all(sum(t.numel() for t in bucket) <= BUCKET for bucket in buckets)


def test_a_gpu_less_machine_has_no_ranks_on_gpus(tmp_path: Path) -> None:
    words = ["policy=hf", "policy.init=random", "trainer.gpus=2", "--dir", str(tmp_path / "run")]
    done = commands.harness("train", *words, cwd=tmp_path)
    assert done.stderr == "harness: trainer.gpus: must be 0 without a visible GPU, got 2\n"
    assert not run_folder.RunFolder(tmp_path / "run").is_run()
