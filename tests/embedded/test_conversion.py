"""A GGUF file becomes a folder whose model computes what the file's model does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from harness.config.run import PolicyConfig
from harness.embedded.conversion import WITHOUT_UNKNOWN, convert
from harness.policy import huggingface
from harness.policy.chat import chat_of
from tests.embedded import made

gguf = pytest.importorskip("gguf", reason="needs the package gguf")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("converted")
    made.write(path / "tiny.gguf", made.model(), gguf)
    (path / "folder").mkdir()
    convert(path / "tiny.gguf", path / "folder")
    return path / "folder"


def policy(folder: Path) -> PolicyConfig:
    return PolicyConfig("hf", "hf", model=str(folder))


def test_the_model_is_the_one_in_the_file(folder: Path) -> None:
    ids = torch.arange(40).reshape(2, 20)
    with torch.no_grad():
        wanted = made.model()(ids).logits
        got = huggingface.load_model(policy(folder), folder, "cpu")(ids).logits
    assert torch.allclose(got, wanted, atol=1e-6)


def test_its_tokenizer_is_written_alike_by_every_transformers(folder: Path) -> None:
    """5.17 writes an unknown token and byte fallback here, 5.23 neither; no run may tell them."""
    written = json.loads((folder / "tokenizer.json").read_text(encoding="utf-8"))["model"]
    assert {key: written[key] for key in WITHOUT_UNKNOWN} == WITHOUT_UNKNOWN


def test_its_tokenizer_reads_numbers_digit_by_digit_and_frames_a_chat(folder: Path) -> None:
    tokenizer = huggingface.load_tokenizer(policy(folder), folder)
    said = [made.TOKENS[n] for n in tokenizer.encode("hello 12", add_special_tokens=False)]
    assert said == ["hello", "\u0120", "1", "2"]
    assert tokenizer.decode(tokenizer.encode("hello 12")) == "hello 12"
    chat = chat_of(tokenizer)
    assert chat.end == made.TOKENS.index("<|im_end|>")
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id) == (1, 2)
    assert (tokenizer.pad_token_id, tokenizer.unk_token_id) == (2, 0)
    assert tokenizer.decode(chat.opening("hello")) == (
        "<|im_start|>user\nhello<|im_end|>\n<|im_start|>assistant\n"
    )


def test_its_config_says_nothing_of_where_it_was_made(folder: Path) -> None:
    values = json.loads((folder / "config.json").read_text())
    assert values["model_type"] == "llama"
    assert not {"transformers_version", "quantization_config", "_name_or_path"} & values.keys()
