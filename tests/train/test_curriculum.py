"""Which level a group meets, and when: against the rules worked out by hand, then in whole runs."""

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from harness.config.curriculum import CurriculumConfig
from harness.config.run import LEVELS, RunConfig
from harness.errors import ConfigError
from harness.simulator.protocol import SupporterReply
from harness.train.rollout import curriculum
from harness.train.rollout.conversation import Conversation
from tests.train import made
from tests.train.made import rows_of


def config(kind: str, steps: int = 30, conversations: int = 32, **values: Any) -> RunConfig:
    levels = made.short(3)
    base = made.tabular(steps=steps, conversations=conversations, eval_every=1000)
    chosen = CurriculumConfig(name=kind, kind=kind, **values)
    return replace(base, difficulty=levels.medium, levels=levels, curriculum=chosen)


def names(course: curriculum.CurriculumState, step: int) -> list[str]:
    return [task.level.name for task in curriculum.group_tasks(course, step)]


def ended_at(*reported: float) -> list[Conversation]:
    return [
        made.conversation(
            0, n, 40, [(SupporterReply("Hm."), made.user_turn(50, reported_emotion=value))]
        )
        for n, value in enumerate(reported)
    ]


def test_without_a_curriculum_all_is_the_runs_own_level() -> None:
    plain = config("none")
    course = curriculum.begin(plain, None)
    levels = [task.level for task in curriculum.group_tasks(course, 7)]
    assert levels == [plain.difficulty] * 4


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ({}, [10, 10, 10]),
        ({"medium_from": 5, "hard_from": 21}, [4, 16, 10]),
        ({"hard_from": 9}, [4, 4, 22]),
        ({"medium_from": 25}, [24, 3, 3]),
    ],
)
def test_stages_come_at_their_steps(values: dict[str, int], wanted: list[int]) -> None:
    course = curriculum.begin(config("staged", **values), None)
    met = [set(names(course, step)) for step in range(1, 31)]
    assert [met.count({level}) for level in LEVELS] == wanted
    assert [min(m) for m in met] == sorted((min(m) for m in met), key=LEVELS.index)


def test_a_mix_goes_by_its_weights_and_is_drawn_for_each_group_and_step() -> None:
    mixed = config("mixed", conversations=800, weight_easy=1, weight_medium=0, weight_hard=3)
    course = curriculum.begin(mixed, None)
    counts = Counter(name for step in range(1, 21) for name in names(course, step))
    assert counts["medium"] == 0
    assert counts["hard"] / 2000 == pytest.approx(0.75, abs=4 * math.sqrt(0.1875 / 2000))
    assert names(course, 1) != names(course, 2)
    assert names(course, 1) == names(curriculum.begin(mixed, None), 1)


def test_difficulty_moves_by_the_target_rule() -> None:
    course = curriculum.begin(config("adaptive", rate=20.0), None)
    assert (course.difficulty, set(names(course, 1))) == (0, {"easy"})
    once = curriculum.advance(course, ended_at(100, 60, math.nan))
    assert once.difficulty == pytest.approx(20 * math.tanh(2 * (0.8 - 0.5)))
    back = curriculum.advance(once, ended_at(10, 10))
    assert back.difficulty == pytest.approx(max(0, once.difficulty - 20 * math.tanh(0.8)))
    assert curriculum.advance(once, ended_at(math.nan)) == once
    for _ in range(20):
        once = curriculum.advance(once, ended_at(100))
    assert (once.difficulty, set(names(once, 1))) == (100, {"hard"})


@pytest.mark.parametrize(
    ("difficulty", "below", "above", "share"),
    [(12.5, "easy", "medium", 0.25), (50, "hard", "medium", 1), (80, "medium", "hard", 0.6)],
)
def test_between_two_levels_both_are_met_so_that_the_mean_is_the_difficulty(
    difficulty: float, below: str, above: str, share: float
) -> None:
    course = curriculum.begin(config("adaptive", conversations=8000), None)
    course = replace(course, difficulty=difficulty)
    counts = Counter(name for step in (1, 2) for name in names(course, step))
    assert counts[above] / 2000 == pytest.approx(
        share, abs=4 * math.sqrt(0.25 / 2000) * (share < 1)
    )
    assert counts[below] == 2000 - counts[above]


