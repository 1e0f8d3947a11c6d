"""harness probe-simulator, as a user runs it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from harness.testing.commands import here
from tests.simulator.endpoint import Endpoint, completion, purpose, serving


def probe(endpoint: Endpoint, cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    address = (f"simulator.base_url={endpoint.url}", "simulator.model=m", "simulator.backoff_s=0")
    return here("probe-simulator", *address, *words, cwd=cwd)


def test_the_probe_prints_one_conversation_with_emotions_and_latencies(tmp_path: Path) -> None:
    with serving() as endpoint:
        done = probe(endpoint, tmp_path, "difficulty.turn_cap=2")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"{endpoint.url}: answers as m"
    assert lines[1].startswith("the endpoint does not enforce the JSON schema")
    assert re.fullmatch(r"user   40        +\d+\.\d\d s  .+ days ago\.", lines[2])
    assert lines[3].startswith("supporter  ")
    assert re.fullmatch(r"user +\d+ +[+-]\d+ +\d+\.\d\d s  \(ended: \w+\)", lines[-2])
    assert lines[-1].startswith("calls 4, remembered 0, tokens 400, retries {}, given_up {}, lat")
    assert list(tmp_path.iterdir()) == []


def test_the_probe_tells_that_the_schema_is_enforced(tmp_path: Path) -> None:
    def binds(number: int, body: dict[str, Any]) -> bytes | None:
        return completion('{"fruit": "pear"}') if purpose(body) == "schema" else None

    with serving(binds) as endpoint:
        done = probe(endpoint, tmp_path, "difficulty.turn_cap=1")
    assert done.stdout.splitlines()[1] == (
        "the endpoint enforces the JSON schema during generation"
    )


def test_a_conversation_that_is_lost_ends_69_and_says_how(tmp_path: Path) -> None:
    def silent(number: int, body: dict[str, Any]) -> bytes | None:
        return completion('{"say": ""}') if purpose(body) == "reply" else None

    with serving(silent) as endpoint:
        done = probe(endpoint, tmp_path, "simulator.retries=1")
    assert done.returncode == 69
    assert "(ended: empty)" in done.stdout
    assert "given_up {'empty': 1}" in done.stdout


@pytest.mark.parametrize("word", ["trainer.steps=5", "algorithm=ppo", "remedy=clip_higher"])
def test_a_key_of_training_is_refused_before_the_endpoint_is_asked(
    word: str, tmp_path: Path
) -> None:
    with serving() as endpoint:
        done = probe(endpoint, tmp_path, "seed=3", "difficulty=hard", word, "eval.users=2")
        assert endpoint.bodies == []
    assert (done.returncode, done.stdout) == (2, "")
    key = word.partition("=")[0]
    rule = "probe-simulator trains nothing, so only seed, difficulty and simulator have an effect"
    assert done.stderr == f"harness: {key}: {rule}, got {word}\n"


def test_a_sweep_is_refused(tmp_path: Path) -> None:
    done = here("probe-simulator", "seed=1,2", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "harness: seed: probe-simulator has one user; give one value, got 2\n"


@pytest.mark.slow
def test_what_cannot_be_probed_is_one_line(tmp_path: Path) -> None:
    with serving() as endpoint:
        pass
    done = probe(endpoint, tmp_path, "simulator.retries=0")
    assert done.returncode == 69
    assert done.stderr.startswith(f"harness: connecting to {endpoint.url}, ")
    assert f"harness: simulator.base_url: {endpoint.url} must answer as 'm'" in done.stderr
    done = here("probe-simulator", "simulator=scripted", cwd=tmp_path)
    assert done.returncode == 2
    assert "probe-simulator needs served, got scripted" in done.stderr
    done = here("probe-simulator", "simulator.api_key_env=sk-123", cwd=tmp_path)
    assert done.returncode == 2
    assert "never a key; got 6 characters" in done.stderr
    assert "sk-123" not in done.stderr
    done = here("probe-simulator", "simulator.api_key_env=NO_SUCH_KEY", cwd=tmp_path)
    assert done.returncode == 2
    assert "the variable NO_SUCH_KEY must hold the key" in done.stderr


@pytest.mark.slow
def test_no_user_of_ones_own_can_be_calibrated(tmp_path: Path) -> None:
    done = here("calibrate", "simulator.profiles=mine.jsonl", cwd=tmp_path)
    assert done.returncode == 2
    assert "with the users it draws itself, got mine.jsonl" in done.stderr
    assert list(tmp_path.iterdir()) == []
