"""The admission test of a served user, as a user runs it, against users who feel as told."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.calibration.validity import admission, requirements
from harness.calibration.validity.replies import LANGUAGE, pairs, texts
from harness.compose import planner
from harness.errors import ConfigError
from harness.execution import user_validity
from harness.testing.commands import here
from tests.simulator.endpoint import (
    Body,
    Endpoint,
    completion,
    data,
    level,
    play,
    purpose,
    response,
    serving,
)

KIND = {pair.kind for pair in pairs()} | set(texts(None, [*LANGUAGE, "supportive_negation"]))
CRUEL = {pair.cruel for pair in pairs()} | set(texts(None, ["hurtful_kind_words"]))
SHORT = ("simulator.backoff_s=0", "simulator.model=m")
Feeling = Callable[[str, Body], tuple[int, str]]
"""(what the supporter says, the request) -> the place of the change among those allowed, the fit"""


def humane(text: str, body: Body) -> tuple[int, str]:
    if text in KIND:
        return -1, "fully"
    return (0, "against") if text in CRUEL else (2, "none")


def feels(feeling: Feeling) -> Callable[[int, Body], bytes]:
    def script(number: int, body: Body) -> bytes:
        if purpose(body) == "reply":
            return completion(json.dumps({"say": f"I think of it, on day {number}."}))
        if purpose(body) != "appraise":
            return completion(play(body))
        allowed = body["response_format"]["json_schema"]["schema"]["properties"]["change"]["enum"]
        place, fit = feeling(data(body)["latest_message"], body)
        answer = {"reason": "So it was.", "target_fit": fit, "change": allowed[place]}
        return completion(json.dumps(answer))

    return script


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path / "cache"))


def admit(endpoint: Endpoint, cwd: Path, *words: str) -> subprocess.CompletedProcess[str]:
    address = ("simulator=served", f"simulator.base_url={endpoint.url}", *SHORT)
    return here("calibrate", *address, *words, cwd=cwd)


def admitted(cwd: Path) -> Any:
    return json.loads((cwd / "calibration" / "admission.json").read_text())


def test_a_user_who_prefers_kindness_is_admitted_and_planned_without_a_word(
    tmp_path: Path,
) -> None:
    with serving(feels(humane)) as endpoint:
        done = admit(endpoint, tmp_path, "difficulty=medium")
        asked = len(endpoint.bodies)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "admitted"
    most = admission.most_requests()
    said = f"at most {most:,} requests to {endpoint.url} (m), each tried up to 6 times"
    assert said in done.stderr
    assert "admitted where kind replies end above cruel ones" in done.stderr
    assert asked <= most + 1  # one that tries whether anybody answers
    level = admitted(tmp_path)["levels"]["medium"]
    assert level["reader"] == "m"
    assert level["problems"] == []
    shares = {name: value["value"] for name, value in level["measured"].items() if value}
    assert shares["cruel_heard"] == 1
    assert shares["kind_minus_cruel"] > 40
    assert [shares[n] for n in requirements.MOST] == [0] * 5
    address = ["simulator=served", f"simulator.base_url={endpoint.url}", *SHORT]
    config = planner.point([*address, "difficulty.turn_cap=3"]).config
    assert user_validity.check([config]) == []
    assert user_validity.of_run(config)["medium"].valid


def test_a_user_who_prefers_cruelty_is_refused_with_what_was_measured(tmp_path: Path) -> None:
    def cruel(text: str, body: Body) -> tuple[int, str]:
        return {-1: (0, "none"), 0: (-1, "none")}.get(humane(text, body)[0], (2, "none"))

    with serving(feels(cruel)) as endpoint:
        done = admit(endpoint, tmp_path, "difficulty=medium")
        address = ["simulator=served", f"simulator.base_url={endpoint.url}", *SHORT]
        again = admit(endpoint, tmp_path, "difficulty=medium", "difficulty.unchecked=true")
    assert (done.returncode, again.returncode) == (3, 0)
    assert "not admitted: at medium the user hears 0% of cruel replies as hurtful" in done.stdout
    assert "unless difficulty.unchecked=true" in done.stdout.splitlines()[-1]
    config = planner.point(address).config
    with pytest.raises(ConfigError, match=r"^difficulty=medium: .* prefer kindness to cruelty"):
        user_validity.check([config])
    user_validity.check([planner.point([*address, "difficulty.unchecked=true"]).config])


@pytest.mark.slow
def test_contradictions_and_echoes_are_counted(tmp_path: Path) -> None:
    def torn(text: str, body: Body) -> tuple[int, str]:
        place, fit = humane(text, body)
        return place, "against" if place == -1 and body["seed"] % 2 else fit

    def script(number: int, body: Body) -> bytes:
        if purpose(body) == "reply" and body["seed"] % 2:
            return completion(json.dumps({"say": data(body)["talk"][-1]["supporter"]}))
        return feels(torn)(number, body)

    with serving(script) as endpoint:
        done = admit(endpoint, tmp_path, "difficulty=medium", "simulator.retries=9")
    assert done.returncode == 3
    measured = admitted(tmp_path)["levels"]["medium"]["measured"]
    assert 0.15 < measured["contradictions"]["value"] < 0.5
    assert 0.35 < measured["echoes"]["value"] < 0.6
    assert "of appraisals contradict themselves, and at most 5% may" in done.stdout
    (spent,) = (line for line in done.stderr.splitlines() if " calls, " in line)
    assert re.search(r"; asked again: contradictory \d+, echoed \d+(;|$)", spent), spent


def test_a_user_who_says_the_same_again_is_not_admitted(tmp_path: Path) -> None:
    def script(number: int, body: Body) -> bytes:
        if purpose(body) == "reply":
            return completion(json.dumps({"say": "I am happy. I am happy. I am happy."}))
        return feels(humane)(number, body)

    with serving(script) as endpoint:
        done = admit(endpoint, tmp_path, "difficulty=medium")
    assert done.returncode == 3
    refused = [line for line in done.stdout.splitlines() if line.startswith("not admitted")]
    assert refused == [
        "not admitted: at medium 100% of answers say the same again, and at most 25% may"
    ]


@pytest.mark.slow
def test_levels_in_the_wrong_order_are_not_admitted(tmp_path: Path) -> None:
    def inverted(text: str, body: Body) -> tuple[int, str]:
        is_easy = level(body) == "easy"
        place, fit = humane(text, body)
        return (1, "none") if is_easy and place == -1 and body["seed"] % 3 else (place, fit)

    with serving(feels(inverted)) as endpoint:
        done = admit(endpoint, tmp_path, "difficulty=easy,hard")
    assert done.returncode == 3
    assert "not admitted: at hard its users end above those of easy" in done.stdout
    assert requirements.order_problem("easy", {"value": 0.0, "low": 0.0, "high": 0.0}) == []
    (order,) = admitted(tmp_path)["order"]
    assert order["difference"]["high"] < 0


def test_an_endpoint_that_is_gone_is_said_at_once(tmp_path: Path) -> None:
    with serving() as endpoint:
        pass
    done = admit(endpoint, tmp_path)
    assert done.returncode == 69
    assert not (tmp_path / "calibration").exists()


@pytest.mark.parametrize(
    ("answered", "outage_s", "tested"),
    [pytest.param(40, 0, 0, marks=pytest.mark.slow), (1000, 1, 1)],
)
def test_an_endpoint_that_goes_away_says_nothing_of_its_model(
    tmp_path: Path, answered: int, outage_s: int, tested: int
) -> None:
    def script(number: int, body: Body) -> bytes:
        gone = number > answered
        return response("", "503 Gone") if gone else feels(humane)(number, body)

    with serving(script) as endpoint:
        done = admit(endpoint, tmp_path, "difficulty=easy,hard", f"simulator.outage_s={outage_s}")
    assert done.returncode == 69, done.stderr
    assert ("does not answer, server: 503" in done.stderr) == bool(outage_s)
    assert "server" in done.stderr.splitlines()[-1]
    assert "not admitted" not in done.stdout
    assert not (tmp_path / "calibration").exists()
    kept = list((tmp_path / "cache").glob("admission-*.json"))
    assert len(kept) == tested, "what is whole is kept, and no verdict on the rest"


def test_a_user_whom_nobody_measured_is_trained_on_and_told() -> None:
    (note,) = user_validity.check([planner.point(["simulator=served", *SHORT]).config])
    assert note.startswith(
        "difficulty=medium: not admitted, and every verdict says so: m has not been measured"
    )
