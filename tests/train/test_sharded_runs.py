"""Runs whose weights are sharded: the numbers of one process, the memory, and how they end."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import DeviceError, StoppedError
from harness.policy import huggingface
from harness.records import checkpoints
from harness.records.run_folder import RunFolder
from harness.testing import commands
from tests.train.made import make_run, start, status, wait_for
from tests.train.made_ranks import assert_close, ranks_of, trained
from tests.train.made_shards import MOST_NORM, POLICY, config

MEASURE = """
import gc, json, os, sys
if 'harness.train' in ' '.join(sys.orig_argv):
    import torch
    from torch.optim.optimizer import register_optimizer_step_pre_hook
    from harness.train.ranks import shards
    learn, passes = shards.Shards.learn, []
    def counted(self, batch, settings, cut):
        passes.append([len(cut), sum(map(bool, cut))])
        return learn(self, batch, settings, cut)
    shards.Shards.learn = counted
    def size(tensors):
        return sum(t.to_local().nbytes for t in tensors)
    def measure(optimiser, args, kwargs):
        weights = [p for group in optimiser.param_groups for p in group['params']]
        moments = [m for state in optimiser.state.values() for m in state.values() if m.dim()]
        live = {}
        for thing in gc.get_objects():
            if isinstance(thing, torch.Tensor) and not hasattr(thing, 'to_local'):
                storage = thing.untyped_storage()
                live[storage._cdata] = storage.nbytes()
        told = {
            'weights': size(weights),
            'gradients': size(p.grad for p in weights),
            'moments': size(moments),
            'live': sum(live.values()),
            'passes': passes,
        }
        with open(os.path.join(FOLDER, f'rank-{os.getpid()}.json'), 'w') as file:
            json.dump(told, file)
    register_optimizer_step_pre_hook(measure)
"""
"""Each rank writes what it holds when its optimiser is about to step, and its forward passes."""


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return trained(tmp_path_factory.mktemp("alone") / "run", config(1))


def with_module(folder: Path, text: str) -> dict[str, str]:
    """The environment of a run whose processes read `text` first."""
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(text.replace("FOLDER", repr(str(folder))))
    return {**os.environ, "PYTHONPATH": f"{folder}:{os.environ.get('PYTHONPATH', '')}"}


def ended(run: RunFolder, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    words = [sys.executable, "-m", "harness.train", str(run.path)]
    return subprocess.run(words, env=environment, capture_output=True, text=True, timeout=300)


@pytest.mark.slow  # a minute of CPU, most of it imports
def test_sharded_ranks_give_the_numbers_of_one_with_a_part_of_the_memory_each(
    alone: RunFolder, tmp_path: Path
) -> None:
    """Three steps of two updates."""
    run = make_run(tmp_path / "two", config(2), users=None)
    done = ended(run, with_module(tmp_path / "measured", MEASURE))
    assert done.returncode == 0, done.stderr
    assert_close(run, alone)
    norms = [json.loads(line)["grad_norm"] for line in run.metrics.read_text().splitlines()]
    assert min(norms) > 2 * MOST_NORM, "no gradient was clipped"
    count = sum(p.numel() for p in huggingface.without_weights(POLICY, None).parameters())
    ranks = [json.loads(path.read_text()) for path in (tmp_path / "measured").glob("rank-*")]
    assert len(ranks) == 2
    for rank in ranks:
        assert rank["weights"] == rank["gradients"] == pytest.approx(4 * count / 2, rel=0.01)
        assert rank["moments"] == pytest.approx(8 * count / 2, rel=0.01)
        assert rank["live"] < 1.1 * (16 + 4) * count / 2, "the start model is in parts too"
    made, other = (rank["passes"] for rank in ranks)
    assert [most for most, _ in made] == [most for most, _ in other]
    assert any(own != of for (_, own), (_, of) in zip(made, other, strict=True))
    assert all(own > 1 for _, own in made)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_three_updates_of_three_ranks_are_those_of_one_with_smollm2s_layout(tmp_path: Path) -> None:
    """Small: three query heads to a key head and a tied head; layers are computed again, and parts
    are of unlike size.
    """
    again = replace(
        POLICY, architecture="llama", hidden_size=72, attention_heads=9, key_value_heads=3,
        tied_head=True, gradient_checkpointing=True,
    )  # fmt: skip
    given = {"updates_per_batch": 1, "eval_every": 0, "conversations": 12}
    one, three = (trained(tmp_path / str(n), config(n, again, **given)) for n in (1, 3))
    assert_close(three, one)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_sharded_run_goes_on_with_one_rank_and_back(alone: RunFolder, tmp_path: Path) -> None:
    """With its moments: each of the first two attempts is killed when a step is saved."""
    run = make_run(tmp_path / "run", config(2, checkpoint_every=1), users=None)
    for step, words in ((1, ()), (2, ("--ranks", "1"))):
        child = started(run, *words)
        wait_for(child, "checkpoint", step)
        child.kill()
        child.communicate()
    done = commands.harness("resume", str(run.path), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert_close(run, alone)
    begun = [json.loads(line) for line in run.events.read_text().splitlines()]
    ranks = [(e["step"], e["ranks"]) for e in begun if e["event"] in ("start", "resume")]
    assert ranks == [(0, 2), (1, 1), (2, 2)]


def started(run: RunFolder, *words: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "harness.train", str(run.path), "--events", "jsonl", *words]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_stop_while_ranks_draw_saves_the_last_step(alone: RunFolder, tmp_path: Path) -> None:
    """Moments are gathered once the other rank has held its part of the evaluation."""
    run = make_run(tmp_path / "run", config(2), users=None)
    child = start(run)
    wait_for(child, "evaluation", 3)
    child.send_signal(signal.SIGTERM)
    _, err = child.communicate(timeout=120)
    assert child.returncode == StoppedError.exit_code, err
    assert "stopped by SIGTERM in the evaluation of step 3" in status(run)["reason"]
    assert [checkpoints.step_of(path) for path in checkpoints.all_in(run.checkpoints)] == [2]
    done = commands.harness("resume", str(run.path), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert_close(run, alone)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_sharded_rank_that_is_lost_is_named(alone: RunFolder, tmp_path: Path) -> None:
    """The run goes on from its last checkpoint: a part of the later steps is lost."""
    run = make_run(tmp_path / "run", config(2, checkpoint_every=2), users=None)
    child = start(run)
    wait_for(child, "checkpoint", 2)
    (other,) = ranks_of(child)
    os.kill(other, signal.SIGKILL)
    err = child.communicate(timeout=120)[1]
    rule = f"{run.path}: a run needs all of its ranks, got rank 1 of 2 killed by signal 9"
    assert (child.returncode, status(run)["status"]) == (StoppedError.exit_code, "stopped"), err
    assert status(run)["reason"] == f"{rule}; continue with `harness resume {run.path}`"
    assert [checkpoints.step_of(path) for path in checkpoints.all_in(run.checkpoints)] == [2]
    done = commands.harness("resume", str(run.path), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert_close(run, alone)


AT_AN_UPDATE = """
import os, sys
if 'harness.train.loop.rank' in sys.orig_argv:
    from harness.train.ranks import worker
    before, asked = worker._answer, []
    def answer(rank, call, explained):
        asked.append(call.method == 'shards' and call.arguments[0] == 'learn')
        if sum(asked) == 3:
            at_an_update()
        return before(rank, call, explained)
    worker._answer = answer
