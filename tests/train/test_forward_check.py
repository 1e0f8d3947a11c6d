"""The trial of a model at load: a distribution that is not the model's own is never logged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from harness.config.run import PolicyConfig
from harness.errors import ConfigError
from harness.policy import huggingface, model_files
from harness.policy.chat import chat_of
from harness.train.engines import forward_check
from harness.train.engines.sampler import Sampler
from harness.train.loop import start
from tests.train.made_hugging_face import SMALL, config, folder_with_a_model

SHAPE: dict[str, Any] = {
    "vocab_size": 800, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "pad_token_id": 0,
}  # fmt: skip
CHAT = chat_of(huggingface.made_up_tokenizer(SMALL.vocabulary))
LONG = 1000
EAGER = replace(SMALL, attention="eager")


def made(architecture: str, attention: str = "sdpa", **keys: Any) -> Any:
    """A model whose random weights are turned up, so that its distribution is far from flat."""
    torch.manual_seed(1)
    shape = AutoConfig.for_model(architecture, **{**SHAPE, **keys})
    model = AutoModelForCausalLM.from_config(shape, attn_implementation=attention).eval()
    with torch.no_grad():
        model.get_input_embeddings().weight.mul_(20)
        if model.get_output_embeddings().weight is not model.get_input_embeddings().weight:
            model.get_output_embeddings().weight.mul_(20)
    return model


@pytest.mark.parametrize("attention", ["sdpa", "eager"])
@pytest.mark.parametrize("architecture", ["llama", "qwen2", "qwen3", "phi3", "olmo2"])
def test_a_model_that_is_read_rightly_passes(architecture: str, attention: str) -> None:
    model = made(architecture, attention)
    forward_check.check(replace(SMALL, attention=attention), model, CHAT, LONG)
    assert forward_check._difference(model, CHAT) < 1e-5


@pytest.mark.parametrize("architecture", ["llama", "qwen2", "qwen3"])
def test_a_model_in_bfloat16_may_differ_by_rounding(architecture: str) -> None:
    """As the frozen weights below adapters are; the head is computed in float32 here alone."""
    model = made(architecture).to(torch.bfloat16)
    forward_check.check(SMALL, model, CHAT, LONG)
    assert forward_check._difference(model, CHAT) < 0.02


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    ("architecture", "attention", "keys"),
    [
        ("granite", "sdpa", {"logits_scaling": 4.0}),
        ("cohere", "sdpa", {"logit_scale": 0.25}),
        ("gemma2", "eager", {"final_logit_softcapping": 30.0}),
    ],
)
def test_a_model_that_changes_its_logits_after_the_head_is_refused(
    architecture: str, attention: str, keys: dict[str, Any], dtype: torch.dtype
) -> None:
    model = made(architecture, attention, **keys).to(dtype)
    policy = PolicyConfig(name="hf", kind="hf", model="OWNER/NAME", attention=attention)
    with pytest.raises(ConfigError, match=r"^policy\.model: OWNER/NAME must have .* H would be"):
        forward_check.check(policy, model, CHAT, LONG)


def test_a_window_shorter_than_a_conversation_is_refused_and_a_longer_one_is_not() -> None:
    model = made("mistral", sliding_window=500)
    forward_check.check(SMALL, model, CHAT, 500)
    with pytest.raises(ConfigError, match=r"its last 500 tokens, .* got up to 501"):
        forward_check.check(SMALL, model, CHAT, 501)


def test_local_layers_of_gpt_neo_are_a_window_too() -> None:
    keys = {"num_layers": 2, "num_heads": 4, "attention_types": [[["global", "local"], 1]]}
    model = made("gpt_neo", "eager", **keys)
    forward_check.check(EAGER, model, CHAT, 256)
    with pytest.raises(ConfigError, match=r"its last 256 tokens, .* got up to 257"):
        forward_check.check(EAGER, model, CHAT, 257)
    everywhere = made("gpt_neo", "eager", **keys | {"attention_types": [[["global"], 2]]})
    forward_check.check(EAGER, everywhere, CHAT, 257)


@pytest.mark.parametrize(
    ("architecture", "keys"),
    [
        ("gpt2", {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 512}),
        ("llama", {"max_position_embeddings": 512}),
        (
            "llama",
            {
                "max_position_embeddings": 4096,
                "rope_parameters": {
                    "rope_type": "dynamic", "rope_theta": 1e4, "factor": 8.0,
                    "original_max_position_embeddings": 512,
                },
            },
        ),
    ],
)  # fmt: skip
def test_a_conversation_that_outgrows_a_models_positions_is_refused(
    architecture: str, keys: dict[str, Any]
) -> None:
    model = made(architecture, **keys)
    forward_check.check(SMALL, model, CHAT, 512)
    rule = (
        ", and a conversation must fit into them, got up to 513 tokens: lower difficulty.turn_cap"
    )
    what = "uses other positions for texts of more than 512 tokens"
    with pytest.raises(ConfigError) as refused:
        forward_check.check(SMALL, model, CHAT, 513)
    assert (what if "rope_parameters" in keys else "has 512 positions") + rule in str(refused.value)


def test_a_model_without_keys_and_values_is_refused_in_a_sentence() -> None:
    torch.manual_seed(1)
    keys = {"vocab_size": 800, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8}
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model("mamba", **keys)).eval()
    with pytest.raises(ConfigError, match=r"whose key-value cache can be kept") as refused:
        forward_check.check(SMALL, model, CHAT, LONG)
    assert "\n" not in str(refused.value)


def test_a_run_refuses_it_when_it_loads(tmp_path: Path) -> None:
    own = folder_with_a_model(tmp_path / "model")
    made("granite", logits_scaling=4.0).save_pretrained(own)
    given = config(replace(SMALL, init="pretrained", model=str(own)))
    with pytest.raises(ConfigError, match="H would be wrong"):
        start.load(given, "cpu")


def test_eager_attention_says_what_sdpa_says() -> None:
    """Turn by turn, in conversations of unlike length, of which one leaves."""
    said = []
    for attention in ("sdpa", "eager"):
        sampler = Sampler(made("llama", attention), 3, 3, 1.0)
        uniforms = torch.rand(3, 6, generator=torch.Generator().manual_seed(2)).double()
        turns = sampler.speak([0, 1, 2], [[5, 6, 7, 8], [9], [10, 11]], uniforms)
        turns += sampler.speak([0, 2], [[12], [13, 14, 15]], uniforms[:2])
        said.append(turns)
    for one, other in zip(*said, strict=True):
        assert one.ids == other.ids
        assert one.logp == pytest.approx(other.logp, abs=1e-4)


def test_flash_attention_is_refused_before_anything_is_created() -> None:
    with pytest.raises(ConfigError, match=r"^policy\.attention must be sdpa or eager, got flash_"):
        model_files.check(replace(SMALL, attention="flash_attention_2"))


def test_a_model_without_sdpa_is_refused_by_the_key_before_its_weights_are_loaded(
    tmp_path: Path,
) -> None:
    own = folder_with_a_model(tmp_path / "model")
    keys = {"num_layers": 2, "num_heads": 4, "attention_types": [[["global"], 2]]}
    made("gpt_neo", "eager", **keys).save_pretrained(own)
    policy = replace(SMALL, init="pretrained", model=str(own))
    rule = (
        r"^policy\.attention must be one that .* gpt_neo, got sdpa; choose policy\.attention=eager"
    )
    with pytest.raises(ConfigError, match=rule):
        model_files.try_model(policy)
    model_files.try_model(replace(policy, attention="eager"))