def test_the_runs_own_keys_hold_at_every_level() -> None:
    mixed = config("mixed")
    difficulty = replace(mixed.difficulty, turn_cap=2, reward_noise=3.0, threshold=2.0)
    ladder = curriculum.begin(replace(mixed, difficulty=difficulty), None).ladder
    assert [level.name for level in ladder] == list(LEVELS)
    assert {(level.turn_cap, level.reward_noise) for level in ladder} == {(2, 3.0)}
    assert [level.acceptance for level in ladder] == ["any_kindness", "reasonable", "goal_fit"]


@pytest.mark.parametrize(
    "kind",
    ["staged", *(pytest.param(n, marks=pytest.mark.slow) for n in ("mixed", "adaptive", "none"))],
)
def test_rows_and_conversations_say_which_levels_were_met(kind: str, tmp_path: Path) -> None:
    rows = rows_of(tmp_path, config(kind, 3))
    for step in (1, 3):
        table = pq.read_table(tmp_path / "conversations" / f"step-0000{step}.parquet").to_pylist()
        openings = [turn for turn in table if turn["turn"] == 0]
        for group in range(4):
            assert len({t["level"] for t in openings if t["group"] == group}) == 1
        shares = {n: np.mean([t["level"] == n for t in openings]) for n in LEVELS}
        row = rows[step - 1]
        assert {n: row[f"curriculum/level_share/{n}"] for n in LEVELS} == shares
        assert (row["curriculum/difficulty"] is not None) == (kind == "adaptive")
    assert rows[0]["eval/reward"] == rows[0]["eval/medium/reward"]


def test_users_of_a_level_are_what_they_are_alone(tmp_path: Path) -> None:
    """Step 1 of `staged` is step 1 of a run at easy; mixing levels does not change anyone."""
    levels = made.short(3)
    staged, easy = config("staged", 1, medium_from=2, hard_from=3), config("none", 1)
    first = rows_of(tmp_path / "staged", staged)[0]
    second = rows_of(tmp_path / "easy", replace(easy, difficulty=levels.easy))[0]
    same = [k for k in first if not k.startswith("eval/") and k != "crc32"]
    assert {k: first[k] for k in same} == {k: second[k] for k in same}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            {"kind": "stage"},
            "curriculum.kind must be one of none, staged, adaptive, mixed, reverse",
        ),
        ({"kind": "staged", "medium_from": 0}, "curriculum.medium_from must lie between 1 and"),
        (
            {"kind": "staged", "medium_from": 9, "hard_from": 5},
            "curriculum.hard_from must lie between 9 and 10000000, got 5",
        ),
        (
            {"kind": "adaptive", "target": 1.5},
            "curriculum.target must lie between 0 and 1, got 1.5",
        ),
        (
            {"kind": "mixed", "weight_easy": 0, "weight_medium": 0, "weight_hard": 0},
            "curriculum.weight_*: one of them must be above 0, got 0, 0 and 0",
        ),
        ({"kind": "mixed", "weight_easy": -1}, "curriculum.weight_easy must lie between 0 and"),
        ({"kind": "reverse", "start_share": 1.0}, "start_share must lie between 0 and 0.95, got 1"),
    ],
)
def test_a_wrong_curriculum_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        CurriculumConfig(**values)
    assert message in str(caught.value)


def test_levels_that_the_runs_own_keys_make_impossible_are_refused() -> None:
    staged = config("staged")
    levels = replace(staged.levels, hard=replace(staged.levels.hard, start_emotion=20))
    stop = replace(staged.difficulty, stop_below=35)
    with pytest.raises(ConfigError, match=r"stop_below must not exceed .*start_emotion \(20\)"):
        replace(staged, levels=levels, difficulty=stop)


def test_the_curriculum_is_restored_from_its_checkpoint(tmp_path: Path) -> None:
    adaptive = config("adaptive")
    course = curriculum.advance(curriculum.begin(adaptive, None), ended_at(77, 93))
    curriculum.save(course, tmp_path)
    assert curriculum.begin(adaptive, tmp_path) == course
    assert list(json.loads((tmp_path / curriculum.FILE).read_text())) == ["difficulty"]
