"""Starts a server of adapters (`lora_server.py`), and makes configs and engines that use it."""

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

from harness.config.run import PolicyConfig, RunConfig
from harness.policy import huggingface
from harness.train.engines.vllm_adapters import AdapterEngine
from harness.train.loop import start as starts
from tests.train.made_hugging_face import SMALL
from tests.train.made_hugging_face import config as hugging_face

PROGRAM = Path(__file__).with_name("lora_server.py")
RANK = 4
GAP = "sampling/sampling_logp_difference"


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
        words = [sys.executable, str(PROGRAM), str(self.folder)]
        words += ["--port", str(self.port), "--log", str(self.log), *self.options]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
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


def with_a_model(path: Path, seed: int, policy: PolicyConfig = SMALL) -> Path:
    """A folder with a small model of random weights, turned up so that it prefers some words."""
    model = huggingface.load_model(policy, None, "cpu")
    dice = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        embedding = model.get_input_embeddings().weight
        embedding.copy_(0.3 * torch.randn(embedding.shape, generator=dice))
    model.save_pretrained(path)
    huggingface.made_up_tokenizer(SMALL.vocabulary).save_pretrained(path)
    return path


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


def adapted(base: Path, server: Server, scratch: Path, **changed: Any) -> AdapterEngine:
    loaded = models(base)
    own = config(base, server.url, **changed)
    return AdapterEngine(loaded.learner, own, loaded.chat, scratch, pytest.fail)
