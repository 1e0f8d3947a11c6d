"""Components of runs as they stand on disk: with outcomes, with columns alone, with neither."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.law.variance import measure, parts, run_cost
from harness.law.variance.results import Variance, VarianceComponent
from harness.testing import run_folders, synthetic
from tests.law.variance.made import USERS, events, run


def named(found: tuple[VarianceComponent, ...]) -> dict[str, VarianceComponent]:
    return {part.name: part for part in found}


def sweep(root: Path, **more: Any) -> Variance:
    for level, mean in (("easy", 0.7), ("hard", 0.3)):
        for seed in (1, 2, 3):
            events(run(root, level, seed, mean + 0.02 * (seed - 2), **more))
    return measure.measure([root], "own", 0.05)


def test_outcomes_tell_user_from_seed(tmp_path: Path) -> None:
    found = sweep(tmp_path)
    reward = named(found.reward)
    user, crossed = reward["user"].variance, reward["seed_user"].variance
    assert user is not None
    assert crossed is not None
    assert user.low < 0.1**2 < user.high
    assert crossed.value**0.5 == pytest.approx(0.05, rel=0.2)
    level = reward["level"].variance
    assert level is not None
    assert level.value == pytest.approx(0.4**2 / 2, rel=0.1)
    assert reward["repeat"].why == "not identifiable: with eval.repeats=1 it is part of user"
    assert reward["simulator"].why == parts.NO_PAIR
    shares = [part.share.value for part in found.reward if part.share is not None]
    assert sum(shares) == pytest.approx(1)
    assert [arm.name for arm in found.arms] == ["difficulty=easy", "difficulty=hard"]
    assert not found.conservative
    assert {plan.target for plan in found.plans} == {"mean", "difference"}


def test_columns_alone_do_not_tell_user_from_seed(tmp_path: Path) -> None:
    found = sweep(tmp_path, kept=False, reward_se=0.015, listening=0.4)
    reward = named(found.reward)
    assert reward["seed_user"].why == parts.NO_OUTCOMES
    assert reward["user"].variance is not None
    assert reward["user"].variance.value == pytest.approx(0.015**2 * USERS)
    assert found.conservative
    assert len(found.plans) == 2
    listening = named(found.listening)
    assert listening["user"].why == parts.OF_ALL
    assert listening["seed"].variance is not None


def test_runs_of_before_tell_their_seeds_alone(tmp_path: Path) -> None:
    found = sweep(tmp_path, kept=False)
    reward = named(found.reward)
    assert reward["user"].why == parts.NO_OUTCOMES
    assert reward["seed"].variance is not None
    assert reward["seed"].variance.value == pytest.approx(0.02**2, rel=0.5)
    assert (found.plans, found.listening) == ((), ())


def test_the_only_part_that_is_known_has_no_share(tmp_path: Path) -> None:
    for seed, mean in ((1, 0.28), (2, 0.3), (3, 0.33)):
        run(tmp_path, "hard", seed, mean, kept=False)
    found = measure.measure([tmp_path], "own", 0.05)
    (only,) = (part for part in found.reward if part.variance is not None)
    assert (only.name, only.share) == ("seed", None)


def test_one_seed_identifies_nothing(tmp_path: Path) -> None:
    run(tmp_path, "easy", 1, 0.5)
    found = measure.measure([tmp_path], "own", 0.05)
    assert all(part.variance is None for part in found.reward)
    assert named(found.reward)["seed"].why == parts.ONE_SEED


def test_what_does_not_count_is_told(tmp_path: Path) -> None:
    rows = synthetic.lawful_rows(n=20)
    run_folders.write_run(tmp_path / "null", rows, null_control=True)
    run_folders.write_run(tmp_path / "stopped", rows, status="stopped")
    run_folders.write_run(tmp_path / "unevaluated", rows)
    found = measure.measure([tmp_path], "hard", 0.05)
    assert found.arms == ()
    reasons = sorted(skipped.reason for skipped in found.skipped)
    assert reasons == ["a null control", "not done: stopped", "not evaluated at hard"]


def test_a_user_with_a_lost_conversation_is_left_out_and_counted(tmp_path: Path) -> None:
    for seed in (1, 2):
        folder = run(tmp_path, "easy", seed, 0.5)
    kept = json.loads((folder / "outcomes.json").read_text())
    kept["reward"]["own"][5][0] = None
    (folder / "outcomes.json").write_text(json.dumps(kept))
    known = [share for of_user in kept["reward"]["own"] for share in of_user if share is not None]
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    run_folders.write_rows(folder, synthetic.evaluated(rows, reward=float(np.mean(known))))
    (arm,) = measure.measure([tmp_path], "own", 0.05).arms
    assert (arm.has_outcomes, arm.lost) == (True, 1)


def test_cpu_time_is_divided_as_the_wall_clock_was(tmp_path: Path) -> None:
    folder = run(tmp_path, "easy", 1, 0.5)
    events(folder)
    cost = run_cost.read(folder / "events.jsonl", {1, 11, 21})
    assert cost is not None
    # the second before step 1 is divided as that step: 2 of 2.1 evaluate
    assert cost.evaluating == pytest.approx(6 + 2 / 2.1)
    assert cost.training == pytest.approx(2.1 + 0.1 / 2.1)
    assert (cost.evaluations, cost.is_cpu) == (3, True)
    events(folder, cpu_s=None)
    wall = run_cost.read(folder / "events.jsonl", {1, 11, 21})
    assert wall is not None
    assert wall.training == pytest.approx(2.1)
    assert not wall.is_cpu
    assert run_cost.read(tmp_path / "none", set()) is None


@pytest.mark.parametrize(
    "event",
    [
        '{"event": "step", "step": 2, "seconds": {"update": 1e400}, "cpu_s": 1}',
        '{"event": "step", "step": 2, "seconds": {"update": 1}, "cpu_s": 1' + "0" * 400 + "}",
        '{"event": "step", "step": [2], "seconds": {"update": 1}, "cpu_s": 1}',
        '{"event": "step", "step": 2, "seconds": {"update": NaN}, "cpu_s": 1}',
        '{"event": "step", "step": 2, "seconds": [1], "cpu_s": 1}',
    ],
)
def test_an_event_without_sound_times_costs_nothing(tmp_path: Path, event: str) -> None:
    path = tmp_path / "events.jsonl"
    sound = '{"event": "step", "step": 1, "seconds": {"update": 2.5}, "cpu_s": 3.5}'
    path.write_text(f"{sound}\n{event}\n")
    cost = run_cost.read(path, set())
    assert cost is not None
    assert (cost.training, cost.is_cpu) == (3.5, True)
