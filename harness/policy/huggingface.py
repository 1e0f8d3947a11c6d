"""Loads causal language models: from the Hugging Face hub, from a folder, or random."""

from __future__ import annotations

import contextlib
import json
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch
from tokenizers import Tokenizer
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast

from harness.config.run import PolicyConfig
from harness.errors import ConfigError
from harness.policy.phrases import PHRASES
from harness.policy.tiny import CHAT_TEMPLATE, END, PAD, SPECIAL, build_tokenizer
from harness.utils.terminal import shorten_middle

RANDOM_SEED = 1
COMMON = 2000
"""Entries of a made-up vocabulary that occur in text."""
MAX_TOKENS = 4096
OWN_CODE_ONLY = {"trust_remote_code": False, "local_files_only": True}
"""Without it, transformers asks on the terminal whether to run code from a model's folder."""


def load_tokenizer(policy: PolicyConfig, folder: Path | None) -> Any:
    """Return the tokenizer of a folder; for a random model, a made-up one of equal size."""
    if folder is None:
        return made_up_tokenizer(policy.vocabulary)
    with _one_line_errors(policy):
        tokenizer = AutoTokenizer.from_pretrained(folder, **OWN_CODE_ONLY)
    if tokenizer.chat_template is None:
        raise ConfigError(f"policy.model: {policy.model} must have a chat template, found none")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_model(policy: PolicyConfig, folder: Path | None, device: str) -> Any:
    """Return the model in evaluation mode, with the same weights at every call.

    Trained weights are fp32, because bfloat16 loses an update of 1e-6. With LoRA the frozen weights
    are in `policy.dtype`.
    """
    dtype = getattr(torch, policy.dtype) if policy.lora_rank else torch.float32
    if folder is None:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(RANDOM_SEED)
            model = AutoModelForCausalLM.from_config(
                shape(policy), attn_implementation=policy.attention, dtype=dtype
            )
    else:
        model = _pretrained(policy, folder, dtype)
    return model.to(device).eval()


def _pretrained(policy: PolicyConfig, folder: Path, dtype: torch.dtype) -> Any:
    """Return a pretrained model.

    Raises ConfigError if weights are missing, which transformers initialises at random.
    """
    with _one_line_errors(policy):
        model, report = AutoModelForCausalLM.from_pretrained(
            folder,
            dtype=dtype,
            attn_implementation=policy.attention,
            output_loading_info=True,
            **OWN_CODE_ONLY,
        )
    missing = sorted([*report["missing_keys"], *(key for key, *_ in report["mismatched_keys"])])
    if missing:
        raise ConfigError(
            f"policy.model: the weights of {policy.model} must fill the whole model that its "
            f"config.json describes, got none that fit for {len(missing)} of its tensors, "
            f"{missing[0]} among them"
        )
    return model


@contextlib.contextmanager
def _one_line_errors(policy: PolicyConfig) -> Iterator[None]:
    """Convert errors of the libraries about a model's files into a one-line ConfigError."""
    try:
        yield
    except (MemoryError, torch.OutOfMemoryError):
        raise
    except Exception as error:
        why = " ".join(str(error).split()) or type(error).__name__
        if "allocate memory" in why:
            raise
        raise ConfigError(
            f"policy.model: {policy.model} must be a model that transformers can load without "
            f"code of others, got: {shorten_middle(why.partition('. ')[0], 300)}"
        ) from error


def check_vocabulary(policy: PolicyConfig, tokenizer: Any, model: Any) -> None:
    """Raise ConfigError if the tokenizer has more ids than the model has embeddings."""
    entries = model.get_input_embeddings().num_embeddings
    if len(tokenizer) > entries:
        raise ConfigError(
            f"policy.model: the tokenizer of {policy.model} must have at most as many tokens as "
            f"the model has entries, {entries}, got {len(tokenizer)}"
        )


def without_weights(policy: PolicyConfig, folder: Path | None) -> Any:
    """Return the model on the meta device: its modules and shapes, without weights.

    Raises ConfigError for a model that cannot be used, or not with `policy.attention`.
    """
    with _one_line_errors(policy), torch.device("meta"):
        config = AutoConfig.from_pretrained(folder, **OWN_CODE_ONLY) if folder else shape(policy)
        with contextlib.suppress(ValueError):
            return _from_config(config, policy.attention)
        _from_config(config, "eager")  # all models have it; if this fails too, its error is raised
    raise ConfigError(
        f"policy.attention must be one that transformers has for a model of type "
        f"{config.model_type}, got {policy.attention}; choose policy.attention=eager"
    )


def _from_config(config: Any, attention: str) -> Any:
    return AutoModelForCausalLM.from_config(
        config, attn_implementation=attention, trust_remote_code=False
    )


def blocks(model: Any) -> list[Any]:
    """Return the layers of a model, by its own `_no_split_modules`; empty if it has none."""
    names = set(model._no_split_modules or ())
    return [module for module in model.modules() if type(module).__name__ in names]


def with_adapters(policy: PolicyConfig, model: Any) -> Any:
    """Return `model` with trainable LoRA adapters (arXiv 2106.09685) on its linear layers."""
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
    """Silence the libraries' deprecation warnings about each other."""
    warnings.filterwarnings("ignore", message=r"`\w*gradient_checkpointing\w*` is deprecated")


def shape(policy: PolicyConfig) -> Any:
    """Return the transformers config for the architecture in `policy`."""
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
    """Return a tokenizer of `vocabulary` entries: bytes, pieces of common words, and fillers.

    It splits English into about as many tokens as a real tokenizer. The fillers are never produced
    by encoding, but a model may generate them.
    """
    phrases = [phrase for group in PHRASES.values() for phrase in group]
    tokenizer = build_tokenizer(phrases, min(vocabulary, COMMON))
    backend = json.loads(tokenizer.backend_tokenizer.to_str())
    entries = backend["model"]["vocab"]
    entries.update({f"\u0120word{n}": n for n in range(len(entries), vocabulary)})
    extended = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(backend)), eos_token=END, pad_token=PAD
    )
    extended.chat_template = CHAT_TEMPLATE
    return extended
