"""A folder that is no whole model: refused in a sentence, and none of its code is run."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from harness.config.run import PolicyConfig, RunConfig
from harness.errors import ConfigError
from harness.execution import preflight
from harness.policy import huggingface, model_files

SMALL = PolicyConfig(
    name="hf", kind="hf", init="random", hidden_size=32, layers=1, attention_heads=4,
    key_value_heads=2, head_size=8, feed_forward_size=64, vocabulary=800,
)  # fmt: skip
EVIL = """
from pathlib import Path
Path({mark!r}).touch()
from transformers import Qwen3Config
class C(Qwen3Config):
    model_type = "evil"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "model"
    huggingface.load_model(SMALL, None, "cpu").save_pretrained(path)
    huggingface.made_up_tokenizer(SMALL.vocabulary).save_pretrained(path)
    return path


def of(folder: Path) -> PolicyConfig:
    return replace(SMALL, init="pretrained", model=str(folder))


def change(folder: Path, **values: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def test_a_whole_model_passes(folder: Path) -> None:
    model_files.try_model(of(folder))
    model = huggingface.load_model(of(folder), folder, "cpu")
    assert model.num_parameters() == huggingface.load_model(SMALL, None, "cpu").num_parameters()


def test_missing_weights_are_not_made_up(folder: Path) -> None:
    path, name = folder / "model.safetensors", "model.layers.0.mlp.gate_proj.weight"
    kept = {key: value for key, value in load_file(path).items() if key != name}
    save_file(kept, path, metadata={"format": "pt"})
    with pytest.raises(ConfigError, match=f"for 1 of its tensors, {name} among them"):
        huggingface.load_model(of(folder), folder, "cpu")


def test_weights_of_another_size_are_refused(folder: Path) -> None:
    path, name = folder / "model.safetensors", "model.norm.weight"
    save_file({**load_file(path), name: torch.ones(16)}, path, metadata={"format": "pt"})
    with pytest.raises(ConfigError, match=r"^policy\.model: "):
        huggingface.load_model(of(folder), folder, "cpu")


def test_a_tokenizer_with_more_tokens_than_the_model_is_refused(folder: Path) -> None:
    huggingface.made_up_tokenizer(900).save_pretrained(folder)
    with pytest.raises(ConfigError, match="as the model has entries, 800, got 900"):
        model_files.try_model(of(folder))


def test_code_in_a_folder_is_neither_run_nor_asked_about(folder: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    (folder / "evil.py").write_text(EVIL.format(mark=str(mark)))
    change(folder, model_type="evil", auto_map={"AutoConfig": "evil.C"})
    with pytest.raises(ConfigError, match="can load without code of others, got: ") as refused:
        model_files.try_model(of(folder))
    assert "\n" not in str(refused.value)
    assert not mark.exists()


@pytest.mark.slow
def test_a_model_is_tried_in_another_process_before_anything_is_created(folder: Path) -> None:
    preflight.check([RunConfig(policy=of(folder))])
    huggingface.made_up_tokenizer(900).save_pretrained(folder)
    with pytest.raises(ConfigError, match="as the model has entries, 800, got 900"):
        preflight.check([RunConfig(policy=replace(of(folder), temperature=0.9))])
