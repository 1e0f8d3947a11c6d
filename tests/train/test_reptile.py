"""Reptile: its outer step by hand, its tasks, its slow weights on disk, and adaptation."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.compose import planner
from harness.config.run import TEMPERAMENTS, AlgorithmConfig, RunConfig
from harness.errors import ConfigError, DataError
from harness.policy.tabular import TabularPolicy
from harness.records import saved_conversations
from harness.testing.algorithm_contract import AlgorithmContract
from harness.train.algorithms.grpo import Grpo
from harness.train.algorithms.reptile import Reptile
from harness.train.loop import adaptation, tabular_state
from harness.train.objective import registry, remedy_state
from harness.train.objective.remedy_stack import RemedyStack
from harness.train.policy_gradient.algorithm import Algorithm, InnerStep
from harness.train.policy_gradient.rewards import Rewards
from tests.train.made import finish, go_on, make_run, rows_of, tabular

START = TabularPolicy.start("last_words")
HEARS = TabularPolicy.start("conversation")
NUMBERS = {"kind": "reptile", "learning_rate": 6.0, "options": {"inner_steps": 2}}


def moved(seed: int) -> TabularPolicy:
    return replace(START, table=np.random.default_rng(seed).normal(size=START.table.shape))


class TestReptile(AlgorithmContract):
    @pytest.fixture
    def algorithm(self) -> Algorithm:
        return Reptile()


def test_the_outer_step_goes_part_of_the_way_at_the_end_of_a_task_alone() -> None:
    slow, fast = moved(1), moved(2)
    within = tabular_state.outer_step(slow, fast, InnerStep("passive", 0.0))
    assert within == (slow, fast)
    assert tabular_state.outer_step(None, fast, None) == (None, fast)
    after = tabular_state.outer_step(slow, fast, InnerStep("passive", 0.25))
    assert after[0] is not None
    np.testing.assert_allclose(after[0].table, 0.75 * slow.table + 0.25 * fast.table)
    assert after[0] is after[1]


def test_tasks_last_and_are_dealt_in_rounds() -> None:
    config, reptile = RunConfig(seed=7), Reptile(inner_steps=3, outer_rate=0.5)
    steps = [reptile.inner_step(step, config) for step in range(1, 91)]
    assert [s.outer_rate for s in steps[:6]] == [0, 0, 0.5, 0, 0, 0.5]
    tasks = [s.temperament for s in steps][::3]
    assert [s.temperament for s in steps] == list(np.repeat(tasks, 3))
    rounds = [tuple(tasks[n : n + 3]) for n in range(0, 30, 3)]
    assert all(sorted(one) == sorted(TEMPERAMENTS) for one in rounds)
    assert len(set(rounds)) > 2
    other = [reptile.inner_step(step, replace(config, seed=8)) for step in range(1, 91)]
    assert other != steps


def test_a_task_meets_users_of_its_temperament_and_the_row_is_of_the_weights_that_talk(
    tmp_path: Path,
) -> None:
    config = tabular(algorithm=NUMBERS, steps=4, conversations=16, conversations_every=1)
    run = make_run(tmp_path / "r", config)
    assert finish(run)[0] == 0
    for step in range(1, 5):
        met = {c.temperament for c in saved_conversations.read(run.path, step).conversations}
        assert met == {Reptile(inner_steps=2).inner_step(step, config).temperament}


def test_the_policy_that_is_kept_is_the_slow_one(tmp_path: Path) -> None:
    """By hand: grpo at the same users takes the inner steps, and the outer step is half of them."""
    config = tabular(algorithm=NUMBERS, steps=2, conversations=16)
    run = make_run(tmp_path / "r", config)
    assert finish(run)[0] == 0
    last = max(run.checkpoints.iterdir())
    kept = tabular_state.load(last, START).table
    task = Reptile().inner_step(1, config).temperament
    one = replace(
        config,
        algorithm=AlgorithmConfig(kind="grpo", learning_rate=6.0),
        difficulty=replace(config.difficulty, temperaments=[task]),
    )
    plain = make_run(tmp_path / "plain", one)
    assert finish(plain)[0] == 0
    inner = tabular_state.load(max(plain.checkpoints.iterdir()), START).table
    np.testing.assert_allclose(kept, 0.5 * inner, atol=1e-12)


def test_what_its_advantages_are_divided_by_is_a_key_of_its_own_too() -> None:
    words = ["policy=tabular", "algorithm=reptile", "algorithm.std_floor=0.5"]
    (point,) = planner.plan(words).points
    stack = remedy_state.begin(point.config, None)
    rewards = replace(Rewards.of(np.arange(64) / 64), replies=np.full(64, 3))
    given = stack.algorithm.advantages(rewards, None, stack.config)
    assert given[7, 0] == pytest.approx(3.5 / 64 / 0.5)  # the spread of eight in a row is 0.04


def test_a_run_goes_on_within_a_task_and_a_lost_file_is_told(tmp_path: Path) -> None:
    numbers = {**NUMBERS, "options": {"inner_steps": 3}}
    config = tabular(algorithm=numbers, steps=6, conversations=16, checkpoint_every=2)
    straight = make_run(tmp_path / "straight", config)
    assert finish(straight)[0] == 0
    stopped = make_run(tmp_path / "stopped", config)
    go_on(stopped, stop_after=4)
    go_on(stopped)
    assert stopped.metrics.read_bytes() == straight.metrics.read_bytes()
    folder = max(straight.checkpoints.iterdir())
    (folder / "fast.npy").unlink()
    with pytest.raises(DataError, match=r"fast.npy: must hold logits as an array, but does not"):
        tabular_state.fast_weights(folder, START)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["policy=tiny"], "policy.kind must be tabular with algorithm.kind=reptile, since slow"),
        (
            ["policy=tabular", "difficulty.temperaments=[passive]"],
            "difficulty.temperaments must name two or more with algorithm.kind=reptile, which are "
            "its tasks, got passive",
        ),
        (["policy=tabular", "curriculum=reverse"], "curriculum.kind must not be reverse with"),
        (
            ["policy=tabular", "trainer.steps=10"],
            "trainer.steps must be a multiple of algorithm.options.inner_steps (4) with",
        ),
        (
            ["policy=tabular", "algorithm.options.inner_steps=1"],
            "algorithm.options.inner_steps must lie between 2 and 1000",
        ),
    ],
)
def test_what_cannot_be_is_refused(words: list[str], sentence: str) -> None:
    with pytest.raises(ConfigError) as error:
        planner.point(["algorithm=reptile", *words])
    assert sentence in str(error.value)


def adapting(**kind: Any) -> RunConfig:
    config = tabular(algorithm=kind, steps=1, conversations=256)
    difficulty = replace(config.difficulty, temperaments=["negative", "passive"])
    size = replace(config.eval, users=128, adapts_to="avoidant")
    hears = replace(config.policy, observation="conversation")
    return replace(config, difficulty=difficulty, eval=size, policy=hears)


def test_one_step_on_a_held_out_temperament_helps_its_users_and_changes_nothing_else(
    tmp_path: Path,
) -> None:
    config = adapting(learning_rate=12.0)
    stack = RemedyStack(Grpo(), config.algorithm, ())
    measured = adaptation.adaptation(HEARS, HEARS, stack, None, config, 1)
    assert isinstance(measured["adapt/before"], float)
    assert isinstance(measured["adapt/after"], float)
    assert measured["adapt/after"] > measured["adapt/before"] + 0.02
    still = replace(config, algorithm=replace(config.algorithm, learning_rate=1e-12))
    stack = RemedyStack(Grpo(), still.algorithm, ())
    same = adaptation.adaptation(HEARS, HEARS, stack, None, still, 1)
    assert same["adapt/after"] == same["adapt/before"] == measured["adapt/before"]
    (row,) = rows_of(tmp_path / "r", config, evaluated=True)
    assert {key: row[key] for key in measured} == measured
    plainly = replace(config, eval=replace(config.eval, adapts_to=None))
    (plain,) = rows_of(tmp_path / "p", plainly, evaluated=True)
    assert {k for k in row if row[k] != plain[k]} == {*measured, "crc32"}


def test_it_adapts_to_users_of_the_temperament_alone() -> None:
    config = adapting(learning_rate=3.0)
    before = adaptation.adaptation(
        HEARS, HEARS, RemedyStack(Grpo(), config.algorithm, ()), None, config, 1
    )
    other = replace(config, eval=replace(config.eval, adapts_to="negative"))
    after = adaptation.adaptation(
        HEARS, HEARS, RemedyStack(Grpo(), other.algorithm, ()), None, other, 1
    )
    assert before["adapt/before"] != after["adapt/before"]
    none = replace(config, eval=replace(config.eval, adapts_to=None))
    nothing = RemedyStack(Grpo(), none.algorithm, ())
    assert adaptation.adaptation(HEARS, HEARS, nothing, None, none, 1) == {}


def test_the_step_of_critique_grpo_learns_from_what_was_sampled_again() -> None:
    """Before a group's worst conversation is replaced, its batch and its loss are dr_grpo's."""
    tables = []
    for kind in ("dr_grpo", "critique_grpo"):
        config = adapting(kind=kind, learning_rate=3.0, denominator="constant")
        stack = RemedyStack(registry.algorithm_of(config), config.algorithm, ())
        tables.append(adaptation.one_step(HEARS, HEARS, stack, None, config, 1).table)
    plain, refined = tables
    assert plain.any()
    assert not np.allclose(plain, refined)
