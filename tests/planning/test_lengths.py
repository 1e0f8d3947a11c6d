"""Runs shorter than the pilot's: what is typed, what is counted, what stays not known."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from harness.compose import planner
from harness.planning import alternatives, answer, search
from harness.planning.answer import PlanRequest, PlanResult
from harness.planning.search import PlannedDesign
from harness.planning.task import parse_effect
from harness.study import cost
from tests.planning import made
from tests.planning.made import SHORT, write_runs

LEVELS = ("difficulty=easy,hard",)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_runs(tmp_path_factory.mktemp("pilot"))


def ask(path: Path | None, *words: str, effect: str = "gain=0.05") -> PlanResult:
    return answer.make_plan(PlanRequest((*LEVELS, *words), parse_effect(effect), path, 0.8))


def test_too_few_evaluations_say_whose_they_are_and_name_the_setting_that_gives_enough(
    runs: Path,
) -> None:
    found = ask(runs, "trainer.steps=40")
    assert found.planned is None
    assert found.why == (
        "a run needs 16 evaluations, and a run of 40 steps, evaluated every 5 like the known runs, "
        "has 9: trainer.eval_every=2 gives 21"
    )
    points = planner.plan(shlex.split(str(found.command))[2:]).points
    assert {(p.config.trainer.steps, p.config.trainer.eval_every) for p in points} == {(40, 2)}


def test_an_eval_every_that_is_typed_is_the_one_that_is_spoken_of() -> None:
    shipped = ("policy=tabular", "trainer.steps=200")
    assert ask(None, *shipped).why == (
        "a run needs 16 evaluations, and a run of 200 steps, evaluated every 25 like the known "
        "runs, has 9: trainer.eval_every=14 gives 16"
    )
    assert ask(None, *shipped, "trainer.eval_every=20").why == (
        "a run needs 16 evaluations, and a run of 200 steps with trainer.eval_every=20 has 11: "
        "trainer.eval_every=14 gives 16"
    )
    enough = ask(None, *shipped, "trainer.eval_every=null")
    assert enough.why == (
        "the known runs were evaluated every 25 steps: trainer.eval_every=null was not measured"
    )
    assert "trainer.eval_every=null" in str(enough.command)


def test_no_setting_gives_sixteen_evaluations_of_ten_steps(runs: Path) -> None:
    found = ask(runs, "trainer.steps=10")
    assert found.command is None
    assert str(found.why).endswith("use more than 10 steps")


def test_the_last_step_is_evaluated_too() -> None:
    assert cost.evaluations_of(30, 3, True) == 11
    assert cost.evaluations_of(31, 3, True) == 11
    assert cost.evaluations_of(600, 25, True) == 25


def test_typed_steps_are_planned_as_the_pilot_stood_there(runs: Path) -> None:
    found = ask(runs, "trainer.steps=80", "eval.users=64")
    whole = ask(runs, "trainer.steps=100", "eval.users=64")
    assert found.planned is not None
    assert whole.planned is not None
    assert found.planned.design.size.steps == 80
    assert found.planned.design.size.evaluations == 17
    assert found.planned.design.there < 1
    assert found.planned.design.seeds > whole.planned.design.seeds
    (own,) = [row for row in found.around if row.what == "the pilot's own size"]
    assert own.size.steps == 100


@pytest.mark.parametrize(
    ("words", "effect", "why"),
    [
        (("trainer.steps=100",), "gain=1e-9", "200 seeds a level would decide gain=0."),
    ],
)
def test_what_is_not_to_be_had_is_said(
    runs: Path, words: tuple[str, ...], effect: str, why: str
) -> None:
    found = ask(runs, *words, effect=effect)
    assert found.planned is None
    assert why in str(found.why)


def test_shipped_runs_tell_nothing_of_longer_ones() -> None:
    found = ask(None, "policy=tabular", "trainer.steps=1000")
    assert found.planned is None
    assert found.why == "the known runs have 600 steps: 1000 steps were not measured"


def test_twice_as_many_seeds_are_twice_as_many(tmp_path: Path) -> None:
    found = ask(write_runs(tmp_path, SHORT, seeds=8), effect="gain=0.03")
    seeds = {row.what: row.seeds for row in found.around}
    assert seeds.get("twice as many seeds", 2 * seeds["planned"]) == 2 * seeds["planned"]
    assert max(seeds.values()) <= 200


@pytest.mark.parametrize(("seeds", "shown"), [(200, True), (201, False)])
def test_a_pilot_of_more_seeds_than_are_simulated_has_no_row(seeds: int, shown: bool) -> None:
    levels = [made.level(seeds=seeds) for _ in range(2)]
    planned = made.task(made.pilot(*levels), "gain=0.05")
    studies = search.simulated_studies(planned, 100)
    design = search.plan(planned, studies)
    assert isinstance(design, PlannedDesign)
    rows = alternatives.alternative_designs(planned, design, studies)
    assert ("the pilot's own size" in [row.what for row in rows]) is shown
