"""What a run hears of another rank: that it is lost within a transfer, or has no memory left."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import DeviceError, StoppedError
from harness.records import checkpoints
from harness.train.objective import micro_batches
from tests.train.made import make_run, status
from tests.train.made_ranks import config

pytestmark = pytest.mark.slow
AS_NCCL_HAS_IT = """
import os, signal, sys, time
if 'harness.train.loop.rank' in sys.orig_argv:
    from harness.train.ranks import worker
    before, asked, leader = worker._answer, [], os.getppid()
    def holds_sockets_open():
        os.close(1), os.close(2)
        while not os.path.exists(OVER):
            time.sleep(0.05)
        os._exit(0)
    def answer(rank, call, explained):
        asked.append(call.method == 'gather_gradient')
        if sum(asked) == 3:
            if os.fork() == 0:
                holds_sockets_open()
            os.kill(os.getpid(), SIGNAL)
        return before(rank, call, explained)
    worker._answer = answer
"""
"""A rank that is lost, or stops, within a transfer, and no socket tells: a child of its own has
them too."""


@pytest.mark.parametrize(
    ("number", "deadline_s", "why"),
    [
        (signal.SIGKILL, None, "got rank 1 of 2 killed by signal 9; continue with"),
        (signal.SIGSTOP, 12.0, "(trainer.deadline_s), waiting for rank 1 of 2"),
    ],
)
def test_a_transfer_that_never_ends_ends_the_run(
    tmp_path: Path, number: int, deadline_s: float | None, why: str
) -> None:
    """What NCCL does between GPUs, done to gloo."""
    over = tmp_path / "over"
    stand_in = AS_NCCL_HAS_IT.replace("OVER", repr(str(over))).replace("SIGNAL", str(int(number)))
    (tmp_path / "sitecustomize.py").write_text(stand_in)
    run = make_run(tmp_path / "run", config(2, deadline_s=deadline_s), users=None)
    words = [sys.executable, "-m", "harness.train", str(run.path)]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"}
    try:
        done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)
    finally:
        over.touch()
    assert done.returncode == StoppedError.exit_code, done.stderr
    assert why in status(run)["reason"]
    saved = checkpoints.all_in(run.checkpoints)
    assert [checkpoints.step_of(path) for path in saved] == ([1] if deadline_s is None else [])


OUT_OF_MEMORY = """
import sys
if 'harness.train.loop.rank' in sys.orig_argv:
    import torch
    from transformers import Qwen3Model
    plain = Qwen3Model.forward
    def forward(self, *arguments, **named):
        found = plain(self, *arguments, **named)
        if torch.is_grad_enabled() and named['input_ids'].numel() > ROOM:
            raise torch.OutOfMemoryError('CUDA out of memory')
        return found
    Qwen3Model.forward = forward
"""


def with_room(folder: Path, tokens: int) -> dict[str, str]:
    """The environment of a run whose second rank has room for so many tokens in an update."""
    (folder / "sitecustomize.py").write_text(OUT_OF_MEMORY.replace("ROOM", str(tokens)))
    return {**os.environ, "PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}"}


def test_an_out_of_memory_of_another_rank_is_told_and_kept(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", config(2, steps=1, eval_every=0), users=None)
    words = [sys.executable, "-m", "harness.train", str(run.path)]
    environment = with_room(tmp_path, 300)
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    noted = [json.loads(line) for line in run.events.read_text().splitlines()]
    halved = [event for event in noted if event["event"] == "out_of_memory"]
    assert [event["rank"] for event in halved] == [1]
    most = halved[0]["tokens_at_once"]
    assert most <= 300
    said = f"step 1: out of memory on rank 1 of 2; continuing with at most {most} tokens at once"
    assert said in done.stderr
    kept = next(checkpoints.all_in(run.checkpoints)[-1].rglob(micro_batches.FILE))
    assert json.loads(kept.read_text()) == {"tokens_at_once": most}


def test_a_rank_without_room_for_one_conversation_ends_the_run_as_the_first_would(
    tmp_path: Path,
) -> None:
    run = make_run(tmp_path / "run", config(2, steps=1, eval_every=0), users=None)
    words = [sys.executable, "-m", "harness.train", str(run.path)]
    environment = with_room(tmp_path, 4)
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == DeviceError.exit_code, done.stderr
    assert status(run)["reason"].startswith(f"{run.path}: out of memory; lower trainer.")
    assert status(run)["reason"].endswith("(rank 1 of 2)")
