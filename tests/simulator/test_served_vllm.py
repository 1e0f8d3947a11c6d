"""A real `vllm serve` plays the user: what we ask for is what it takes, and its schema binds.

The model has random weights and a vocabulary of its own: nothing is downloaded, and what it says
is noise of the asked shape.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.config.run import PolicyConfig
from harness.simulator.personas import EVERYONE
from harness.simulator.served.simulator import enforces_schema
from harness.testing.simulator_contract import converse, key
from tests.simulator.served import BRIEF, connected, users

READY_S = 240.0
VOCABULARY = 600
"""Few words: a random model then ends a text after some hundred tokens."""


def a_model(folder: Path) -> Path:
    """A saved model of the tiny policy's shape, as it is before it has learnt anything."""
    from harness.policy import tiny

    texts = [" ".join((p.topic, *p.facts, '{"say": "')) for p in EVERYONE]
    tokenizer = tiny.build_tokenizer(texts, VOCABULARY)
    policy = PolicyConfig(name="t", hidden_size=64, layers=2, attention_heads=2)
    tiny.save(folder, tiny.build_model(policy, tokenizer, seed=1), tokenizer)
    return folder


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if shutil.which("vllm") is None:
        pytest.skip("needs the vllm command")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("vllm")
    command = ["vllm", "serve", str(a_model(folder / "model")), "--host", "127.0.0.1",
               "--port", str(port), "--dtype", "float32", "--enforce-eager", "--max-model-len",
               "4096", "--gpu-memory-utilization", "0.1", "--served-model-name", "m"]  # fmt: skip
    # of a machine without a GPU: the cache in GiB, and the cores that may work
    small = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "0-1"}
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env=small | os.environ)
    try:
        _wait_for(f"http://127.0.0.1:{port}/v1/models", server, folder / "log")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait(60)


def _wait_for(page: str, server: subprocess.Popen[bytes], log: Path) -> None:
    began = time.monotonic()
    while time.monotonic() - began < READY_S:
        assert server.poll() is None, log.read_text(errors="replace")[-2000:]
        try:
            with urllib.request.urlopen(page, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(1)
    pytest.fail(f"vllm was not ready in {READY_S:g} s: {log.read_text(errors='replace')[-2000:]}")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_real_server_plays_the_user(url: str) -> None:
    with connected(url, deadline_s=120.0, max_tokens=2000, retries=4, temperature=1.0) as line:
        assert enforces_schema(line)
        line.take_usage()
        talk = converse(users(line), key())
        tally = line.take_usage()
    assert talk[-1].ended in ("cap", "left", "success"), talk[-1].why
    assert len(talk) <= BRIEF.turn_cap + 1
    assert all(turn.text for turn in talk[:-1])
    assert all(turn.change in (-10, -5, 0, 5, 10) for turn in talk[1:])
    assert all(turn.why["reason"] is not None for turn in talk[1:])
    assert set(tally.retries) <= {"malformed", "empty"}, "cut at the token limit, or no word said"
    assert tally.tokens > 0
