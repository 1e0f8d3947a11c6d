"""What a served user said once is said again: a run that goes on repeats the rows on disk.

The endpoint samples: whatever it is asked twice, it answers twice. Users who differ only in what
no prompt tells (turn caps, noise) then ask the same at the same time.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.config.curriculum import CurriculumConfig
from harness.config.run import DifficultyConfig, LevelsConfig, RunConfig
from harness.errors import StorageError
from harness.records.run_folder import RunFolder
from harness.simulator.served.client import EndpointClient
from harness.simulator.served.completions import Request
from harness.simulator.served.faults import Fault
from harness.simulator.served.journal import Journal
from harness.testing.simulator_contract import converse, key
from tests.simulator.endpoint import (
    HANG,
    Body,
    Endpoint,
    Script,
    completion,
    data,
    play,
    purpose,
    response,
    serving,
)
from tests.simulator.served import config as served
from tests.simulator.served import connected, users
from tests.train.made import make_run, tabular

Record = Callable[[str, object], None]
FEW_USERS = (
    "import sys; from harness.train import __main__ as child; "
    "from harness.train.metrics import evaluate; evaluate.USERS = 8; "
    "sys.exit(child.main())"
)
MOST_ATTEMPTS = 30


def sampled(chance: random.Random, fails: float = 0.0) -> Script:
    """A model that draws anew at every call; a share of its calls fails in mixed ways."""
    wires = (response("", "500 Internal Server Error"), HANG, completion("{"), b"")

    def script(number: int, body: Body) -> bytes | str | None:
        if chance.random() < fails:
            return chance.choice(wires)
        if purpose(body) == "appraise":
            shape = body["response_format"]["json_schema"]["schema"]["properties"]["change"]
            felt = {"reason": "So.", "target_fit": "none", "change": chance.choice(shape["enum"])}
            return completion(json.dumps(felt))
        return completion(play({**body, "seed": chance.randrange(2**31)}))

    return script


def alike(chance: random.Random) -> DifficultyConfig:
    """A level that no prompt tells from another."""
    return DifficultyConfig(
        turn_cap=chance.randint(1, 3),
        stop_below=chance.choice((0, 10, 30)),
        reward_noise=chance.choice((0.0, 8.0)),
        reward_flips=chance.choice((0.0, 0.3)),
    )


def drawn(chance: random.Random, url: str, steps: int, **simulator: Any) -> RunConfig:
    """A run whose levels differ in what no prompt tells."""
    named = {name: replace(alike(chance), name=name) for name in ("easy", "medium", "hard")}
    group_size, every = chance.choice((2, 4)), chance.choice((1, 2))
    kind = chance.choice(("none", "mixed", "adaptive"))
    concurrency = chance.choice((1, 8, 64))
    base = tabular(
        replace(alike(chance), name="own"),
        seed=chance.randrange(1000),
        algorithm={"group_size": group_size},
        steps=steps,
        conversations=8,
        checkpoint_every=chance.choice((1, 2)),
        eval_every=every,
    )
    asks = {"retries": 1, "deadline_s": 0.5, "concurrency": concurrency, **simulator}
    return replace(
        base,
        simulator=served(url, **asks),
        levels=LevelsConfig(**named),
        curriculum=CurriculumConfig(name=kind, kind=kind),
    )


def attempt(run: RunFolder, killed: Callable[[], bool] = lambda: False) -> tuple[int, str]:
    """Exit code and stderr of the run's process, which has 8 held-out users a level; it is killed
    once `killed` says so.
    """
    words = [sys.executable, "-P", "-c", FEW_USERS, str(run.path)]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as child:
        while child.poll() is None and not killed():
            time.sleep(0.002)
        child.kill()
        err = child.communicate()[1]
    return child.returncode, err


def after(requests: int, endpoint: Endpoint) -> Callable[[], bool]:
    """Whether the endpoint has had so many requests."""
    return lambda: len(endpoint.bodies) >= requests


def go_on_to_the_end(
    run: RunFolder, endpoint: Endpoint, chance: random.Random, kills: int
) -> list[int]:
    """Exit codes of the attempts, the first of which are killed amid random requests."""
    codes: list[int] = []
    while codes[-1:] != [0] and len(codes) < MOST_ATTEMPTS:
        if len(codes) < kills:
            code, err = attempt(run, after(len(endpoint.bodies) + chance.randint(1, 120), endpoint))
        else:
            code, err = attempt(run)
        assert code in (0, -9, 69), err  # 69: an evaluation lost too many, and asks them again
        codes.append(code)
    return codes


def replayed(run: RunFolder, path: Path) -> tuple[int, str, RunFolder]:
    """A copy of a finished run that has its rows and its journal, and nothing else to go by."""
    again = RunFolder(path)
    shutil.copytree(run.path, again.path)
    shutil.rmtree(again.checkpoints)
    now = json.loads(again.status.read_text()) | {"status": "stopped", "exit_code": 75}
    again.status.write_text(json.dumps(now))
    code, err = attempt(again)
    return code, err, again


def check_replay(run: RunFolder, path: Path, steps: int) -> None:
    code, err, again = replayed(run, path)
    assert code == 0, err
    assert again.metrics.read_bytes() == run.metrics.read_bytes()
    last = json.loads(again.events.read_text().splitlines()[-1])
    assert (last["event"], last["compared"], last["mismatched"]) == ("replay_check", steps, 0)


def sampled_trial(root: Path, seed: int, steps: int, kills: int, fails: float) -> list[int]:
    chance = random.Random(seed)
    with serving(sampled(random.Random(seed + 1), fails)) as endpoint:
        run = make_run(root / "run", drawn(chance, endpoint.url, steps))
        codes = go_on_to_the_end(run, endpoint, chance, kills)
        assert codes[-1] == 0
        endpoint.script, calls = (lambda number, body: completion("{}")), len(endpoint.bodies)
        check_replay(run, root / "again", steps)
        assert len(endpoint.bodies) == calls, "nothing is asked again"
    return codes


@pytest.mark.attack(
    "kill -9 at a random moment; the endpoint samples, and levels differ in no prompt",
    "the run goes on to exit 0; its journal gives the same rows, and nobody is asked",
)
def test_a_sampling_endpoint_and_a_kill(tmp_path: Path, record_property: Record) -> None:
    codes = sampled_trial(tmp_path, seed=4, steps=2, kills=1, fails=0.0)
    assert codes == [-9, 0]
    record_property("seen", f"exit codes {codes}, then 0 from the journal alone")


@pytest.mark.slow
@pytest.mark.attack(
    "the same with more kills, other knobs (caps, noise, groups, curricula, concurrency)",
    "never 70: every recomputed row equals the one on disk",
)
@pytest.mark.parametrize("seed", range(100, 112))
def test_sampling_endpoints_kills_and_knobs(
    tmp_path: Path, seed: int, record_property: Record
) -> None:
    codes = sampled_trial(tmp_path, seed, steps=3, kills=3, fails=0.01)
    record_property("seen", f"exit codes {codes}, then 0 from the journal alone")


@pytest.mark.slow
@pytest.mark.attack(
    "kill -9 at random moments of a run on an endpoint with one answer to each request",
    "the rows are those of a run that was never killed, byte for byte",
)
@pytest.mark.parametrize("seed", range(3))
def test_a_killed_run_equals_one_never_killed(
    tmp_path: Path, seed: int, record_property: Record
) -> None:
    rows = []
    for kills in (0, 3):
        chance = random.Random(seed)
        with serving() as endpoint:
            run = make_run(tmp_path / str(kills), drawn(chance, endpoint.url, 3, deadline_s=10.0))
            codes = go_on_to_the_end(run, endpoint, chance, kills)
        rows.append(run.metrics.read_bytes())
    assert rows[0] == rows[1]
    record_property("seen", f"exit codes {codes}, {len(rows[0])} equal bytes")


def request(number: int = 0, said: str = "Hm.") -> Request:
    return Request("reply", (number,), "Say something.", {"latest": said}, {})


def together(line: EndpointClient, *reads: Callable[[str], str]) -> list[str | Fault]:
    """The same request from several at once, each with a way of its own to read the answer."""

    async def ask(read: Callable[[str], str]) -> str | Fault:
        try:
            return await line.ask(request(), read)
        except Fault as fault:
            return fault

    return line.run([ask(read) for read in reads])


@contextlib.contextmanager
def sampling_line(folder: Path, **values: Any) -> Iterator[tuple[EndpointClient, Any]]:
    with serving(sampled(random.Random(1))) as endpoint, connected(endpoint.url, **values) as line:
        line.journal.keep_in(folder)
        line.journal.at_step(1, binding=True)
        yield line, endpoint


def refuse(content: str) -> str:
    raise Fault("leaked", "not for me")


@pytest.mark.attack(
    "ten ask the same at once, of an endpoint that samples", "one call; all get its answer"
)
def test_what_is_asked_at_once_is_asked_once(tmp_path: Path, record_property: Record) -> None:
    with sampling_line(tmp_path) as (line, endpoint):
        found = together(line, *[str] * 10)
        tally = line.take_usage()
        calls = len(endpoint.bodies)
    assert len(set(found)) == 1
    assert (calls, tally.calls, tally.remembered) == (1, 1, 9)
    (kept,) = (tmp_path / "step-00001.jsonl").read_text().splitlines()
    assert json.loads(kept)["content"] == found[0]
    record_property("seen", f"{calls} call, {tally.remembered} others given its answer")


def test_an_answer_that_one_of_them_cannot_take_is_a_fault_of_that_one(tmp_path: Path) -> None:
    with sampling_line(tmp_path) as (line, endpoint):
        first, second, third = together(line, str, refuse, str)
        assert isinstance(first, str)
        assert isinstance(second, Fault)
        assert (third, second.kind, len(endpoint.bodies)) == (first, "leaked", 1)
        assert together(line, refuse, str)[1] == first
        assert len(endpoint.bodies) == 1


def test_a_fault_of_the_one_call_is_everyones(tmp_path: Path) -> None:
    with sampling_line(tmp_path) as (line, endpoint):
        endpoint.script = lambda number, body: response("", "503 Service Unavailable")
        found = together(line, str, str, str)
        tally = line.take_usage()
    assert [str(fault)[:6] for fault in found] == ["server"] * 3
    assert (tally.calls, tally.retries, tally.given_up) == (3, {"server": 2}, {"server": 1})
    assert len((tmp_path / "step-00001.jsonl").read_text().splitlines()) == 1


def test_the_first_to_ask_may_leave(tmp_path: Path) -> None:
    async def scenario(line: EndpointClient) -> str:
        first = asyncio.ensure_future(line.ask(request(), str))
        second = asyncio.ensure_future(line.ask(request(), str))
        await asyncio.sleep(0.05)
        first.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await first
        return await second

    with sampling_line(tmp_path) as (line, endpoint):
        endpoint.delay_s = 0.3
        (said,) = line.run([scenario(line)])
        assert (bool(said), len(endpoint.bodies)) == (True, 1)


@pytest.mark.attack(
    "an opening fails, the step is broken off, and is answered when the step is held again",
    "a replay of that step hears the opening, not the fault that came before",
)
def test_the_fault_of_a_step_broken_off_is_gone_for_good(
    tmp_path: Path, record_property: Record
) -> None:
    def a_talk(binding: bool) -> list[Any]:
        with connected(endpoint.url) as line:
            line.journal.keep_in(tmp_path)
            line.journal.at_step(1, binding)
            return list(converse(users(line), key()))

    with serving() as endpoint:
        down = response("", "503 Service Unavailable")
        endpoint.script = lambda number, body: down if purpose(body) == "open" else None
        assert a_talk(binding=False)[-1].why == {"fault": "server"}
        endpoint.script = lambda number, body: None
        held = a_talk(binding=False)
        assert held[-1].ended == "cap"
        assert data(endpoint.bodies[-1])
    assert a_talk(binding=True) == held
    record_property("seen", "the same conversation, with the endpoint gone")


@contextlib.contextmanager
def files_of_at_most(size: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.attack(
    "the disk fills up in the middle of a line of the journal, and it is written to once more",
    "half a line is none: the journal is read whole afterwards",
)
def test_half_a_line_is_taken_back(tmp_path: Path, record_property: Record) -> None:
    journal = Journal()
    journal.keep_in(tmp_path)
    journal.at_step(1, binding=True)
    for number in range(5):
        one = request(number)
        journal.add(one.digest("m", None), one, f"answer {number}", None)
    with files_of_at_most(250), pytest.raises(StorageError, match="File too large"):
        journal.flush()
    journal.flush()
    again = Journal()
    again.keep_in(tmp_path)
    again.at_step(1, binding=True)
    found = [again.find(request(number).digest("m", None)) for number in range(5)]
    assert [entry and entry["content"] for entry in found] == [f"answer {n}" for n in range(5)]
    record_property("seen", "StorageError, then 5 whole lines")
