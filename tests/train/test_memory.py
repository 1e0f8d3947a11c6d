"""The estimate of a GPU's memory: by phase, against what is really held."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from transformers import AutoConfig

from harness.compose import planner
from harness.config.run import TrainerConfig
from harness.errors import DeviceError
from harness.policy import huggingface
from harness.train.engines.sampler import CachedModel
from harness.train.loop import start
from harness.train.memory import conversation_memory, estimate
from harness.train.objective import micro_batches
from harness.utils import installation
from tests.train.made import short
from tests.train.made_hugging_face import SHORT, SMALL, config


def test_what_does_not_fit_is_told_by_phase_and_part() -> None:
    talking, learning = estimate.phases(config(SMALL), None)
    count = sum(p.numel() for p in huggingface.without_weights(SMALL, None).parameters())
    for parts in (talking.parts, learning.parts):
        assert (parts["weights"], parts["start model"]) == (4 * count, 4 * count)
        assert parts["optimiser"] == 8 * count
    assert learning.parts["gradients"] == 4 * count
    most = max(talking.total, learning.total)
    assert estimate.check((talking, learning), most) is None
    told = (
        r"needs about \d\.\d GB in the update \(weights .* GB for it; policy.lora_rank=32, policy"
    )
    warning = estimate.check((talking, learning), most - 1)
    assert warning is not None
    assert re.search(f"{told}.*; trying anyway, since .* within 1.3 times", warning)
    assert estimate.check((talking, learning), math.ceil(most / 1.3)) is not None
    with pytest.raises(DeviceError, match=told):
        estimate.check((talking, learning), math.floor(most / 1.3) - 1)
    with pytest.raises(
        DeviceError, match=r"in the rollout .* for it; fewer trainer.conversations "
    ):
        estimate.check((talking,), 0)


def test_what_never_coexists_is_not_added_up() -> None:
    talking, learning = estimate.phases(config(SMALL), None)
    assert not {"gradients", "activations"} & talking.parts.keys()
    assert not {"keys and values", "vLLM"} & learning.parts.keys()


def test_with_adapters_the_weights_are_counted_once() -> None:
    policy = replace(SMALL, lora_rank=4)
    talking, learning = estimate.phases(config(policy), None)
    made = start.load(config(policy), "cpu")
    weights = {p.data_ptr(): p.nbytes for m in (made.learner, made.judge) for p in m.parameters()}
    assert talking.parts["weights"] + talking.parts["start model"] == sum(weights.values())
    adapters = sum(p.numel() for p in made.learner.parameters() if p.requires_grad)
    assert learning.parts["gradients"] == 4 * adapters
    assert learning.parts["optimiser"] == 8 * adapters


@pytest.mark.parametrize(
    ("words", "talking_gb", "learning_gb"),
    [
        ([], 34.0, 39.1),
        (["policy.lora_rank=32", "policy.gradient_checkpointing=true"], 25.7, 4.1),
    ],
)
def test_the_documented_model_is_not_refused_for_what_never_coexists(
    words: list[str], talking_gb: float, learning_gb: float
) -> None:
    """By hand, at 8 turns of 128 + 64 tokens: two readers of 2 * 28 layers * 1024 * 2 bytes hold
    64 conversations in 22.5 GB; 8 rows keep 28 layers of 43 * 1024 + 9 * 3072 bytes in 24.7 GB.
    """
    (point,) = planner.plan(["policy=qwen3_0_6b", "trainer.engine=transformers", *words]).points
    talking, learning = estimate.phases(point.config, None)
    assert talking.total / 1e9 == pytest.approx(talking_gb, abs=0.1)
    assert learning.total / 1e9 == pytest.approx(learning_gb, abs=0.1)


OPTIONS = sorted(path.stem for path in (installation.shipped() / "conf" / "policy").glob("*.yaml"))


@pytest.mark.parametrize("engine", ["transformers", "vllm_colocate"])
@pytest.mark.parametrize("name", [n for n in OPTIONS if n not in ("hf", "tabular", "smollm2_135m")])
def test_every_shipped_option_fits_a_gpu_of_80_gb_at_its_settings(name: str, engine: str) -> None:
    """By the estimate, of the longest conversations there can be, and 5% of the GPU kept free."""
    given = planner.point([f"policy={name}"]).config
    if given.policy.kind == "tiny":
        assert given.policy.hidden_size <= 128, "too small to have an estimate"
        return
    given = replace(given, trainer=replace(given.trainer, engine=engine))
    phases = estimate.phases(given, None, 80 * 10**9, prompt_tokens=100)
    assert estimate.check(phases, 76 * 10**9) is None


@pytest.mark.parametrize(("gpu_gb", "rows"), [(80, 8), (24, 2), (16, 1), (8, 1)])
def test_a_smaller_gpu_learns_from_fewer_conversations_at_once(gpu_gb: int, rows: int) -> None:
    """Half of what 0.6 billion weights of 16 bytes leave: 35.2, 7.2, 3.2 GB of 3.1 a row."""
    (point,) = planner.plan(["policy=qwen3_0_6b", "trainer.engine=transformers"]).points
    eight = estimate.phases(point.config, None)[1].parts["activations"]
    held = estimate.phases(point.config, None, gpu_gb * 10**9)[1].parts["activations"]
    assert held / eight == pytest.approx(rows / 8)


def test_the_estimate_holds_what_the_weights_leave_as_the_update_does() -> None:
    """By the same formula, of config and of a model."""
    for rank in (0, 4):
        policy = replace(SMALL, lora_rank=rank)
        learner = start.load(config(policy), "cpu").learner
        parts = estimate.phases(config(policy), None)[1].parts
        wanted = parts["weights"] + parts["gradients"] + parts["optimiser"]
        assert micro_batches.held_bytes(learner) == wanted


def test_the_estimate_has_the_longer_conversations_of_an_evaluation_too() -> None:
    given = config(SMALL)
    longer = replace(given, levels=short(5))
    capped = replace(longer, eval=replace(longer.eval, turn_cap=1))
    sizes = [estimate.phases(c, None)[0].parts["keys and values"] for c in (given, longer, capped)]
    blocks = [256, 384, 256]  # of 2 and 5 turns of 72 tokens, in blocks of 128
    assert [size / sizes[0] for size in sizes] == [block / 256 for block in blocks]
    users = replace(given, eval=replace(given.eval, users=1000))
    assert estimate.phases(users, None) == estimate.phases(given, None)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_keys_and_values_are_estimated_as_the_cache_holds_them(dtype: str) -> None:
    given = config(replace(SMALL, dtype=dtype))
    model = huggingface.load_model(SMALL, None, "cpu")
    estimated = estimate.phases(given, None)[0].parts["keys and values"]
    tokens = SHORT.easy.turn_cap * (SMALL.max_turn_tokens + conversation_memory.USER_TOKENS)
    reader = CachedModel(model, 8)
    with torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bfloat16"):
        reader.read([[5] * tokens] * 8)
    layers = reader._cache.layers
    held = sum(s.nbytes for layer in layers for s in (layer.keys, layer.values))
    assert 2 * held == estimated  # the learner's, and the start model's


@pytest.mark.parametrize("architecture", ["llama", "qwen3"])
def test_rounding_the_cache_under_autocast_changes_nothing(
    architecture: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attention rounds keys itself, at every token."""
    model = huggingface.load_model(replace(SMALL, architecture=architecture), None, "cpu")

    def states() -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            reader = CachedModel(model, 2)
            reader.read([[5, 6, 7], [8, 9]])
            return reader.read([[10, 11], [12]])

    rounded = states()
    monkeypatch.setattr("harness.train.engines.ragged_cache._compute_dtype", lambda s: s.dtype)
    assert torch.equal(states(), rounded)


