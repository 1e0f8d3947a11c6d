"""What a served user said once is said again: a run that goes on repeats the rows on disk.

The endpoint samples: whatever it is asked twice, it answers twice. Users who differ only in what
no prompt tells (turn caps, noise) then ask the same at the same time.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness.config.curriculum import CurriculumConfig
from harness.config.run import DifficultyConfig, LevelsConfig, RunConfig
from harness.records.run_folder import RunFolder
from tests.faults.sampling import attempt, sampled
from tests.simulator.endpoint import Endpoint, completion, serving
from tests.simulator.served import config as served
from tests.train.made import make_run, tabular

Record = Callable[[str, object], None]
MOST_ATTEMPTS = 30


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
