"""The tiny policy: a transformer of the Qwen3 architecture with 631,552 weights by default.

Nothing is downloaded: the tokenizer is trained on the project's own dialogues, and the initial
weights are random. It is saved to and loaded from an ordinary Hugging Face folder.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch
from safetensors import SafetensorError
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from transformers.utils import logging as library_logging

from harness.config.run import PolicyConfig
from harness.records import atomic

library_logging.disable_progress_bar()
# Tied heads are reported as missing keys when TRL loads a checkpoint.
library_logging.set_verbosity_error()

PAD, USER, SUPPORTER, END = "<|pad|>", "<|user|>", "<|supporter|>", "<|end|>"
SPECIAL = (PAD, USER, SUPPORTER, END)
"""Special tokens, with ids 0 to 3."""
CHAT_TEMPLATE = (
    "{% for m in messages %}"
    f"{{{{ '{USER}' if m['role'] == 'user' else '{SUPPORTER}' }}}}{{{{ m['content'] }}}}{END}"
    "{% endfor %}"
    f"{{% if add_generation_prompt %}}{SUPPORTER}{{% endif %}}"
)
"""One token begins a turn and one ends it, so that nearly all tokens are words."""
MAX_TOKENS = 4096
ROPE_THETA = 1e7
"""Large enough that more than half of a head's dimensions rotate by less than a radian over
hundreds of tokens; faster ones cannot compare distant positions."""
UNWRITTEN = re.compile(r"I/O error|inline_container|\(os error \d+\)")
"""Matches the messages of torch, safetensors and tokenizers about a file that cannot be written."""


def build_tokenizer(texts: Iterable[str], vocabulary: int) -> PreTrainedTokenizerFast:
    """Return a byte-level BPE tokenizer of `vocabulary` entries, trained on `texts`."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    bpe.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token=END, pad_token=PAD)
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def build_model(
    policy: PolicyConfig, tokenizer: PreTrainedTokenizerFast, seed: int
) -> Qwen3ForCausalLM:
    """Return a model with random weights from `seed`. Does not change torch's global generator."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Qwen3ForCausalLM(_shape(policy, tokenizer))


def save(
    folder: Path, model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast | None = None
) -> None:
    """Write weights and config, and the tokenizer if given. Raises OSError."""
    with atomic.pinned(folder) as pinned, saving():
        model.save_pretrained(pinned)
        if tokenizer is not None:
            tokenizer.save_pretrained(pinned)


def load_model(folder: Path, device: str = "cpu") -> Qwen3ForCausalLM:
    """Return the model of a saved folder, with fp32 weights, in evaluation mode."""
    model = Qwen3ForCausalLM.from_pretrained(folder, dtype=torch.float32, local_files_only=True)
    return model.to(device).eval()


def load_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast.from_pretrained(folder, local_files_only=True)


def _shape(policy: PolicyConfig, tokenizer: PreTrainedTokenizerFast) -> Qwen3Config:
    return Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=policy.hidden_size,
        intermediate_size=3 * policy.hidden_size,
        num_hidden_layers=policy.layers,
        num_attention_heads=policy.attention_heads,
        num_key_value_heads=policy.attention_heads,
        head_dim=policy.hidden_size // policy.attention_heads,
        max_position_embeddings=MAX_TOKENS,
        rope_parameters={"rope_type": "default", "rope_theta": ROPE_THETA},
        tie_word_embeddings=True,
        use_cache=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )


@contextlib.contextmanager
def saving() -> Iterator[None]:
    """Raise OSError if a library cannot write a file, for example on a full disk.

    The libraries raise other types instead; tokenizers raises a bare Exception.
    """
    try:
        yield
    except Exception as error:
        is_library_error = (
            isinstance(error, RuntimeError | SafetensorError) or type(error) is Exception
        )
        if not is_library_error or not UNWRITTEN.search(str(error)):
            raise
        raise OSError(str(error)) from error
