"""Answers from run folders, from shipped spreads, and without either."""

from __future__ import annotations

import functools
import io
import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from harness.compose import planner
from harness.errors import ConfigError, DataError
from harness.law.analysis import analyse
from harness.planning import answer, pilot, settings, shipped, show, study_file
from harness.planning.answer import PlanRequest, PlanResult
from harness.planning.task import parse_effect
from harness.report.text import answer as answers
from harness.study import arms, file
from tests.planning.made import SHORT, write_runs

LEVELS = ("difficulty=easy,hard",)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_runs(tmp_path_factory.mktemp("pilot"))


@functools.cache
def ask(
    words: tuple[str, ...],
    path: Path | None = None,
    effect: str = "gain=0.05",
    primary: str | None = None,
) -> PlanResult:
    """What is asked a second time, of runs that no test changes, is not computed again."""
    return answer.make_plan(PlanRequest(words, parse_effect(effect), path, 0.8, primary))


def test_the_plan_keeps_the_settings_of_the_pilot(runs: Path) -> None:
    found = ask(LEVELS, runs)
    assert found.planned is not None
    assert found.command is not None
    design = found.planned.design
    assert found.pilot_seeds == (3, 3)
    assert found.column == "eval/medium/reward"
    assert found.planned.power.value >= 0.8
    program, name, *words = shlex.split(found.command)
    assert (program, name) == ("harness", "sweep")
    points = planner.plan(words).points
    assert len(points) == 2 * design.seeds
    assert points[0].config.trainer.conversations == 16
    assert points[0].config.trainer.evaluated_every == 5
    assert points[0].config.trainer.steps == design.size.steps
    assert points[0].config.eval.users == design.size.users
    assert not {point.config.seed for point in points} & {1, 2, 3}


def test_a_difference_is_told_with_its_users_and_beside_that_on_each_levels_own(
    tmp_path: Path,
) -> None:
    path = write_runs(tmp_path / "pilot", apart=0.2, medium_of_hard=2.45)
    found = ask(LEVELS, path)
    (gap,) = found.own
    assert gap.users == "medium's users"
    assert gap.of_own_users is not None
    assert gap.of_own_users < 0 < gap.value
    console = Console(width=400, record=True, file=io.StringIO())
    show.show(found, console)
    (line,) = (line for line in console.export_text().splitlines() if "in the pilot:" in line)
    assert "difficulty=hard minus difficulty=easy is 0." in line
    told = f"; {gap.of_own_users:.2f} on each level's own users, as in fit-entropy-law"
    assert line.rstrip().endswith(f"on medium's users, the same for all levels{told}")
    rows = {row.name: row.gain.mean or 0.0 for row in answers.rows(analyse([path]))}
    assert rows["hard"] - rows["easy"] == pytest.approx(gap.of_own_users, abs=0.005)


def said(found: PlanResult, out: Path | None = None) -> list[str]:
    console = Console(width=400, record=True, file=io.StringIO())
    show.show(found, console, out)
    return [line.rstrip() for line in console.export_text().splitlines()]


def test_a_plan_says_why_it_has_no_null_controls_and_what_adds_them(runs: Path) -> None:
    found = ask(LEVELS, runs)
    assert found.planned is not None
    (line,) = (line for line in said(found) if line.startswith("no null controls: "))
    word = "algorithm.null_control=false,true"
    assert f"level's fall of H is noise, add {word}; this doubles the cost" in line
    planned = planner.plan(shlex.split(str(found.command))[2:]).points
    both = planner.plan([*shlex.split(str(found.command))[2:], word]).points
    assert len(both) == 2 * len(planned)


