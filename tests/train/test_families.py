"""Families of models, each tiny and with random weights: read rightly, or refused and why.

    python -m tests.train.test_families

prints the table of docs/policies.md, which the test compares with what is found.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForCausalLM

from harness.config.run import PolicyConfig
from harness.errors import ConfigError
from harness.policy import huggingface
from harness.policy.chat import chat_of
from harness.train.engines import forward_check
from tests.train.made_hugging_face import SMALL

PAGE = Path(__file__).parents[2] / "docs" / "policies.md"
LONGEST = 1536
"""Tokens: 8 turns of 128 and a user's 64, as policy=hf has them."""
SHAPE: dict[str, Any] = {
    "vocab_size": 800, "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8, "pad_token_id": 0,
}  # fmt: skip
SAME = "same H"
REASONS = {
    "must have logits that equal": "refused: does something to its logits after the head",
    "whose key-value cache can be kept": "refused: keeps no keys and values of the usual kind",
    "attends only to its last": "refused: attends to fewer tokens than a conversation has",
    "positions, and a conversation": "refused: has fewer positions than a conversation has tokens",
}
"""By what a refusal says."""


@dataclass(frozen=True)
class Family:
    """One family: as published, so with the keys that its models set."""

    name: str
    architecture: str
    keys: dict[str, Any] = field(default_factory=dict)


FAMILIES = (
    Family("Llama 2, 3", "llama"),
    Family("Qwen2, Qwen2.5", "qwen2"),
    Family("Qwen3", "qwen3"),
    Family("Qwen2-MoE", "qwen2_moe", {"moe_intermediate_size": 16,
           "shared_expert_intermediate_size": 16, "num_experts": 4, "num_experts_per_tok": 2}),
    Family("Qwen3-MoE", "qwen3_moe", {"moe_intermediate_size": 16, "num_experts": 4,
           "num_experts_per_tok": 2}),
    Family("SmolLM3", "smollm3"),
    Family("Mistral, window 4096", "mistral", {"sliding_window": 4096}),
    Family("Mistral, window 512", "mistral", {"sliding_window": 512}),
    Family("Mixtral", "mixtral", {"num_local_experts": 4}),
    Family("Ministral", "ministral", {"sliding_window": 4096}),
    Family("Phi-3", "phi3"),
    Family("Phi-2", "phi"),
    Family("Phi-3 128k", "phi3", {"max_position_embeddings": 131_072,
           "original_max_position_embeddings": 4096, "rope_parameters": {
               "rope_type": "longrope", "rope_theta": 10_000.0, "short_factor": [1.0] * 4,
               "long_factor": [1.5] * 4, "original_max_position_embeddings": 4096}}),
    Family("OLMo", "olmo"),
    Family("OLMoE", "olmoe", {"num_experts": 4, "num_experts_per_tok": 2}),
    Family("OLMo 2", "olmo2"),
    Family("OLMo 3", "olmo3", {"sliding_window": 4096}),
    Family("Gemma", "gemma"),
    Family("Gemma 2", "gemma2", {"sliding_window": 4096}),
    Family("Gemma 3, window 512", "gemma3_text", {"sliding_window": 512}),
    Family("Gemma 3, window 4096", "gemma3_text", {"sliding_window": 4096}),
    Family("Granite", "granite", {"logits_scaling": 8.0}),
    Family("Cohere Command R", "cohere"),
    Family("Cohere Command R7B", "cohere2", {"sliding_window": 4096}),
    Family("LFM2", "lfm2", {"layer_types": ["conv", "full_attention"]}),
    Family("Qwen3-Next", "qwen3_next", {"layer_types": ["linear_attention", "full_attention"],
           "moe_intermediate_size": 16, "shared_expert_intermediate_size": 16, "num_experts": 4,
           "num_experts_per_tok": 2, "linear_num_value_heads": 4, "linear_num_key_heads": 2}),
    Family("Falcon-H1", "falcon_h1"),
    Family("Mamba", "mamba", {"state_size": 8}),
    Family("GLM-4", "glm4"),
    Family("EXAONE 4", "exaone4", {"sliding_window": 4096}),
    Family("StableLM", "stablelm"),
    Family("StarCoder 2", "starcoder2"),
    Family("Nemotron", "nemotron"),
    Family("GPT-2", "gpt2", {"n_embd": 32, "n_layer": 2, "n_head": 4}),
    Family("GPT-Neo", "gpt_neo", {"num_layers": 2, "num_heads": 4,
           "attention_types": [[["global", "local"], 1]]}),
    Family("GPT-J", "gptj", {"n_embd": 32, "n_layer": 2, "n_head": 4, "rotary_dim": 4}),
    Family("GPT-NeoX, Pythia", "gpt_neox"),
    Family("OPT", "opt", {"ffn_dim": 64, "word_embed_proj_dim": 32}),
    Family("BLOOM", "bloom", {"n_layer": 2, "n_head": 4}),
    Family("gpt-oss", "gpt_oss", {"num_local_experts": 4, "sliding_window": 128}),
)  # fmt: skip


def made(family: Family) -> Any:
    """A model whose random weights are turned up, so that its distribution is far from flat."""
    torch.manual_seed(1)
    shape = AutoConfig.for_model(family.architecture, **{**SHAPE, **family.keys})
    model = AutoModelForCausalLM.from_config(shape).eval()
    with torch.no_grad():
        model.get_input_embeddings().weight.mul_(20)
        if model.get_output_embeddings().weight is not model.get_input_embeddings().weight:
            model.get_output_embeddings().weight.mul_(20)
    return model


def outcome(family: Family) -> str:
    """`same H`, or the reason for which a run with this family ends before it begins."""
    policy = PolicyConfig(name="hf", kind="hf", model="OWNER/NAME")
    chat = chat_of(huggingface.made_up_tokenizer(SMALL.vocabulary))
    try:
        forward_check.check(policy, made(family), chat, LONGEST)
    except ConfigError as error:
        return next(why for said, why in REASONS.items() if said in str(error))
    return SAME


def table(outcomes: dict[str, str]) -> str:
    lines = [f"| {name} | {what} |" for name, what in outcomes.items()]
    return "\n".join(["| family | |", "|---|---|", *lines])


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_family_is_read_rightly_or_refused_as_the_page_says(family: Family) -> None:
    assert f"| {family.name} | {outcome(family)} |" in PAGE.read_text(encoding="utf-8")


if __name__ == "__main__":
    print(table({family.name: outcome(family) for family in FAMILIES}))
