"""Runs that share a server's frozen base, each with adapters of its own.

The server is a process with transformers and peft that stands for vLLM (`lora_server.py`); a real
one, vLLM's CPU build, is in test_vllm_lora.py.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import torch

from harness.config import engine_choice
from harness.config.run import PolicyConfig, RunConfig, TrainerConfig
from harness.errors import ConfigError, StoppedError
from harness.execution import engine_places, gpu_lease, run_lease
from harness.policy import huggingface
from harness.records.run_folder import RunFolder
from harness.testing.commands import ROOT
from harness.train.engines import vllm_address
from harness.train.engines.engine import Engine, Transformers
from harness.train.engines.vllm_adapters import Adapted
from harness.train.loop import start as starts
from tests.train.engine_contract import EngineContract
from tests.train.made import finish, killed_after, make_run, start, status
from tests.train.test_hugging_face import SMALL
from tests.train.test_hugging_face import config as hugging_face

RANK = 4


@dataclass
class Server:
    """A server's process."""

    folder: Path
    log: Path
    options: tuple[str, ...]
    port: int = 0
    process: subprocess.Popen[str] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def begin(self) -> None:
        words = [sys.executable, "-m", "tests.train.lora_server", str(self.folder)]
        words += ["--port", str(self.port), "--log", str(self.log), *self.options]
        self.process = subprocess.Popen(words, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline())

    def end(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.communicate()

    def told(self) -> list[dict[str, Any]]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [json.loads(line) for line in lines]


@contextlib.contextmanager
def serving(folder: Path, root: Path, *options: str) -> Iterator[Server]:
    server = Server(folder, root / "server.jsonl", options)
    server.begin()
    try:
        yield server
    finally:
        server.end()


def with_a_model(path: Path, seed: int) -> Path:
    """A folder with a small model of random weights, turned up so that it prefers some words."""
    model = huggingface.load_model(SMALL, None, "cpu")
    dice = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        embedding = model.get_input_embeddings().weight
        embedding.copy_(0.3 * torch.randn(embedding.shape, generator=dice))
    model.save_pretrained(path)
    huggingface.made_up_tokenizer(SMALL.vocabulary).save_pretrained(path)
    return path


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_a_model(tmp_path_factory.mktemp("base") / "model", 1)


@pytest.fixture
def server(base: Path, tmp_path: Path) -> Iterator[Server]:
    with serving(base, tmp_path) as one:
        yield one


@pytest.fixture(autouse=True)
def own_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "locks").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "locks"))
    monkeypatch.setattr(gpu_lease, "POLL_S", 0.01)


def config(base: Path, *urls: str, rank: int = RANK, seed: int = 1, **trainer: Any) -> RunConfig:
    policy = replace(SMALL, init="pretrained", model=str(base), lora_rank=rank)
    kept = {"engine": "vllm_adapters", "engine_url": list(urls), "stop_unheard": False}
    return replace(hugging_face(policy, **kept | trainer), seed=seed)


def models(base: Path) -> starts.StartModels:
    loaded = starts.load(config(base, "http://localhost:1"), "cpu")
    with torch.no_grad():  # so that adapters do something
        for number, (name, weight) in enumerate(loaded.learner.named_parameters()):
            if "lora_B" in name:
                weight.normal_(std=0.1, generator=torch.Generator().manual_seed(number))
    return loaded


def adapted(base: Path, server: Server, scratch: Path, **changed: Any) -> Adapted:
    loaded = models(base)
    own = config(base, server.url, **changed)
    return Adapted(loaded.learner, own, loaded.chat, scratch, pytest.fail)


class TestTransformers(EngineContract):
    @pytest.fixture
    def model(self, base: Path) -> Any:
        return models(base).learner

    @pytest.fixture
    def engine(self, model: Any) -> Engine:
        return Transformers(model)


class TestAdapted(EngineContract):
    @pytest.fixture
    def loaded(self, base: Path) -> starts.StartModels:
        return models(base)

    @pytest.fixture
    def model(self, loaded: starts.StartModels) -> Any:
        return loaded.learner

    @pytest.fixture
    def engine(
        self, base: Path, loaded: starts.StartModels, server: Server, tmp_path: Path
    ) -> Iterator[Engine]:
        own = config(base, server.url)
        engine = Adapted(loaded.learner, own, loaded.chat, tmp_path / "adapters", pytest.fail)
        yield engine
        engine.close()


class TestAdaptedBesideAnother(TestAdapted):
    """The same at a server at which another run's adapters are loaded and drawn with meanwhile."""

    @pytest.fixture(autouse=True)
    def other(self, base: Path, server: Server, tmp_path: Path) -> Iterator[None]:
        engine = adapted(base, server, tmp_path / "other")
        self.change(engine._model)
        with engine.awake():
            self.spoken(engine)
            yield
            self.spoken(engine)
        engine.close()
        assert vllm_address.names(server.url) == ["base"]
