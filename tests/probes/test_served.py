"""Probes with served users, on a real endpoint: what they measure, what they cost, what is kept."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.config.run import PolicyConfig
from harness.errors import ConfigError, EndpointError
from harness.probes import ask, registry, served
from harness.probes.results import ProbeReading, ProbeResult
from harness.records import run_folder
from harness.records.run_folder import RunFolder
from tests.probes.made import LORA
from tests.simulator.endpoint import Endpoint, purpose, response, serving
from tests.simulator.served import config as served_config
from tests.train.made import go_on, make_run, short, tabular

USERS, TURNS = 3, 2
ANSWERED = ("alliance", "drift", "grounding", "understanding", "width")


def a_run(path: Path, url: str, policy: PolicyConfig | None = None, **values: Any) -> RunFolder:
    levels = short(TURNS)
    base = tabular(steps=2, conversations=8, checkpoint_every=1, eval_every=1000)
    base = replace(base, policy=policy or base.policy)
    simulator = served_config(url, **values)
    config = replace(base, simulator=simulator, difficulty=levels.medium, levels=levels)
    return make_run(path, replace(config, eval=replace(config.eval, levels=[], deaf=False)))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunFolder, Endpoint]]:
    """A run and its endpoint, which goes on serving."""
    with serving() as endpoint:
        run = a_run(tmp_path_factory.mktemp("served") / "run", endpoint.url)
        code, _, err = go_on(run)
        assert code == 0, err
        yield run, endpoint


def probed(
    run: RunFolder, name: str, out: Path, told: list[str] | None = None, **question: Any
) -> ProbeResult:
    asked = ask.ProbeRequest(
        registry.get(name), run.path, users=USERS, repeats=1, out=out, **question
    )
    heard = list[str]() if told is None else told
    return ask.ask(asked, lambda what, held, of: None, heard.append)


def of(found: ProbeResult, name: str) -> ProbeReading:
    (one,) = [r for r in found.readings if r.quantity == name and not r.setting]
    return one


@pytest.mark.parametrize("name", ANSWERED)
def test_a_probe_says_what_it_asked_of_served_users(
    trained: tuple[RunFolder, Endpoint], tmp_path: Path, name: str
) -> None:
    run, endpoint = trained
    before, told = len(endpoint.bodies), list[str]()
    found = probed(run, name, tmp_path / "out", told)
    asked = len(endpoint.bodies) - before
    assert found.cost is not None
    assert found.cost["calls"] == asked
    assert found.cost["tokens"] == 100 * asked  # as the endpoint counts each
    assert (found.cost["retries"], found.cost["lost_conversations"]) == ({}, 0)
    policies, settings = 2, len(registry.get(name).settings(run_folder.read_config(run)))
    most = policies * settings * USERS * 2 * TURNS + 1  # and whether it answers at all
    lower = "plus retries; --users and --repeats lower that"
    assert told == [f"asks {endpoint.url} at most {most} times, {lower}"]
    assert asked <= most
    assert any(r.estimate.value is not None for r in found.readings)
    json.dumps(found.to_json(), allow_nan=False)


def test_what_was_answered_is_not_paid_for_again(
    trained: tuple[RunFolder, Endpoint], tmp_path: Path
) -> None:
    run, endpoint = trained
    journals = {p: p.read_bytes() for p in sorted(run.simulator.iterdir())}
    first = probed(run, "drift", tmp_path / "one")
    before = len(endpoint.bodies)
    again = probed(run, "drift", tmp_path / "one")
    assert len(endpoint.bodies) == before + 1  # whether it answers at all
    assert (first.cost or {})["calls"] > 10
    assert (again.cost or {})["calls"] == 1
    assert replace(again, cost=None) == replace(first, cost=None)
    elsewhere = probed(run, "drift", tmp_path / "two")
    assert (elsewhere.cost or {})["calls"] == (first.cost or {})["calls"]
    assert {p: p.read_bytes() for p in sorted(run.simulator.iterdir())} == journals


@pytest.mark.slow  # trains a language model
def test_drift_reads_a_start_model_that_the_run_did_not(tmp_path: Path) -> None:
    """A run with served users need not read it (`policy.start_model`); its KL is unknown."""
    with serving() as endpoint:
        policy = replace(LORA, start_model="where_read")
        run = a_run(tmp_path / "run", endpoint.url, policy=policy)
        code, _, err = go_on(run)
        assert code == 0, err
        assert json.loads(run.metrics.read_text().splitlines()[-1])["kl"] is None
        found = probed(run, "drift", tmp_path / "out")
    (start,) = (r.estimate.value for r in found.reference if r.quantity == "KL to the start")
    assert start == pytest.approx(0, abs=1e-6)
    assert abs(of(found, "KL to the start").estimate.value or 1) < 0.1


def test_a_served_user_has_no_bond_and_says_what_serves_them(
    trained: tuple[RunFolder, Endpoint], tmp_path: Path
) -> None:
    found = probed(trained[0], "alliance", tmp_path)
    assert of(found, "bond").estimate.value is None
    goal, task, mean = (of(found, n).estimate.value for n in ("goal", "task", "alliance"))
    assert None not in (goal, task, mean)
    assert found.not_measured == (
        "bond: a served user has no trust; alliance is the mean of goal and task",
    )


def test_the_listener_of_understanding_is_a_lower_mark(
    trained: tuple[RunFolder, Endpoint], tmp_path: Path
) -> None:
    found = probed(trained[0], "understanding", tmp_path)
    own, lower = found.not_measured
    assert "policy.kind=tabular" in own
    assert lower.endswith("so its numbers are lower bounds here")


def test_a_probe_that_has_no_answer_with_served_users_says_why(
    trained: tuple[RunFolder, Endpoint], tmp_path: Path
) -> None:
    run, endpoint = trained
    before = len(endpoint.bodies)
    with pytest.raises(ConfigError) as error:
        probed(run, "novelty", tmp_path)
    assert str(error.value) == (
        f"{run.config}: simulator.kind must be one that answers in this process for novelty, since "
        "its groups must have the same users except for intention and temperament, and a model "
        "gives different users different words from the opening on, got served"
    )
    assert len(endpoint.bodies) == before


def test_retries_and_losses_are_counted_and_few_losses_are_borne(tmp_path: Path) -> None:
    appraised = itertools.count()
    failing = False

    def script(number: int, body: dict[str, Any]) -> bytes | None:
        fails = failing and purpose(body) == "appraise" and next(appraised) in (2, 3)
        return response("", "500 Internal Server Error") if fails else None

    with serving(script) as endpoint:
        run = a_run(tmp_path / "run", endpoint.url, retries=1, concurrency=1)
        assert go_on(run)[0] == 0
        failing = True
        found = probed(run, "drift", tmp_path / "out")
    cost = found.cost or {}
    assert cost["retries"] == {"server": 2} or cost["given_up"] == {"server": 1}
    assert sum(cost["given_up"].values()) == cost["lost_conversations"] <= 1
    assert "asked again: server" in served.cost_words(cost)


def test_a_probe_that_lost_many_has_no_answer_and_goes_on_where_it_was(tmp_path: Path) -> None:
    failing = False

    def script(number: int, body: dict[str, Any]) -> bytes | None:
        fails = failing and purpose(body) == "reply"
        return response("", "500 Internal Server Error") if fails else None

    with serving(script) as endpoint:
        run = a_run(tmp_path / "run", endpoint.url, retries=0)
        assert go_on(run)[0] == 0
        failing, told, out = True, list[str](), tmp_path / "out"
        with pytest.raises(EndpointError) as error:
            probed(run, "drift", out, told)
        assert str(error.value) == (
            f"simulator.base_url: at most 20% of the {USERS} conversations of a level may be lost "
            f"on {endpoint.url}, {USERS} at medium were; what was answered is kept: the same "
            "command asks for the rest"
        )
        assert told[-1].startswith("asked before it ended: ")
        failing, before = False, len(endpoint.bodies)
        found = probed(run, "drift", out)
        opened = [b for b in endpoint.bodies[before:] if purpose(b) == "open"]
    assert (found.cost or {})["lost_conversations"] == 0
    assert not opened
    assert (found.cost or {})["remembered"] > 0


def test_an_endpoint_that_is_gone_ends_the_probe(tmp_path: Path) -> None:
    with serving() as endpoint:
        run = a_run(tmp_path / "run", endpoint.url)
        assert go_on(run)[0] == 0
    with pytest.raises(EndpointError, match=r"simulator\.base_url: .* must answer as 'm', got"):
        probed(run, "drift", tmp_path / "out")


@pytest.mark.slow  # starts two processes
def test_the_command_prints_and_writes_what_it_cost(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.simulator.endpoint", "0.002"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            run = a_run(tmp_path / "run", process.stdout.readline().strip())
            assert go_on(run)[0] == 0
            words = ["probe", "grounding", str(run.path), "--users", "3", "--repeats", "1"]
            done = subprocess.run(
                [sys.executable, "-m", "harness", *words],
                capture_output=True, text=True, timeout=300, cwd=Path(__file__).parents[2],
            )  # fmt: skip
        finally:
            process.kill()
    assert done.returncode == 0, done.stderr
    assert "at most 25 times, plus retries" in done.stderr
    written = json.loads((run.path / "probes" / "grounding" / "probe.json").read_text())
    assert served.cost_words(written["cost"]) in done.stdout
    assert written["cost"]["calls"] > 10
    assert (run.path / "probes" / "grounding" / "simulator" / "openings.jsonl").is_file()
