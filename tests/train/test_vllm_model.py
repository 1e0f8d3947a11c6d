"""What vLLM is given of a model, without vLLM: one folder for each shape, the head in float32."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from transformers import AutoConfig, AutoModelForCausalLM

from harness.policy import huggingface
from harness.train.engines import vllm_model
from tests.train.made_hugging_face import SMALL


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_two_runs_of_one_model_give_vllm_one_path_and_another_shape_another(cache: Path) -> None:
    first, second = (huggingface.load_model(SMALL, None, "cpu") for _ in range(2))
    second.config._name_or_path = "/elsewhere/a-copy"
    wider = huggingface.load_model(replace(SMALL, feed_forward_size=96), None, "cpu")
    folders = [vllm_model.folder(model) for model in (first, second, wider)]
    assert folders[0] == folders[1] != folders[2]
    assert folders[0].parent == cache
    before = folders[0].stat().st_mtime_ns
    assert vllm_model.folder(first) == folders[0]
    assert folders[0].stat().st_mtime_ns == before, "it is made once"


def test_the_folder_holds_the_shape_of_the_model_below_its_adapters(cache: Path) -> None:
    model = huggingface.load_model(SMALL, None, "cpu")
    adapted = huggingface.with_adapters(replace(SMALL, lora_rank=4), model)
    folder = vllm_model.folder(adapted)
    values = json.loads((folder / "config.json").read_text())
    assert values["architectures"] == ["Qwen3ForCausalLM"]
    assert str(cache.parent) not in (folder / "config.json").read_text()
    made = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(folder))
    shapes = {name: weight.shape for name, weight in made.named_parameters()}
    plain = huggingface.load_model(SMALL, None, "cpu").named_parameters()
    assert shapes == {name: weight.shape for name, weight in plain}


def test_a_damaged_folder_is_made_again() -> None:
    model = huggingface.load_model(SMALL, None, "cpu")
    path = vllm_model.folder(model) / "config.json"
    text = path.read_text()
    path.write_text("{}")
    assert (vllm_model.folder(model) / "config.json").read_text() == text


@pytest.mark.parametrize(
    ("version", "head"), [("0.31.0", "float32"), ("0.31.2+cu129", "float32"), ("0.30.1", None),
                          (None, None)]
)  # fmt: skip
def test_the_head_is_float32_where_the_version_has_it(
    version: str | None, head: str | None
) -> None:
    assert vllm_model.overrides(version).get("head_dtype") == head
