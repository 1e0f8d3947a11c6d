"""A tiny model with random weights as a GGUF file, laid out as llama.cpp does, and as a package."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

WORDS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
LETTERS = [chr(n) for n in range(33, 127)] + ["\u0120", "\u010a"]
"""Each is a token; the last two stand for a space and a line's end."""
MERGES = ["h e", "l l", "he ll", "hell o", "1 2"]
TEMPLATE = (
    "{% for m in messages %}"
    "{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
)
TOKENS = [*WORDS, *LETTERS, *(merge.replace(" ", "") for merge in MERGES)]


def model() -> LlamaForCausalLM:
    """Two layers with random weights, the head tied to the embedding."""
    config = LlamaConfig(
        vocab_size=len(TOKENS), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
        tie_word_embeddings=True, rope_theta=10_000.0, rms_norm_eps=1e-5,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        return LlamaForCausalLM(config).eval()


def write(path: Path, made: Any, gguf: Any) -> None:
    """Write `made` as a GGUF file; `gguf` is the package."""
    config = made.config
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10_000.0)
    writer.add_rope_dimension_count(config.hidden_size // config.num_attention_heads)
    writer.add_vocab_size(config.vocab_size)
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(TOKENS)
    writer.add_token_types([3] * len(WORDS) + [1] * (len(TOKENS) - len(WORDS)))
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_pad_token_id(2)
    writer.add_chat_template(TEMPLATE)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    for name, tensor in made.state_dict().items():
        if name == "lm_head.weight":
            continue
        values = tensor.numpy()
        for part, count in heads.items():
            if part in name:
                values = _interleaved(values, count)
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight",)), values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def _interleaved(values: np.ndarray[Any, Any], heads: int) -> np.ndarray[Any, Any]:
    """Rows of a query or key matrix as llama.cpp orders them: halves of a head alternate."""
    rows, columns = values.shape
    halves = values.reshape(heads, 2, rows // heads // 2, columns)
    return np.ascontiguousarray(halves.swapaxes(1, 2).reshape(rows, columns))


def package(folder: Path, name: str, file: Path) -> None:
    """Lay out a package in `folder`, as pip does, that holds `file` and must not be imported."""
    module = name.replace("-", "_")
    info = folder / f"{module}-1.0.dist-info"
    info.mkdir()
    (folder / module).mkdir()
    (folder / module / "__init__.py").write_text("raise SystemExit('imported')\n")
    file.rename(folder / module / file.name)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "RECORD").write_text(f"{module}/__init__.py,,\n{module}/{file.name},,\n")
