"""Runs whose weights are sharded: the numbers of one process, the memory, and refusals."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.compose import planner
from harness.config import engine_choice
from harness.config.run import AlgorithmConfig, PolicyConfig, RunConfig, TrainerConfig
from harness.errors import ConfigError, DeviceError, StoppedError
from harness.policy import huggingface
from harness.records import checkpoints
from harness.records.run_folder import RunFolder
from harness.testing import commands
from harness.train.loop import memory
from harness.train.ranks import sharded, shards
from harness.train.ranks.sharded import as_many
from tests.train import test_ranks
from tests.train.made import make_run, start, status, wait_for
from tests.train.test_ranks import assert_close, ranks_of, trained

POLICY = replace(test_ranks.POLICY, tied_head=False)
MOST_NORM = 0.02
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


def config(ranks: int, policy: PolicyConfig = POLICY, **trainer: Any) -> RunConfig:
    """As those of test_ranks, with several micro-batches and a gradient that is clipped."""
    shard = {"shard": "full"} if ranks > 1 else {}
    given = test_ranks.config(ranks, policy, **({"tokens_at_once": 200} | shard | trainer))
    return replace(given, algorithm=AlgorithmConfig(group_size=4, max_grad_norm=MOST_NORM))


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
        (SHORT_WAIT + STOPS, None, "got rank 1 of 2 taking no part in a transfer; continue with"),
    ],
    ids=["lost", "late", "late_without_a_deadline"],
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


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        (
            {"policy": PolicyConfig(name="tabular", kind="tabular")},
            "trainer.shard=full parts a language model's weights, got policy.kind=tabular",
        ),
        (
            {"trainer": TrainerConfig(shard="full")},
            "trainer.shard=full parts weights among ranks, got one rank; set trainer.gpus or "
            "trainer.ranks to 2 or more",
        ),
        (
            {"policy": replace(POLICY, lora_rank=8)},
            "trainer.shard=full is for training all weights, policy.lora_rank=0, got "
            "policy.lora_rank=8",
        ),
        (
            {"trainer": TrainerConfig(shard="full", gpus=2, engine="vllm_colocate")},
            "trainer.shard=full draws with trainer.engine=transformers, got vllm_colocate, which "
            "needs torch's default process group for itself",
        ),
    ],
)
def test_what_cannot_be_sharded_is_refused(changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(ConfigError) as refused:
        replace(config(2), **changes)
    assert str(refused.value) == rule


def test_a_refusal_makes_nothing(tmp_path: Path) -> None:
    words = ["policy=tiny", "trainer.shard=full", "--dir", str(tmp_path / "run")]
    done = commands.harness("train", *words, cwd=tmp_path)
    assert done.returncode == ConfigError.exit_code
    assert "trainer.shard=full parts weights among ranks, got one rank" in done.stderr
    assert not (tmp_path / "run").exists()


def test_sharded_weights_draw_with_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_choice, "installed", lambda: "0.30")
    given = replace(config(2), trainer=TrainerConfig(gpus=2))
    assert engine_choice.chosen(given) == engine_choice.COLOCATED
    sharded = replace(given, trainer=TrainerConfig(gpus=2, shard="full"))
    assert engine_choice.chosen(sharded) == engine_choice.TRANSFORMERS


@pytest.mark.parametrize(("ranks", "most_gb"), [(2, 104.9), (4, 71.4), (8, 54.0)])
def test_the_estimate_has_a_part_of_16_bytes_a_weight_and_what_is_gathered(
    ranks: int, most_gb: float
) -> None:
    """By hand: Qwen2.5 7B is 28 layers of 233,057,792 weights, and 1,089,998,336 outside them; two
    layers' weights, one's gradient and copies of two are 5 layers. Of a layer's weights 11,776 are
    not of linear ones: two norms of 3,584 and biases of 3,584 and twice 512.
    """
    shard = ["policy.lora_rank=0", f"trainer.gpus={ranks}", "trainer.shard=full"]
    given = planner.point(["policy=qwen2_5_7b", *shard]).config
    talking, learning = memory.phases(given, None, 80 * 10**9)
    layer, outside = 233_057_792, 1_089_998_336
    count = 28 * layer + outside
    held = sum(learning.parts[part] for part in ("weights", "gradients", "optimiser"))
    assert held == 16 * count // ranks
    assert learning.parts["gathered weights and gradients"] == 4 * (2 * outside + 5 * layer)
    assert talking.parts["weights"] + talking.parts["optimiser"] == 12 * count // ranks
    linear = 28 * (layer - 11_776)
    read = 2 * linear + 4 * (count - linear)
    assert talking.parts["gathered weights"] == talking.parts["gathered start model"] == read
    assert talking.parts["start model"] == learning.parts["start model"] == read // ranks
    assert talking.parts["rounded weights"] == 0
    assert learning.parts["rounded weights"] == 2 * linear
    assert max(talking.total, learning.total) / 1e9 == pytest.approx(most_gb, abs=0.05)
    told = [phase.advice.startswith("trainer.shard=full") for phase in (talking, learning)]
    assert told == [False, False]


def test_where_weights_are_copies_the_estimate_names_the_key() -> None:
    _, learning = memory.phases(config(2, shard="none"), None)
    assert learning.advice.startswith("trainer.shard=full, policy.lora_rank=32, ")


def test_of_one_rank_nothing_is_sharded() -> None:
    assert config(2).on_ranks(1).trainer.shard == "none"
    assert config(2).on_ranks(3).trainer.shard == "full"


def test_all_ranks_make_as_many_passes() -> None:
    cuts = [[[0, 1], [2]], [[0]], []]
    assert as_many(cuts) == [[[0, 1], [2]], [[0], []], [[], []]]


HALF = torch.bfloat16


def small_model(tied: bool = True) -> Any:
    """A model of SmolLM2's layout and few weights, in float32."""
    policy = replace(POLICY, tied_head=tied)
    return huggingface.load_model(policy, None, "cpu").requires_grad_(True)


