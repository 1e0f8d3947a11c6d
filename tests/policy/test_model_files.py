"""A model that is not there is told before anything is loaded."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from harness.config.run import PolicyConfig
from harness.errors import ConfigError
from harness.policy import model_files


def hf(model: str = "", init: str = "pretrained", revision: str = "main") -> PolicyConfig:
    return PolicyConfig("hf", "hf", model=model, init=init, revision=revision)


WEIGHTS = {"a": torch.zeros(3, 2), "b": torch.ones(4)}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text('{"model_type": "qwen3"}')
    (tmp_path / "tokenizer_config.json").touch()
    save_file(WEIGHTS, tmp_path / "model.safetensors", metadata={"format": "pt"})
    return tmp_path


def test_a_folder_is_its_own_place_and_random_weights_have_none(folder: Path) -> None:
    assert model_files.ensure(hf(model=str(folder))) == folder
    assert model_files.ensure(hf(init="random")) is None


def test_a_folder_may_begin_at_home(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(folder.parent))
    assert model_files.ensure(hf(model=f"~/{folder.name}")) == folder


@pytest.mark.parametrize(
    ("missing", "sentence"),
    [
        ("config.json", "must be a folder with config.json in it, found none"),
        ("tokenizer_config.json", "must be a folder with tokenizer_config.json in it, found none"),
        ("model.safetensors", "must hold *.safetensors, found none"),
    ],
)
def test_half_a_model_is_refused(folder: Path, missing: str, sentence: str) -> None:
    (folder / missing).unlink()
    with pytest.raises(ConfigError) as refused:
        model_files.check(hf(model=str(folder)))
    assert str(refused.value) == f"policy.model: {folder} {sentence}"


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("config.json", b"{", "must be a JSON object that names a model_type, got another text"),
        ("config.json", b"[]", "must be a JSON object that names a model_type, got another text"),
        ("config.json", b'{"model_type": 3}', ": model_type must be text, got 3"),
        ("model.safetensors", b"", "header too small"),
        ("model.safetensors", b"\xff" * 40, "header too large"),
    ],
)
def test_a_broken_model_file_is_named(
    folder: Path, name: str, content: bytes, sentence: str
) -> None:
    (folder / name).write_bytes(content)
    with pytest.raises(ConfigError) as refused:
        model_files.check(hf(model=str(folder)))
    assert str(refused.value).startswith(f"policy.model: {folder / name}")
    assert str(refused.value).endswith(sentence)


def test_weights_that_were_cut_short_are_named(folder: Path) -> None:
    path = folder / "model.safetensors"
    whole = path.read_bytes()
    model_files.check(hf(model=str(folder)))
    path.write_bytes(whole[:-9])
    message = "must be a complete safetensors file, got: .* file not fully covered"
    with pytest.raises(ConfigError, match=message):
        model_files.check(hf(model=str(folder)))


def test_what_names_no_model_is_refused() -> None:
    with pytest.raises(ConfigError, match="an id on the hub or a folder, got nothing"):
        model_files.check(hf())
    with pytest.raises(ConfigError, match="or OWNER/NAME on the hub, got 'qwen'"):
        model_files.check(hf(model="qwen"))


def test_a_model_that_cannot_be_reached_is_one_sentence(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ConfigError) as refused:
        model_files.ensure(hf(model="nobody/nothing", revision="abc"))
    message = str(refused.value)
    assert "that can be reached, got 'nobody/nothing' at revision abc: " in message
    assert "\n" not in message
