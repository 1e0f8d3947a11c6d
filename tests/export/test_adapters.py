"""Adapters of a run: exported as they are, or added to their model."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from peft import PeftModel
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM

from harness.compose import planner
from harness.config.run import PolicyConfig, RunConfig
from harness.embedded import models as embedded
from harness.errors import ConfigError
from harness.export import files
from harness.export.source import Source
from harness.policy import huggingface, merged, model_files
from harness.records import checkpoints, manifest
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus
from harness.testing.commands import here
from tests.export.made import GREEDY, alone, checkpoint, damage, shown_python
from tests.train.made import go_on, make_run

BASE = PolicyConfig(
    name="hf", kind="hf", init="random", hidden_size=32, attention_heads=2, layers=2,
    vocabulary=600, lora_rank=4,
)  # fmt: skip
ASKED = torch.tensor([[5, 7, 11, 13]])
RANDOM = ("policy=hf", "policy.init=random", "policy.hidden_size=48", "policy.vocabulary=1200",
          "policy.attention_heads=2", "policy.lora_rank=4", "trainer.gpus=0", "trainer.steps=2",
          "trainer.conversations=8", "trainer.eval_every=0", "algorithm.group_size=4",
          "algorithm.learning_rate=0.01", "difficulty.turn_cap=2")  # fmt: skip
SMOLLM2 = ("policy=smollm2_135m", "trainer.steps=1", "trainer.conversations=2",
           "algorithm.group_size=2", "trainer.eval_every=0", "difficulty.turn_cap=1",
           "policy.max_turn_tokens=12")  # fmt: skip


def trained(folder: Path) -> PeftModel:
    """The model with adapters that are no longer zero, saved in `folder`."""
    model = huggingface.with_adapters(BASE, huggingface.load_model(BASE, None, "cpu"))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_B" in name:
                weight.copy_(torch.randn_like(weight) / 10)
    model.save_pretrained(folder)
    return model


def test_merged_weights_give_what_the_model_gave_with_its_adapters(tmp_path: Path) -> None:
    model = trained(tmp_path / "adapters")
    (tmp_path / "whole").mkdir()
    merged.write(BASE, None, tmp_path / "adapters", tmp_path / "whole")
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "whole")
    plain = huggingface.load_model(BASE, None, "cpu")
    with torch.no_grad():
        wanted, got, before = (one.eval()(ASKED).logits for one in (model, loaded, plain))
    torch.testing.assert_close(got, wanted, rtol=1e-5, atol=1e-5)
    assert not torch.allclose(wanted, before, atol=1e-2), "the adapters do something"
    assert loaded.config.model_type == "qwen3"


def test_adapters_of_another_model_are_refused(tmp_path: Path) -> None:
    for name, tensors in (("fewer", {}), ("more", {"other": torch.zeros(2)})):
        (tmp_path / name).mkdir()
        save_file(tensors, tmp_path / name / merged.WEIGHTS)
        with pytest.raises(ConfigError, match=r"must fit the linear layers .*, got \d+ tensors"):
            merged.write(BASE, None, tmp_path / name, tmp_path)


def source(root: Path, policy: PolicyConfig, start_model: str | None = None) -> Source:
    """A run in `root` with one checkpoint, of the adapters of `trained`."""

    def fill(folder: Path) -> None:
        trained(folder / checkpoints.MODEL)
        huggingface.made_up_tokenizer(BASE.vocabulary).save_pretrained(folder / checkpoints.MODEL)

    saved = checkpoints.publish(root / "checkpoints", 1, fill)
    return Source(
        RunFolder(root), RunConfig(policy=policy), RunStatus(start_model=start_model), saved
    )


def in_a_folder(root: Path) -> PolicyConfig:
    """The policy whose model below the adapters lies in a folder in `root`."""
    folder = root / "base"
    huggingface.load_model(BASE, None, "cpu").save_pretrained(folder)
    huggingface.made_up_tokenizer(BASE.vocabulary).save_pretrained(folder)
    return replace(BASE, init="pretrained", model=str(folder))


def test_adapters_name_a_model_of_the_hub_and_no_folder(tmp_path: Path) -> None:
    hub = replace(BASE, init="pretrained", model="owner/none-of-that-name", revision="c0ffee")
    for number, (policy, named) in enumerate(
        [(hub, ("owner/none-of-that-name", "c0ffee")), (in_a_folder(tmp_path), (None, None))]
    ):
        root, out = tmp_path / f"run {number}", tmp_path / f"out {number}"
        root.mkdir()
        out.mkdir()
        files.write(source(root, policy), False, out)
        told = json.loads((out / "adapter_config.json").read_text())
        assert (told["base_model_name_or_path"], told["revision"]) == named
        assert told["r"] == BASE.lora_rank
        assert sorted(path.name for path in out.iterdir()) == [
            "adapter_config.json", "adapter_model.safetensors", "chat_template.jinja",
            "tokenizer.json", "tokenizer_config.json",
        ]  # fmt: skip


def test_adapters_are_added_to_the_model_that_they_were_trained_on_alone(tmp_path: Path) -> None:
    policy = in_a_folder(tmp_path)
    base, out = Path(policy.model), tmp_path / "out"
    out.mkdir()
    began = manifest.digest(base, model_files.model_file_names(base))
    made = source(tmp_path, policy, began)
    files.write(made, True, out)
    assert AutoModelForCausalLM.from_pretrained(out).generation_config.max_new_tokens == 32
    assert not list(out.glob("adapter*"))
    (base / "config.json").write_text((base / "config.json").read_text() + "\n")
    with pytest.raises(ConfigError, match=f"that the run began with, sha256 {began[:12]}, got "):
        files.write(made, True, tmp_path)


@pytest.fixture(scope="module")
def adapted(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    root = tmp_path_factory.mktemp("adapted")
    done = here("train", *RANDOM, "--dir", "one", cwd=root)
    assert done.returncode == 0, done.stderr
    return RunFolder(root / "one")


@pytest.mark.slow
def test_adapters_on_random_weights_are_exported_merged(adapted: RunFolder, tmp_path: Path) -> None:
    done = here("export", str(adapted.path), "model", cwd=tmp_path)
    rule = "must be given if the model below the adapters has random weights"
    given = "got policy.init=random: these weights cannot be made again"
    assert (done.returncode, done.stderr) == (2, f"harness: --merge: {rule}, {given}\n")
    done = here("export", str(adapted.path), "model", "--merge", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert alone(shown_python((tmp_path / "model" / "README.md").read_text()), tmp_path / "model")


@pytest.fixture(scope="module")
def speaking(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A step of SmolLM2-135M with adapters."""
    try:
        embedded.check("smollm2_135m", "policy.model")
    except ConfigError as error:
        pytest.skip(str(error))
    config = planner.plan(SMOLLM2).points[0].config
    made = make_run(tmp_path_factory.mktemp("speaking") / "one", config)
    code, _, err = go_on(made)
    assert code == 0, err
    return made


