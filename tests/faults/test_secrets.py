"""A key goes to the endpoint, and nowhere else: not to files, messages or the list of processes."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from harness.testing.commands import TABULAR, command, harness, here
from tests.simulator.endpoint import response, serving

NAMES = (
    "A_KEY", "OPENAI_API_KEY", "HF_TOKEN", "ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY",
    "WANDB_API_KEY", "GITHUB_TOKEN", "VLLM_API_KEY",
)  # fmt: skip
KEYS = {name: f"sk-CANARY-{name}-0123456789" for name in NAMES}
SERVED = (*TABULAR, "simulator=served", "simulator.model=m", "simulator.retries=0")
SHORT = ("trainer.steps=1", "difficulty.turn_cap=1")
SECRET = "sk-CANARY-typed-0123456789"


def written(root: Path) -> bytes:
    return b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())


@pytest.mark.slow
@pytest.mark.parametrize("refused", [False, True])
def test_keys_in_the_environment_are_found_nowhere(tmp_path: Path, refused: bool) -> None:
    """An endpoint that refuses repeats the key in what it answers."""
    echo = response(f"who is {KEYS['A_KEY']}?", "401 Unauthorized")
    with serving(lambda n, body: echo if refused else None) as endpoint:
        words = (
            *SERVED,
            *SHORT,
            f"simulator.base_url={endpoint.url}",
            "simulator.api_key_env=A_KEY",
        )
        child = subprocess.Popen(
            command("sweep", *words, "--debug"), cwd=tmp_path, env={**os.environ, **KEYS},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        lines = b""
        while child.poll() is None:
            lines += _command_lines()
            _wait(child)
        out, err = child.communicate()
        assert endpoint.headers, err.decode()
        assert endpoint.headers[0]["authorization"].endswith(KEYS["A_KEY"].lower())
    found = harness("fit-entropy-law", "runs", cwd=tmp_path, **KEYS)
    said = f"{found.stdout}{found.stderr}".encode()
    assert b"CANARY" not in out + err + lines + said + written(tmp_path)


def _wait(child: subprocess.Popen[bytes]) -> None:
    try:
        child.wait(0.2)
    except subprocess.TimeoutExpired:
        return


def _command_lines() -> bytes:
    found = b""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes()
        except OSError:
            continue
        found += line if b"harness" in line else b""
    return found


@pytest.mark.parametrize(
    "word",
    [
        f"simulator.base_url=https://me:{SECRET}@host/v1",
        f"simulator.base_url=htps://me:{SECRET}@host/v1",
        f"simulator.base_url=https://host/v1?key={SECRET}",
        f"simulator.api_key_env={SECRET}",
        f"simulator.api_key={SECRET}",
        f"+simulator.openai_api_key={SECRET}",
    ],
)
def test_a_key_typed_in_the_wrong_place_is_refused_and_not_repeated(
    word: str, tmp_path: Path
) -> None:
    done = here("train", *SERVED, word, "--dir", "d", cwd=tmp_path)
    assert done.returncode == 2
    assert "CANARY" not in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []
