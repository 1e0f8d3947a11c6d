"""Causal language models: of the Hugging Face hub, of a folder, or random ones of a shape."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

from harness.config import PolicyConfig
from harness.errors import ConfigError
from harness.policy.phrases import PHRASES
from harness.policy.tiny import CHAT_TEMPLATE, END, PAD, SPECIAL, build_tokenizer

RANDOM_SEED = 1
COMMON = 2000
"""Entries of a made-up vocabulary that texts are cut into."""
MAX_TOKENS = 4096


def load_tokenizer(policy: PolicyConfig, folder: Path | None) -> Any:
    """The tokenizer of a folder; of a random model, one as large whose tokens are made up."""
    if folder is None:
        return made_up_tokenizer(policy.vocabulary)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    if tokenizer.chat_template is None:
        raise ConfigError(f"policy.model: {policy.model} must have a chat template, found none")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_model(policy: PolicyConfig, folder: Path | None, device: str) -> Any:
    """The model in evaluation mode, the same at every call.

    Weights that learn are fp32: an update of 1e-6 is lost in bfloat16. Where only adapters learn,
    the rest is kept in `policy.dtype`.
    """
    dtype = getattr(torch, policy.dtype) if policy.lora_rank else torch.float32
    if folder is None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(RANDOM_SEED)
            model = AutoModelForCausalLM.from_config(
                shape(policy), attn_implementation=policy.attention, dtype=dtype
            )
    else:
        model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=dtype, attn_implementation=policy.attention, local_files_only=True
        )
    return model.to(device).eval()


def without_weights(policy: PolicyConfig, folder: Path | None) -> Any:
    """The model's modules with the sizes of their weights, and no memory behind them."""
    known = shape(policy) if folder is None else AutoConfig.from_pretrained(folder)
    with torch.device("meta"):
        return AutoModelForCausalLM.from_config(known)


def with_adapters(policy: PolicyConfig, model: Any) -> Any:
    """`model` with LoRA adapters (arXiv 2106.09685) on its linear layers, which alone learn."""
    from peft import LoraConfig, get_peft_model

    quiet()
    adapters = LoraConfig(
        r=policy.lora_rank,
        lora_alpha=policy.lora_alpha,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(RANDOM_SEED)
        return get_peft_model(model, adapters)


def quiet() -> None:
    """The libraries still use each other's older names, and warn of it at every use."""
    warnings.filterwarnings("ignore", message=r"`\w*gradient_checkpointing\w*` is deprecated")


def shape(policy: PolicyConfig) -> Any:
    """The library's config of the shape that `policy` names."""
    heads = policy.attention_heads
    return AutoConfig.for_model(
        policy.architecture,
        vocab_size=policy.vocabulary,
        hidden_size=policy.hidden_size,
        intermediate_size=policy.feed_forward_size or 3 * policy.hidden_size,
        num_hidden_layers=policy.layers,
        num_attention_heads=heads,
        num_key_value_heads=policy.key_value_heads or max(1, heads // 2),
        head_dim=policy.head_size or policy.hidden_size // heads,
        max_position_embeddings=MAX_TOKENS,
        tie_word_embeddings=policy.tied_head,
        pad_token_id=SPECIAL.index(PAD),
        eos_token_id=SPECIAL.index(END),
        bos_token_id=None,
    )


def made_up_tokenizer(vocabulary: int) -> PreTrainedTokenizerFast:
    """A tokenizer of `vocabulary` entries: bytes, what common words are made of, and fillers.

    It cuts English into about as many tokens as a real one; the fillers are words that no text is
    cut into, but which a model may say.
    """
    phrases = [phrase for group in PHRASES.values() for phrase in group]
    tokenizer = build_tokenizer(phrases, min(vocabulary, COMMON))
    known = json.loads(tokenizer.backend_tokenizer.to_str())
    entries = known["model"]["vocab"]
    entries.update({f"\u0120word{n}": n for n in range(len(entries), vocabulary)})
    made = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(known)), eos_token=END, pad_token=PAD
    )
    made.chat_template = CHAT_TEMPLATE
    return made