"""
"""What becomes of the second rank in the second step, while the first waits for it in torch."""
IS_LOST_UNHEARD = """
import time
def at_an_update():
    if os.fork() == 0:
        os.close(1), os.close(2)
        time.sleep(60)
        os._exit(0)
    os.kill(os.getpid(), 9)
"""
"""No socket tells that it is gone, as none does between GPUs: a child of its own has them too."""
SHORT_WAIT = """
if 'harness.train' in sys.orig_argv:
    from harness.train.loop import rank_launcher
    rank_launcher.LINKED_WITHIN_S = 40.0
"""
SHORT_STEP = """
if 'harness.train' in sys.orig_argv:
    from harness.config import trainer
    trainer.STEP_OF_SEVERAL_RANKS_S = 30.0
"""
"""Where no deadline is set."""
STOPS = """
def at_an_update():
    os.kill(os.getpid(), 19)
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("does", "deadline_s", "why"),
    [
        (IS_LOST_UNHEARD, None, "got rank 1 of 2 killed by signal 9; continue with"),
        (STOPS, 30.0, "after 30 s in it (trainer.deadline_s), waiting for rank 1 of 2"),
        (
            SHORT_STEP + STOPS,
            None,
            "after 30 s in it (trainer.deadline_s), waiting for rank 1 of 2",
        ),
        (SHORT_WAIT + STOPS, None, "got rank 1 of 2 taking no part in a transfer; continue with"),
    ],
    ids=["lost", "late", "late_at_the_default", "late_in_a_transfer"],
)
def test_a_rank_that_the_first_waits_for_in_torch_is_named(
    tmp_path: Path, does: str, deadline_s: float | None, why: str
) -> None:
    run = make_run(tmp_path / "run", config(2, deadline_s=deadline_s, eval_every=0), users=None)
    done = ended(run, with_module(tmp_path / "other", AT_AN_UPDATE + does))
    assert (done.returncode, status(run)["status"]) == (StoppedError.exit_code, "stopped")
    assert why in status(run)["reason"]
    assert why in done.stderr


OUT_OF_MEMORY = """
import sys
if [word for word in sys.orig_argv if word.startswith('harness.train')] == ['MODULE']:
    import torch
    from transformers import Qwen3Model
    plain = Qwen3Model.forward
    def forward(self, *arguments, **named):
        found = plain(self, *arguments, **named)
        if torch.is_grad_enabled():
            raise torch.OutOfMemoryError('CUDA out of memory')
        return found
    Qwen3Model.forward = forward
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "rank"), [("harness.train", ""), ("harness.train.loop.rank", " (rank 1 of 2)")]
)
def test_an_out_of_memory_of_a_sharded_update_names_the_key(
    tmp_path: Path, module: str, rank: str
) -> None:
    run = make_run(tmp_path / "run", config(2, steps=1, eval_every=0), users=None)
    done = ended(run, with_module(tmp_path / "other", OUT_OF_MEMORY.replace("MODULE", module)))
    assert (done.returncode, status(run)["status"]) == (DeviceError.exit_code, "failed")
    told = f"{run.path}: out of memory; lower trainer.tokens_at_once, which trainer.shard=full"
    assert status(run)["reason"].startswith(told)
    assert "out of memory with at most " in status(run)["reason"]
    assert status(run)["reason"].endswith(f"tokens at once (CUDA out of memory)){rank}")