@pytest.mark.parametrize("architecture", ["qwen2", "gpt2"])
def test_a_config_that_leaves_its_head_size_out_is_estimated_too(
    architecture: str, tmp_path: Path
) -> None:
    sizes = {"vocab_size": 500, "hidden_size": 32, "num_attention_heads": 4}
    AutoConfig.for_model(architecture, **sizes).save_pretrained(tmp_path)
    known = AutoConfig.from_pretrained(tmp_path)
    parts = estimate.phases(config(SMALL), tmp_path)[0].parts
    tokens = 256  # 2 turns of 72, in blocks of 128
    kept = getattr(known, "num_key_value_heads", None) or 4
    wanted = 2 * 2 * known.num_hidden_layers * kept * 8 * 4 * 8 * tokens
    assert parts["keys and values"] == wanted


def test_on_a_shared_gpu_vllm_is_in_memory_while_the_policy_learns() -> None:
    alone = TrainerConfig(gpus=1, engine="vllm_colocate")
    for trainer, vllm in ((alone, 0), (replace(alone, runs_per_gpu=6), 3 * 10**9)):
        given = replace(config(SMALL), trainer=trainer)
        rollout, update = estimate.phases(given, None, 10 * 10**9)
        assert rollout.parts["vLLM"] == 3 * 10**9
        assert update.parts.get("vLLM", 0) == vllm


def test_a_policy_that_only_talks_is_estimated_without_an_optimiser() -> None:
    """By hand: a probe of a 7B has its weights and those it began with in float32, on one GPU too
    small for its training.
    """
    words = ["policy=qwen2_5_7b", "policy.lora_rank=0", "trainer.gpus=8", "trainer.shard=full"]
    given = planner.point(words).config.on_ranks(1)
    count = 28 * 233_057_792 + 1_089_998_336
    reading = estimate.of_reading(given, None)
    assert reading.parts["weights"] == reading.parts["start model"] == 4 * count
    assert "optimiser" not in reading.parts
    drawing = replace(given, trainer=replace(given.trainer, engine="transformers"))
    talking, _ = estimate.phases(drawing, None)
    assert reading.parts["keys and values"] == talking.parts["keys and values"] > 0
    served = replace(given.trainer, engine="vllm_server", engine_url="http://localhost:1")
    assert estimate.of_reading(replace(given, trainer=served), None) == reading
    with pytest.raises(DeviceError, match="with CUDA_VISIBLE_DEVICES=, it needs none"):
        estimate.check([reading], reading.total // 2)
    assert reading.total == talking.total - 8 * count


def test_the_ledger_has_vectors_of_all_weights_that_learn() -> None:
    given = config(SMALL)
    kept = replace(given, eval=replace(given.eval, ledger_draws=15))
    groups = given.trainer.conversations // given.algorithm.group_size
    weights = sum(w.numel() for w in huggingface.without_weights(given.policy, None).parameters())
    for asked, vectors in ((given, 0), (kept, 9 + 2 * (groups - 1))):
        _, update = estimate.phases(asked, None)
        assert update.parts["ledger"] == 4 * vectors * weights
