"""Converts a GGUF file to a folder that transformers loads: fp32 weights, config, tokenizer.

transformers reads the GGUF file, with four problems that are solved here. It refuses to save a
quantised model. Its config keeps settings of the GGUF file. Its tokenizer does not split numbers
into digits, since GGUF only has a name for that. Some versions (such as 5.17) do not take special
tokens from the file, so that a turn would never end.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

import torch
from safetensors.torch import save_file
from tokenizers import decoders
from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

from harness.records import atomic

OF_THE_MODEL = (
    "attention_bias", "head_dim", "hidden_act", "hidden_size", "intermediate_size",
    "max_position_embeddings", "mlp_bias", "model_type", "num_attention_heads",
    "num_hidden_layers", "num_key_value_heads", "pad_token_id", "rms_norm_eps", "rope_parameters",
    "tie_word_embeddings", "vocab_size",
)  # fmt: skip
"""Config keys that are written. The others describe the origin and differ between versions of
transformers."""

SPECIAL_TOKENS = {"bos": "bos", "eos": "eos", "pad": "padding", "unk": "unknown"}
"""Special tokens: name in transformers -> name in GGUF."""
ID_TOKENS = ("bos", "eos", "pad")
"""Special tokens whose ids are in the config."""


WITHOUT_UNKNOWN = {
    "unk_token": None, "continuing_subword_prefix": "", "end_of_word_suffix": "",
    "fuse_unk": False, "byte_fallback": False,
}  # fmt: skip
"""Settings of a tokenizer with all bytes, fixed here since versions of transformers write different
values, and a run can be resumed only with an identical tokenizer."""


def convert(source: Path, folder: Path) -> None:
    """Convert the model in the GGUF file `source` and write it to the existing `folder`.

    Raises OSError if it cannot be written, and transformers' errors if `source` cannot be read.
    """
    options = {"gguf_file": source.name, "local_files_only": True, "trust_remote_code": False}
    with _silence_library():
        tokenizer = AutoTokenizer.from_pretrained(source.parent, **options)
        model = AutoModelForCausalLM.from_pretrained(source.parent, dtype=torch.float32, **options)
    _set_special_tokens(tokenizer, source)
    with atomic.pinned(folder) as pinned:
        save_file(_weights(model), pinned / "model.safetensors", metadata={"format": "pt"})
        tokenizer.save_pretrained(pinned)
    atomic.write_json(folder / "config.json", _config(model, tokenizer))


def _set_special_tokens(tokenizer: Any, source: Path) -> None:
    """Set special tokens and byte handling, which versions of transformers read differently."""
    from gguf import GGUFReader  # an extra package, needed only for the conversion

    pieces = tokenizer.backend_tokenizer
    pieces.pre_tokenizer = Sequence(
        [Digits(individual_digits=True), ByteLevel(add_prefix_space=False)]
    )
    pieces.decoder = decoders.ByteLevel()
    pieces.normalizer = None
    for name, value in WITHOUT_UNKNOWN.items():
        setattr(pieces.model, name, value)
    fields = GGUFReader(source).fields
    for name, key in SPECIAL_TOKENS.items():
        token = int(fields[f"tokenizer.ggml.{key}_token_id"].contents())
        setattr(tokenizer, f"{name}_token", tokenizer.convert_ids_to_tokens(token))
    tokenizer.clean_up_tokenization_spaces = False


def _weights(model: Any) -> dict[str, torch.Tensor]:
    """Return the tensors by name, without a head that is tied to the embedding."""
    state: dict[str, torch.Tensor] = model.state_dict()
    if model.config.tie_word_embeddings:
        del state["lm_head.weight"]
    return {name: tensor.contiguous() for name, tensor in state.items()}


def _config(model: Any, tokenizer: Any) -> dict[str, Any]:
    values = {key: getattr(model.config, key) for key in OF_THE_MODEL}
    ids = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ID_TOKENS}
    return {**values, **ids, "architectures": [type(model).__name__], "dtype": "float32"}


@contextlib.contextmanager
def _silence_library() -> Iterator[None]:
    """Silence transformers' progress bars and its warning that dequantising needs more space."""
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logging.set_verbosity(verbosity)