WITH_ADAPTERS = GREEDY.replace(
    'model = AutoModelForCausalLM.from_pretrained(".")',
    "from peft import PeftModel\n"
    'model = PeftModel.from_pretrained(AutoModelForCausalLM.from_pretrained("{}"), ".")',
).replace("do_sample=False", "do_sample=False, max_new_tokens=12")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_adapters_and_merged_weights_say_the_same(speaking: RunFolder, tmp_path: Path) -> None:
    """Both load without harness: the one on the model it was trained on, the other alone."""
    base = embedded.ensure("smollm2_135m", "policy.model")
    done = here("export", str(speaking.path), "adapters", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "adapters, which need HuggingFaceTB/SmolLM2-135M-Instruct" in done.stdout
    done = here("export", str(speaking.path), "whole", "--merge", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    told = json.loads((tmp_path / "adapters" / "adapter_config.json").read_text())
    assert (told["peft_type"], told["base_model_name_or_path"]) == ("LORA", None)
    assert str(base) not in (tmp_path / "adapters" / "README.md").read_text()
    card = (tmp_path / "whole" / "README.md").read_text()
    assert "license: apache-2.0\n" in card
    assert "base_model: HuggingFaceTB/SmolLM2-135M-Instruct\nbase_model_relation: finetune" in card
    words = "I failed my exam."
    apart = alone(WITH_ADAPTERS.replace("{}", str(base)) % words, tmp_path / "adapters")
    assert json.loads(apart) == json.loads(alone(GREEDY % words, tmp_path / "whole"))
    shown = shown_python((tmp_path / "adapters" / "README.md").read_text())
    assert alone(shown.replace('"BASE"', repr(str(base))), tmp_path / "adapters").strip()
    tensors = checkpoint(speaking, 1) / "adapter_model.safetensors"
    damage(tensors)
    assert here("export", str(speaking.path), "damaged", cwd=tmp_path).returncode == 65
