"""Sharded weights: what is refused, what is estimated, and what a rank holds of a model."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.compose import planner
from harness.config import engine_choice
from harness.config.run import PolicyConfig, TrainerConfig
from harness.errors import ConfigError
from harness.policy import huggingface
from harness.testing import commands
from harness.train.memory import estimate
from harness.train.ranks import sharded, shards
from harness.train.ranks.sharded import as_many
from tests.train.made_shards import POLICY, config


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        (
            {"policy": PolicyConfig(name="tabular", kind="tabular")},
            "trainer.shard=full shards a language model's weights, got policy.kind=tabular",
        ),
        (
            {"trainer": TrainerConfig(shard="full")},
            "trainer.shard=full shards weights across ranks, got one rank; set trainer.gpus or "
            "trainer.ranks to 2 or more",
        ),
        (
            {"policy": replace(POLICY, lora_rank=8)},
            "trainer.shard=full is for training all weights, policy.lora_rank=0, got "
            "policy.lora_rank=8",
        ),
        (
            {"trainer": TrainerConfig(shard="full", gpus=2, engine="vllm_colocate")},
            "trainer.shard=full needs trainer.engine=transformers, got vllm_colocate, which "
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
    assert "trainer.shard=full shards weights across ranks, got one rank" in done.stderr
    assert not (tmp_path / "run").exists()


def test_sharded_weights_draw_with_transformers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_choice, "installed_vllm", lambda: "0.30")
    given = replace(config(2), trainer=TrainerConfig(gpus=2))
    assert engine_choice.engine_of(given) == engine_choice.COLOCATED
    sharded = replace(given, trainer=TrainerConfig(gpus=2, shard="full"))
    assert engine_choice.engine_of(sharded) == engine_choice.TRANSFORMERS


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
    talking, learning = estimate.phases(given, None, 80 * 10**9)
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
    _, learning = estimate.phases(config(2, shard="none"), None)
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
parked = shards.ParkedModel(model, mesh, HALF)
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
    talking, learning = estimate.phases(given, None)
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
