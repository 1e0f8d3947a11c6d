"""A model that is not there is told before anything is loaded."""

import pytest

from harness.config import PolicyConfig
from harness.errors import ConfigError
from harness.policy import fetch


def hf(**given) -> PolicyConfig:
    return PolicyConfig(**({"name": "hf", "kind": "hf"} | given))


@pytest.fixture
def folder(tmp_path):
    for name in ("config.json", "tokenizer_config.json", "model.safetensors"):
        (tmp_path / name).touch()
    return tmp_path


def test_a_folder_is_its_own_place_and_random_weights_have_none(folder):
    assert fetch.ensure(hf(model=str(folder))) == folder
    assert fetch.ensure(hf(init="random")) is None


def test_a_folder_may_begin_at_home(folder, monkeypatch):
    monkeypatch.setenv("HOME", str(folder.parent))
    assert fetch.ensure(hf(model=f"~/{folder.name}")) == folder


@pytest.mark.parametrize(
    ("missing", "sentence"),
    [
        ("config.json", "must be a folder with config.json in it, found none"),
        ("tokenizer_config.json", "must be a folder with tokenizer_config.json in it, found none"),
        ("model.safetensors", "must hold *.safetensors, found none"),
    ],
)
def test_half_a_model_is_refused(folder, missing, sentence):
    (folder / missing).unlink()
    with pytest.raises(ConfigError) as refused:
        fetch.check(hf(model=str(folder)))
    assert str(refused.value) == f"policy.model: {folder} {sentence}"


def test_what_names_no_model_is_refused():
    with pytest.raises(ConfigError, match="an id on the hub or a folder, got nothing"):
        fetch.check(hf())
    with pytest.raises(ConfigError, match="or OWNER/NAME on the hub, got 'qwen'"):
        fetch.check(hf(model="qwen"))


def test_a_model_that_cannot_be_reached_is_one_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ConfigError) as refused:
        fetch.ensure(hf(model="nobody/nothing", revision="abc"))
    said = str(refused.value)
    assert "that can be reached, got 'nobody/nothing' at revision abc: " in said
    assert "\n" not in said
