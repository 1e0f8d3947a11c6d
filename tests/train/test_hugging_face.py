"""Hugging Face policies on a CPU: shapes with random weights, a folder, adapters, precision."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import modeling_utils

from harness.compose import planner
from harness.policy import huggingface
from harness.train.engines.scoring import entropies, head_logits, log_distribution, own_states
from harness.train.loop import start
from harness.train.objective.micro_batches import activation_bytes
from tests.train.made import go_on, make_run, status
from tests.train.made_hugging_face import SMALL, THINKS, config, finish, folder_with_a_model, rows

LISTED = {
    "qwen2_5_0_5b": 0.494, "qwen2_5_1_5b": 1.544, "qwen2_5_7b": 7.616, "qwen3_0_6b": 0.596,
    "qwen3_1_7b": 1.721, "qwen3_4b": 4.022, "llama3_2_1b": 1.236,
}  # fmt: skip
"""Billions of weights, as their cards have them."""


@pytest.mark.parametrize(
    "architecture",
    ["qwen3", pytest.param("qwen2", marks=pytest.mark.slow),
     pytest.param("llama", marks=pytest.mark.slow)],
)  # fmt: skip
def test_a_shape_with_random_weights_trains(tmp_path: Path, architecture: str) -> None:
    run = make_run(tmp_path / "run", config(replace(SMALL, architecture=architecture)))
    assert finish(run) == 0
    first, last = rows(run)
    # random weights of this size hardly prefer any of 800 tokens
    assert first["entropy"] == pytest.approx(math.log(SMALL.vocabulary), abs=0.05)
    assert last["grad_norm"] > 0
    assert last["text/grammatical"] is None
    assert status(run)["measurement"]["start"] == f"random {architecture} of 2 layers of 32"


@pytest.mark.slow
def test_the_weights_of_a_folder_are_the_same_policy(tmp_path: Path) -> None:
    folder = folder_with_a_model(tmp_path / "model")
    runs = {
        "random": make_run(tmp_path / "random", config(SMALL)),
        "folder": make_run(
            tmp_path / "folder",
            config(replace(SMALL, init="pretrained", model=str(folder)), stop_unheard=False),
        ),
    }
    assert {finish(run) for run in runs.values()} == {0}
    assert rows(runs["random"]) == rows(runs["folder"])


@pytest.mark.slow
def test_adapters_alone_learn_and_go_on_from_their_checkpoint(tmp_path: Path) -> None:
    policy = replace(SMALL, lora_rank=4, dtype="bfloat16", gradient_checkpointing=True)
    run = make_run(tmp_path / "run", config(policy))
    assert finish(run) == 0
    saved = run.checkpoints / "step-00002" / "trainer"
    assert (saved / "adapter_model.safetensors").exists()
    assert not (saved / "model.safetensors").exists()
    again = make_run(tmp_path / "again", config(policy))
    finish(again, stop_after=1)
    assert finish(again) == 0
    assert rows(again) == rows(run)


def test_bfloat16_barely_moves_entropy_and_bfloat16_logits_would_move_it_more() -> None:
    state = torch.random.get_rng_state()
    torch.manual_seed(3)
    hidden = torch.randn(64, 32)
    head = torch.nn.Linear(32, 50_000, bias=False)
    torch.random.set_rng_state(state)
    exact = entropies(log_distribution(hidden.double() @ head.weight.double().T * 8, 1.0))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        ours = entropies(log_distribution(head_logits(head, hidden) * 8, 1.0))
        theirs = entropies(log_distribution(head(hidden).float() * 8, 1.0))
    assert (ours - exact).abs().max() < 1e-4
    assert (theirs - exact).abs().max() > 1e-3


def test_a_cpu_computes_in_float32_and_says_so_once(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / d, config(replace(SMALL, dtype=d), steps=1))
            for d in ("float32", "bfloat16")]  # fmt: skip
    printed = [go_on(run)[2] for run in runs]
    assert runs[0].metrics.read_bytes() == runs[1].metrics.read_bytes()
    notice = "policy.dtype: float32 is used on a CPU, where bfloat16 is not faster (trainer.gpus=0)"
    assert [text.count(notice) for text in printed] == [0, 1]
    exact, asked = (status(run)["measurement"] for run in runs)
    assert asked == {**exact, "computed_in": "float32"}


@pytest.mark.parametrize(
    "name", [n if n == "qwen3_0_6b" else pytest.param(n, marks=pytest.mark.slow) for n in LISTED]
)
def test_a_listed_shape_has_the_weights_its_card_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (point,) = planner.plan([f"policy={name}"]).points
    policy = point.config.policy
    assert len(policy.revision) == 40
    count = sum(p.numel() for p in huggingface.without_weights(policy, None).parameters())
    assert count / 1e9 == pytest.approx(LISTED[name], abs=5e-4)


@pytest.mark.parametrize(("dtype", "rank"), [("float32", 0), ("bfloat16", 0), ("bfloat16", 8)])
@pytest.mark.parametrize("again", [False, True])
def test_activations_are_estimated_as_autograd_keeps_them(
    dtype: str, rank: int, again: bool
) -> None:
    policy = replace(SMALL, hidden_size=128, layers=4, head_size=32, feed_forward_size=384,
                     dtype=dtype, lora_rank=rank, gradient_checkpointing=again)  # fmt: skip
    model = huggingface.load_model(policy, None, "cpu")
    if rank:
        model = huggingface.with_adapters(policy, model)
    if again:
        huggingface.quiet()
        model.gradient_checkpointing_enable({"use_reentrant": False})
    model.train(again)
    weights = {p.untyped_storage().data_ptr() for p in model.parameters()}
    kept: dict[int, torch.UntypedStorage] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage
        return tensor

    ids = torch.randint(0, 400, (4, 200))
    hooks = torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor)
    computed = torch.autocast("cpu", torch.bfloat16, enabled=dtype == "bfloat16")
    with hooks, computed:
        states = own_states(model, ids, torch.ones_like(ids).bool())
    measured = sum(s.nbytes() for at, s in kept.items() if at not in weights) / ids.numel()
    assert states.requires_grad
    estimated = activation_bytes(model.config, dtype, rank > 0, again)
    one_layer = activation_bytes(model.config, dtype, rank > 0, recomputes=False) / 4
    expected = estimated - again * one_layer  # not kept at once
    assert expected == pytest.approx(measured, rel=0.2)


def test_gradient_checkpointing_is_on_only_where_it_is_asked_for() -> None:
    asked = replace(SMALL, gradient_checkpointing=True)
    assert start.load(config(asked), "cpu").learner.is_gradient_checkpointing
    assert not start.load(config(SMALL), "cpu").learner.is_gradient_checkpointing


@pytest.mark.slow
def test_activations_are_computed_again_at_the_first_update(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Layers do that in training mode alone, and conversations are drawn outside it."""
    again: list[int] = []
    plain = modeling_utils.checkpoint

    def counted(*arguments: Any, **named: Any) -> Any:
        again.append(1)
        return plain(*arguments, **named)

    monkeypatch.setattr(modeling_utils, "checkpoint", counted)
    run = make_run(tmp_path / "run", config(replace(SMALL, gradient_checkpointing=True)))
    assert finish(run) == 0
    assert again


@pytest.mark.slow
def test_a_policy_that_thinks_has_an_entropy_of_thinking(tmp_path: Path) -> None:
    folder = folder_with_a_model(tmp_path / "model")
    tokenizer = huggingface.made_up_tokenizer(SMALL.vocabulary - 2)
    tokenizer.add_special_tokens({"additional_special_tokens": ["<think>", "</think>"]})
    tokenizer.chat_template = THINKS
    tokenizer.save_pretrained(folder)
    thinker = replace(SMALL, init="pretrained", model=str(folder), thinking=True)
    run = make_run(tmp_path / "run", config(thinker, steps=1))
    assert finish(run) == 0
    assert rows(run)[0]["entropy/thinking"] == pytest.approx(math.log(SMALL.vocabulary), abs=0.1)


def test_the_start_model_is_a_copy_of_its_own() -> None:
    models = start.load(config(SMALL), "cpu")
    assert not any(p.requires_grad for p in models.judge.parameters())
    for mine, theirs in zip(models.learner.parameters(), models.judge.parameters(), strict=True):
        assert torch.equal(mine, theirs)
        assert mine.data_ptr() != theirs.data_ptr()