@pytest.mark.parametrize("tied", [True, False])
def test_linear_weights_that_are_rounded_read_as_the_passes_round_them(tied: bool) -> None:
    """To the bit, in autocast: all else is read in float32."""
    model = small_model(tied).eval()
    linear = shards.linear_weights(model)
    names = dict(model.named_parameters())
    assert linear == {name for name, p in names.items() if p.dim() == 2} - {
        "model.embed_tokens.weight",
        "lm_head.weight",
    }
    ids = torch.arange(48).reshape(2, 24)
    with torch.no_grad(), torch.autocast("cpu", dtype=HALF):
        plain = model(ids).logits
        for name in linear:
            names[name].data = names[name].data.to(HALF)
        rounded = model(ids).logits
    assert torch.equal(plain, rounded)


ON_A_RANK = """
import json, sys
import torch
import torch.distributed as dist
from harness.train.ranks import shards
from tests.train.test_shards import HALF, small_model

folder, rank, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
dist.init_process_group(
    'gloo', store=dist.FileStore(folder + '/store', size), rank=rank, world_size=size
)
mesh = dist.init_device_mesh('cpu', (size,))

def held(model):
    seen = {}
    for tensor in model.parameters():
        storage = tensor.untyped_storage()
        seen[storage.data_ptr()] = storage.nbytes()
    return sum(seen.values())

torch.manual_seed(1)
model = small_model()
whole = {name: p.data.clone() for name, p in model.named_parameters()}
parked = shards.Parked(model, mesh, HALF)
locals = [part.to_local() for part in parked._parts.values()]
told = {'released': held(model), 'parts': sum(p.untyped_storage().nbytes() for p in locals)}
parked.gather()
told['gathered'] = held(model)
linear = shards.linear_weights(model)
told['same'] = all(
    torch.equal(p.data, whole[name].to(HALF) if name in linear else whole[name])
    for name, p in model.named_parameters()
)
parked.release()
told['again'] = held(model)
with open(f'{folder}/{rank}.json', 'w') as file:
    json.dump(told, file)
dist.destroy_process_group()
"""


@pytest.mark.slow  # two processes
@pytest.mark.timeout(900)
def test_a_model_that_only_reads_is_in_parts_and_whole_while_it_does(tmp_path: Path) -> None:
    """Three ranks, which no weight divides by. Bytes are those of torch's storages."""
    words = [sys.executable, "-c", ON_A_RANK, str(tmp_path)]
    ranks = [subprocess.Popen([*words, str(rank), "3"]) for rank in range(3)]
    assert [rank.wait(600) for rank in ranks] == [0, 0, 0]
    told = [json.loads((tmp_path / f"{rank}.json").read_text()) for rank in range(3)]
    model = small_model()
    linear = shards.linear_weights(model)
    sizes = {name: p.numel() for name, p in model.named_parameters()}
    read = sum(size * (2 if name in linear else 4) for name, size in sizes.items())
    assert all(one["same"] for one in told)
    assert all(read <= one["gathered"] < 1.02 * read for one in told), "but for padding"
    assert sum(one["parts"] for one in told) == read
    assert max(one["parts"] for one in told) < 1.1 * read / 3
    one_number_each = sum(2 if name in linear else 4 for name in sizes)
    assert all(one["again"] == one_number_each for one in told)
    assert all(one["released"] <= 4 * len(sizes) for one in told)


def test_the_estimate_of_a_model_that_reads_is_what_is_held() -> None:
    """As `test_a_model_that_only_reads_...` counts it, in the data type of the passes."""
    model = huggingface.without_weights(POLICY, None)
    count = sum(p.numel() for p in model.parameters())
    linear = shards.linear_weights(model)
    expected = sum(p.numel() * (2 if n in linear else 4) for n, p in model.named_parameters())
    half = replace(POLICY, dtype="bfloat16")
    given = replace(config(2, half), trainer=replace(config(2).trainer, ranks=None, gpus=2))
    talking, learning = memory.phases(given, None)
    assert talking.parts["gathered weights"] == talking.parts["gathered start model"] == expected
    assert learning.parts["start model"] == expected // 2
    assert count * 2 < expected < count * 4


def test_a_saved_count_of_steps_is_a_copy() -> None:
    """The optimiser raises its own count in place while the checkpoint is written."""
    model = torch.nn.Linear(3, 2)
    optimiser = torch.optim.AdamW(model.parameters())
    model(torch.ones(3)).sum().backward()
    optimiser.step()
    moments = [{key: torch.zeros(1) for key in shards.MOMENTS} for _ in model.parameters()]
    state = optimiser.state_dict()
    saved = sharded.whole_state(state, moments)
    optimiser.step()
    assert [float(one["step"]) for one in saved["state"].values()] == [1.0, 1.0]
    assert [float(one["step"]) for one in optimiser.state_dict()["state"].values()] == [2.0, 2.0]
    assert saved["param_groups"] == state["param_groups"]
