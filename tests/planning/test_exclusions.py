"""Runs of a pilot that nothing is planned from, and runs that their own rule ended."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import ConfigError, DataError
from harness.planning import answer, exclusions
from harness.planning.answer import PlanRequest, PlanResult
from harness.planning.exclusions import ExcludedRun
from harness.planning.task import parse_effect
from harness.records import run_status
from harness.records.run_folder import RunFolder
from tests.planning.made import SHORT, write_runs

LEVELS = ("difficulty=easy,hard",)
SEEDS = 4


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Easy is run 0 to 3, hard 4 to 7."""
    return write_runs(tmp_path_factory.mktemp("whole") / "pilot", seeds=SEEDS)


@pytest.fixture
def runs(whole: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(whole, tmp_path / "pilot"))


def ask(path: Path) -> PlanResult:
    return answer.make_plan(PlanRequest(LEVELS, parse_effect("gain=0.05"), path, 0.8))


def set_status(folder: Path, **changed: object) -> None:
    run = RunFolder(folder)
    run_status.write(run.status, replace(run_status.read(run.status), **changed))  # type: ignore[arg-type]


def fail(folder: Path) -> None:
    set_status(folder, status="failed", reason="diverged: nan", exit_code=70, last_step=7)


def stop(folder: Path) -> None:
    set_status(folder, status="stopped", last_step=40)


def cut(folder: Path) -> None:
    set_status(folder, last_step=100)
    rows = (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "metrics.jsonl").write_text("".join(rows[:60]), encoding="utf-8")


def damage_config(folder: Path) -> None:
    (folder / "config.yaml").write_text("policy: [", encoding="utf-8")


def damage_status(folder: Path) -> None:
    (folder / "run.json").write_text("{", encoding="utf-8")


def lose_rows(folder: Path) -> None:
    (folder / "metrics.jsonl").unlink()


def repeat(folder: Path) -> None:
    shutil.copytree(folder, folder.parent / "again")


DAMAGE: dict[str, tuple[Callable[[Path], None], str]] = {
    "failed": (fail, "failed at step 7: diverged: nan"),
    "stopped": (stop, "stopped at step 40"),
    "cut": (cut, "damaged: a run that is done must end with the row of step 100"),
    "no config": (damage_config, "its config.yaml is missing or cannot be read"),
    "no status": (damage_status, "run.json"),
    "no rows": (lose_rows, "metrics.jsonl"),
    "repeat": (repeat, "a repeat of "),
}


@pytest.mark.parametrize("what", DAMAGE)
def test_what_is_left_out_is_named_with_why(runs: Path, what: str) -> None:
    harm, why = DAMAGE[what]
    harm(runs / "5")
    found = ask(runs)
    (left,) = found.left_out
    assert why in left.why
    assert Path(left.run).name in ("5", "again")
    assert found.pilot_seeds == (4, 4 if what == "repeat" else 3)
    assert found.planned is not None
    told = list(exclusions.sentences(found.left_out, (), found.pilot_seeds, 10))
    assert told[0].startswith(f"left out: 1 of {sum(found.pilot_seeds) + 1} runs")
    assert any("14 seeds a level are needed for 10" in line for line in told) == (what == "failed")
    assert json.loads(json.dumps(found.to_json()))["left_out"][0]["why"] == left.why


def test_a_whole_pilot_has_nothing_to_say(runs: Path) -> None:
    found = ask(runs)
    assert not found.left_out
    assert not found.ended_early
    assert not list(exclusions.sentences((), (), found.pilot_seeds, 10))


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (fail, "finished runs of difficulty=hard, found none .*/4: failed at step 7"),
        (cut, "a complete run of each level, but none of these is complete: .*/4: damaged"),
        (lose_rows, "none of these is complete: .*/4: a fitted run needs rows in metrics.jsonl"),
        (damage_config, "finished runs of difficulty=hard; .*/4: its config.yaml is missing or"),
    ],
)
def test_a_level_without_a_run_says_what_became_of_them(
    runs: Path, harm: Callable[[Path], None], told: str
) -> None:
    for number in range(SEEDS, 2 * SEEDS):
        harm(runs / str(number))
    with pytest.raises((ConfigError, DataError), match=told):
        ask(runs)


def test_a_pilot_of_failed_runs_alone_is_no_data(runs: Path) -> None:
    for number in range(2 * SEEDS):
        fail(runs / str(number))
    with pytest.raises(DataError, match=r"found none \(.*/0: failed at step 7.*and 3 more"):
        ask(runs)


def test_runs_of_other_levels_are_not_left_out(runs: Path) -> None:
    write_runs(runs / "others", [SHORT[0], "difficulty=medium", *SHORT[2:]], seeds=2)
    fail(runs / "others" / "0")
    assert ask(runs).left_out == ()


def test_runs_that_their_rule_ended_are_told(tmp_path: Path) -> None:
    runs = write_runs(tmp_path, [*SHORT, "trainer.stop_when=flat"], seeds=SEEDS)
    for number, step in ((1, 90), (6, 95)):
        rows = (runs / str(number) / "metrics.jsonl").read_text().splitlines(keepends=True)
        (runs / str(number) / "metrics.jsonl").write_text("".join(rows[: step + 1]))
        ended = {"rule": "flat", "step": step + 1}
        set_status(runs / str(number), stopped_by_rule=ended, last_step=step + 1)
    set_status(runs / "2", stopped_by_rule={"rule": "flat", "step": 50}, last_step=100)
    found = ask(runs)
    assert [Path(one.run).name for one in found.ended_early] == ["1", "2", "6"]
    told = list(exclusions.sentences((), found.ended_early, found.pilot_seeds, 10))
    assert told[0].startswith("2 of 8 runs were ended by trainer.stop_when=flat at steps 91 to 96")
    assert told[1].startswith("1 of 8 runs were resumed")
    assert found.command is None or "trainer.stop_when=flat" in found.command


def test_many_runs_are_counted_and_a_few_named() -> None:
    every = [ExcludedRun(f"run {number}", "failed", 0, True) for number in range(9)]
    told = list(exclusions.sentences(every, (), (3, 3), None))
    assert told[0].startswith("left out: 9 of 15 runs")
    assert told[-1] == "  and 4 more, listed by --json"