def test_a_planned_study_takes_null_controls_by_the_line_that_is_named(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = ask(LEVELS, runs, "final_reward=0.05")
    (line,) = (line for line in said(found) if line.startswith("no null controls: "))
    assert "add the line `null_controls: true` in planned.yaml;" in line
    folder = tmp_path / "sweeps" / "studies"
    folder.mkdir(parents=True)
    (folder / "planned.yaml").write_text(f"{found.study}null_controls: true\n", encoding="utf-8")
    assert len(file.read("planned").arms) == 4


def test_what_was_asked_for_is_not_told_again(runs: Path) -> None:
    assert ask((*LEVELS, "algorithm.null_control=false"), runs).null_controls is None


def test_a_contrast_has_no_study_file_and_says_so(runs: Path, tmp_path: Path) -> None:
    line = "no planned.yaml is written, since a contrast decides: the command is the plan"
    found = ask(LEVELS, runs)
    assert line in said(found, tmp_path)
    assert line not in said(found)
    assert line not in said(ask(LEVELS, runs, "final_reward=0.05"), tmp_path)


def test_a_key_that_came_after_the_shipped_runs_has_its_default_in_them() -> None:
    (asked,) = settings.parse_levels((*LEVELS, "policy=tabular")).flat[:1]
    (level,) = [one for one in shipped.rungs()["tabular"]["levels"]
                if one.config["difficulty"] == "easy"]  # fmt: skip
    older = replace(level, config={k: v for k, v in level.config.items() if k != "eval.prefixes"})
    assert shipped.find_level([older], asked) is not None
    other = {**asked, "eval.prefixes": asked["eval.prefixes"] + 1}
    assert shipped.find_level([older], other) is None


def test_an_entropy_is_told_without_users(runs: Path) -> None:
    (gap,) = ask(LEVELS, runs, "entropy_lost=0.5").own
    assert (gap.users, gap.of_own_users) == (None, None)


def test_the_same_pilot_gives_the_same_plan(runs: Path) -> None:
    assert ask.__wrapped__(LEVELS, runs) == ask(LEVELS, runs)


def test_hours_are_those_of_the_pilots_own_events(runs: Path) -> None:
    found = ask((*LEVELS, "trainer.steps=100", "eval.users=64"), runs)
    assert found.planned is not None
    design = found.planned.design
    of_a_run = 20.8 / 3600  # CPU seconds of 100 steps by the clock of its events
    assert design.hours.cpu == pytest.approx(2 * design.seeds * of_a_run, rel=0.02)
    assert design.hours.gpu is None


def test_designs_around_it_and_the_pilots_own_difference_are_told(runs: Path) -> None:
    found = ask(LEVELS, runs)
    assert [row.what for row in found.around] == [
        "half as many seeds", "planned", "twice as many seeds", "the pilot's own size",
    ]  # fmt: skip
    powers = [row.power.value for row in found.around[:3] if row.power is not None]
    assert powers == sorted(powers)
    (gap,) = found.own
    assert (gap.later, gap.baseline) == ("difficulty=hard", "difficulty=easy")
    assert gap.value == pytest.approx(-0.1, abs=0.05)


def test_a_link_gets_a_study_file_that_the_study_command_takes(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = ask(LEVELS, runs, "final_reward=0.05")
    assert found.study is not None
    assert found.planned is not None
    (tmp_path / "sweeps/studies").mkdir(parents=True)
    (tmp_path / "sweeps/studies/planned.yaml").write_text(found.study, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    program, name, study, *words = shlex.split(str(found.command))
    assert (program, name, study) == ("harness", "study", "planned")
    planned = arms.plan(study, file.read(study), words)
    assert len(planned.distinct()) == 2 * found.planned.design.seeds
    link = yaml.safe_load(found.study)["links"]["hard against easy"]
    assert link["quantity"] == "final_reward"
    assert link["direction"] == "less", "as the pilot shows"
    assert study_file.OPEN not in found.study


def test_a_link_is_planned_on_the_users_that_it_is_judged_on(tmp_path: Path) -> None:
    words = [*SHORT[:1], "difficulty=hard", "algorithm.learning_rate=0.1,0.2", *SHORT[2:]]
    runs = write_runs(tmp_path, words, medium=0.5)
    found = ask(("algorithm.learning_rate=0.1,0.2",), runs, "final_reward=0.05")
    assert found.column == "eval/medium/reward"
    assert "decided on users other than those of" in found.kept["eval.users"]
    assert found.study is not None
    (link,) = yaml.safe_load(found.study)["links"].values()
    assert link["evaluation"] == found.column
    gaps = {"eval/reward": 0.0, "eval/medium/reward": 0.0}
    for number in range(6):
        config = yaml.safe_load((runs / str(number) / "config.yaml").read_text(encoding="utf-8"))
        sign = 1 if config["algorithm"]["learning_rate"] == 0.2 else -1
        rows = (runs / str(number) / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        for column in gaps:
            gaps[column] += sign * json.loads(rows[-1])[column] / 3
    assert found.own[0].value == pytest.approx(gaps["eval/medium/reward"], rel=0.2)
    assert found.own[0].value != pytest.approx(gaps["eval/reward"], rel=0.2)
    gain = ask(("algorithm.learning_rate=0.1,0.2",), runs)
    assert gain.column == "eval/reward"


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        (("difficulty=medium,hard",), "must hold finished runs of difficulty=medium"),
        ((*LEVELS, "trainer.conversations=32"), "trainer.conversations=16 where 32 is asked for"),
        ((*LEVELS, "policy=tiny"), "is asked for"),
        ((*LEVELS, "trainer.steps=200"), "must hold runs of trainer.steps=200 or more"),
        ((*LEVELS, "trainer.eval_every=4"), "must hold runs with trainer.eval_every=4"),
    ],
)
def test_a_pilot_of_something_else_is_refused(
    runs: Path, words: tuple[str, ...], rule: str
) -> None:
    with pytest.raises(ConfigError, match="--from: ") as refused:
        ask(words, runs)
    assert rule in str(refused.value)


def test_a_pilot_without_a_run_is_no_data(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a plan needs finished runs"):
        ask(LEVELS, tmp_path)


def test_one_seed_shows_no_spread_and_asks_for_a_pilot(tmp_path: Path) -> None:
    found = ask(LEVELS, write_runs(tmp_path, seeds=1))
    assert found.planned is None
    assert found.why is not None
    assert "so how much seeds differ is not known" in found.why
    assert found.command is not None
    points = planner.plan(shlex.split(found.command)[2:]).points
    assert {point.config.seed for point in points} == {2, 3, 4, 5, 6}
    assert points[0].config.trainer.conversations == 16


def test_a_rung_that_was_never_measured_asks_for_a_pilot_with_its_cost() -> None:
    found = ask(("policy=tiny", *LEVELS))
    assert found.planned is None
    assert found.command == "harness sweep policy=tiny difficulty=easy,hard 'seed=range(1,6)'"
    assert found.pilot_cost is not None
    assert "about 1.6 CPU hours" in found.pilot_cost


def test_the_shipped_rung_answers_by_itself() -> None:
    found = ask(("policy=tabular", *LEVELS))
    assert found.planned is not None
    assert found.source is not None
    assert "shipped runs of policy=tabular" in found.source
    assert min(found.pilot_seeds) >= 10


def test_a_quantity_that_is_named_primary_takes_fewer_seeds() -> None:
    words = ("policy=tabular", *LEVELS)
    beside, primary = ask(words), ask(words, primary="gain")
    assert beside.planned is not None
    assert primary.planned is not None
    assert primary.planned.design.seeds < beside.planned.design.seeds
    assert "--primary gain at level 0.03" in primary.decided_by


def test_shipped_levels_are_those_of_todays_config() -> None:
    for rung in shipped.rungs().values():
        assert {one.config["difficulty"] for one in rung["levels"]} == {"easy", "medium", "hard"}
        for one in rung["levels"]:
            assert pilot.from_json(pilot.to_json(one)) == one
            assert len(one.seeds) == len(set(one.seeds)) >= 10
            spreads = one.at("gain", one.steps)
            assert 0.005 < float(spreads.std(ddof=1)) < 0.1


def test_cut_short_before_sixteen_evaluations_there_is_nothing_to_plan_from(
    tmp_path: Path,
) -> None:
    words = [word for word in SHORT if "eval_every" not in word]
    found = ask(LEVELS, write_runs(tmp_path, [*words, "trainer.eval_every=20"]))
    assert found.planned is None
    assert found.command is None
    assert "cannot be compared by gain" in str(found.why)


def test_what_is_out_of_reach_says_what_is_in_reach(runs: Path) -> None:
    found = ask(LEVELS, runs, "gain=0.0001")
    assert found.planned is None
    assert found.command is None
    assert found.reach is not None
    assert found.reach > 0.0001
    assert replace(found, why=None).to_json()["planned"] is None
