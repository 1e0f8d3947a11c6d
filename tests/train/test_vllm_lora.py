"""A real vLLM, its CPU build, with the adapters of several runs; skipped where it is not at hand.

vLLM may be in an environment of its own: HARNESS_TEST_VLLM names that one's python.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.config import engine_choice
from harness.config.run import RunConfig
from harness.errors import StoppedError
from harness.execution import engine_places
from harness.records.run_folder import RunFolder
from harness.train.engines import vllm_address
from tests.train import made_hugging_face as test_hugging_face
from tests.train import test_vllm_adapters
from tests.train.adapter_server import GAP, Server, config, with_a_model
from tests.train.made import make_run, start

PYTHON = os.environ.get("HARNESS_TEST_VLLM", "")
READY_S = 900.0
SMALL = replace(test_hugging_face.SMALL, head_size=32)
"""vLLM's CPU build has no attention with smaller heads."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(2400),
    pytest.mark.skipif(
        not (PYTHON or engine_choice.installed_vllm()),
        reason="vLLM is not installed here, and HARNESS_TEST_VLLM names no python that has it",
    ),
]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return with_a_model(tmp_path_factory.mktemp("base") / "model", 1, SMALL)


@pytest.fixture(scope="module")
def server(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [
                PYTHON or sys.executable, "-m", "vllm.entrypoints.openai.api_server",
                "--model", str(base), "--served-model-name", "base", "--host", "127.0.0.1",
                "--port", str(port), "--dtype", "float32", "--enforce-eager",
                "--max-model-len", "1024", "--max-num-seqs", "16",
                "--max-num-batched-tokens", "8192", "--no-enable-chunked-prefill",
                "--enable-lora", "--max-loras", "2", "--max-lora-rank", "16",
                "--generation-config", "vllm", "--logprobs-mode", "processed_logprobs",
            ],
            stdout=out, stderr=out, cwd=log.parent, env=environment(),
        )  # fmt: skip
    one = Server(base, log, (), port)
    try:
        until = time.monotonic() + READY_S
        while not _answers(one.url):
            said = log.read_text(errors="replace")[-2000:]
            assert process.poll() is None, said
            assert time.monotonic() < until, said
            time.sleep(1)
        yield one
    finally:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(60)
        process.kill()
        process.wait()


def environment() -> dict[str, str]:
    """Of a server on one core of a machine without a GPU, in which harness is not to be found."""
    small = {
        "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "0", "OMP_NUM_THREADS": "1",
        "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "1", "HF_HUB_OFFLINE": "1",
    }  # fmt: skip
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return small | kept


def _answers(url: str) -> bool:
    try:
        vllm_address.reach(url)
    except StoppedError:
        return False
    return True


class TestAtVllm(test_vllm_adapters.TestAdapted):
    """The contract of engines."""


def test_it_says_how_many_adapters_it_draws_with_at_once(base: Path, server: Server) -> None:
    assert engine_places.shared(of(base, server)) == {server.url: 2}


def test_two_runs_at_once_have_the_rows_of_each_alone_but_for_rounding(
    base: Path, server: Server, tmp_path: Path
) -> None:
    """vLLM makes one batch of both runs' turns, whose sums it may take in another order."""
    alone = [finished(started(base, server, tmp_path / f"alone{seed}", seed)) for seed in (1, 2)]
    children = [started(base, server, tmp_path / f"both{seed}", seed) for seed in (1, 2)]
    for rows, other in zip([finished(child) for child in children], alone, strict=True):
        for mine, theirs in zip(rows, other, strict=True):
            assert mine[f"{GAP}/max"] < 1e-4
            assert mine["reward"] == theirs["reward"]
            assert mine["entropy"] == pytest.approx(theirs["entropy"], abs=1e-5)
            assert mine["grad_norm"] == pytest.approx(theirs["grad_norm"], rel=1e-3)
    assert vllm_address.names(server.url) == ["base"]


def of(base: Path, server: Server, seed: int = 1) -> RunConfig:
    plain = config(base, server.url, seed=seed)
    return replace(plain, policy=replace(SMALL, init="pretrained", model=str(base), lora_rank=4))


def started(
    base: Path, server: Server, path: Path, seed: int
) -> tuple[RunFolder, subprocess.Popen[str]]:
    run = make_run(path, of(base, server, seed))
    return run, start(run)


def finished(begun: tuple[RunFolder, subprocess.Popen[str]]) -> list[dict[str, Any]]:
    """The rows of a run that has ended well."""
    run, child = begun
    _, err = child.communicate(timeout=600)
    assert child.returncode == 0, err
    return [json.loads(line) for line in run.metrics.read_text().splitlines()]
