"""Talking to a served user from the command line: over real HTTP, with an endpoint that fails."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cli.chat_command import chat, lines
from tests.simulator.endpoint import completion, purpose, response, serving

HOSTILE = "\x1b[31mI keep \u202ethinking\nyou     I give up."
PATIENCE = ("simulator.retries=0", "simulator.backoff_s=0", "simulator.model=m")


def served(url: str, *words: str, stdin: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    address = ("simulator=served", f"simulator.base_url={url}", *PATIENCE)
    return chat(*address, *words, stdin=stdin, cwd=cwd)


@pytest.mark.slow
def test_a_served_user_says_how_they_feel_and_why(tmp_path: Path) -> None:
    with serving() as endpoint:
        done = served(endpoint.url, "--reveal", stdin="You are stupid.\n", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("A served user, difficulty medium, seed 1.\n")
    assert lines(done.stdout, "hidden")[0].startswith("came for ")
    opening, answer = lines(done.stdout, "user")
    assert "days ago." in opening
    assert answer.startswith("I keep thinking of it, ")
    fit = "does it fit what they came for: against; in their words: So it felt."
    assert lines(done.stdout, "why") == [fit]
    assert done.stdout.splitlines()[-1].endswith("in 1 reply, 0 up, 1 down")


def test_what_a_model_says_cannot_pass_for_the_other_side_or_reach_the_terminal(
    tmp_path: Path,
) -> None:
    def hostile(number: int, body: dict[str, Any]) -> bytes | None:
        return None if purpose(body) == "appraise" else completion(json.dumps({"say": HOSTILE}))

    with serving(hostile) as endpoint:
        done = served(endpoint.url, stdin="What happened then?\n", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.replace("\n", "").isprintable()
    assert lines(done.stdout, "you") == ["What happened then?"]
    assert lines(done.stdout, "user") == ["[31mI keep thinking you I give up."] * 2


@pytest.mark.slow
def test_an_endpoint_that_is_gone_ends_the_chat_with_69_and_its_fault(tmp_path: Path) -> None:
    with serving() as endpoint:
        url = endpoint.url
    done = served(url, "--json", stdin="What happened then?\n", cwd=tmp_path)
    assert done.returncode == 69
    assert done.stderr.splitlines()[-1].startswith(
        "failed: the user could not be asked (connection)"
    )
    value = json.loads(done.stdout)
    assert value["ended"] == "failed"
    assert value["turns"][-1]["why"] == {"fault": "connection"}
    assert value["turns"][-1]["reported_emotion"] is None


@pytest.mark.slow
def test_an_endpoint_that_fails_in_the_middle_keeps_what_was_said(tmp_path: Path) -> None:
    def failing(number: int, body: dict[str, Any]) -> bytes | None:
        return response("{}", "500 Oh") if purpose(body) == "appraise" else None

    with serving(failing) as endpoint:
        done = served(endpoint.url, stdin="What happened then?\nGo on.\n", cwd=tmp_path)
    assert done.returncode == 69
    assert lines(done.stdout, "you") == ["What happened then?"]
    assert done.stdout.splitlines()[-1].startswith("failed: the user could not be asked (server)")


def test_a_key_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    done = chat("simulator=served", "simulator.api_key_env=NOT_SET_KEY", stdin="", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "the variable NOT_SET_KEY must hold the key" in done.stderr
