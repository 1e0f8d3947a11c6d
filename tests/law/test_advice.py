"""What would decide an open verdict, and that on made runs it does."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.compose import planner
from harness.law import advice
from harness.law.analysis import analyse
from harness.law.io import typed_words
from harness.law.reasons import REASONS
from harness.law.results import RunResult
from harness.records import study_file, sweep_file
from harness.records.sweep_file import LedgerRow, Sweep
from harness.testing import cells, run_folders, synthetic
from harness.testing.synthetic import HIGH, LOW, Noise, SyntheticRun

Make = Callable[[int, int, Noise], SyntheticRun]
RUNS = 30


def open_run(reason: str, steps: int | None = 100) -> RunResult:
    config = None if steps is None else {"trainer": {"steps": steps}}
    return RunResult(
        "r", "ok", None, 11, {}, verdict="undetermined", reasons=[reason], config=config
    )


def test_the_log_of_another_program_is_not_told_of_our_sweeps(tmp_path: Path) -> None:
    run_folders.write_rows(tmp_path, synthetic.rows(synthetic.lawful(1, 12, LOW)))
    said = advice.what_would_decide(analyse([tmp_path]))
    assert said[0] == "1 of 1 runs undetermined:"
    assert "1 x too_few_steps: fewer than 16 points" in said[1]
    assert said[2:] == ["More steps would decide, if H falls further."]


def test_advice_for_runs_of_ours_names_longer_ones_of_the_same_kind(tmp_path: Path) -> None:
    rows = synthetic.rows(synthetic.lawful(1, 12, LOW))
    run_folders.write_run(tmp_path / "run", rows)
    said = advice.what_would_decide(analyse([tmp_path]))
    more = "More steps would decide, if H falls further"
    assert said[-1] == f"{more}: add trainer.steps=400."


def test_a_short_run_is_told_of_steps_that_have_points_enough(tmp_path: Path) -> None:
    run_folders.write_rows(tmp_path, synthetic.rows(synthetic.lawful(1, 300, LOW)))
    config = {"trainer": {"steps": 3, "eval_every": 5}}
    short = replace(open_run("too_few_steps"), config=config)
    said = advice.what_would_decide(replace(analyse([tmp_path]), runs=(short,)))
    assert said[-1].endswith("add trainer.steps=100.")


def test_evaluations_that_grow_with_the_run_ask_for_longer_ones_alone(tmp_path: Path) -> None:
    run_folders.write_rows(tmp_path, synthetic.rows(synthetic.lawful(1, 300, LOW)))
    config = {"trainer": {"steps": 3, "eval_every": None}}
    short = replace(open_run("too_few_steps"), config=config)
    said = advice.what_would_decide(replace(analyse([tmp_path]), runs=(short,)))
    assert said[-1].endswith("add trainer.steps=20.")


def test_a_decided_run_asks_for_nothing(tmp_path: Path) -> None:
    run_folders.write_rows(tmp_path, synthetic.rows(synthetic.lawful(1, 300, LOW)))
    decided = analyse([tmp_path])
    assert advice.what_would_decide(decided) == []
    moved = replace(decided, runs=(open_run("misfit"),))
    assert advice.what_would_decide(moved)[-1].startswith("More rows do not remove a misfit")


def test_each_kind_of_advice_is_given_once(tmp_path: Path) -> None:
    run_folders.write_rows(tmp_path, synthetic.rows(synthetic.lawful(1, 300, LOW)))
    reasons = ("too_few_steps", "identification_range", "law_break")
    runs = tuple(open_run(reason, None) for reason in reasons)
    assert advice.what_would_decide(replace(analyse([tmp_path]), runs=runs))[4:] == [
        "More steps would decide, if H falls further.",
        "Less noise in R would decide whether there is a break.",
    ]


def test_every_reason_that_opens_a_verdict_has_advice() -> None:
    beside = {"reward_died", "intervened", "mixed", "invalid_users", "noise_driven"}
    of_a_decided_run = {
        "wrong_sign",
        "no_relation",
        "rival_better",
        "reward_falls_while_entropy_falls",
    }
    assert advice.DECIDES.keys() | beside | of_a_decided_run == REASONS.keys()


def test_a_break_within_a_run_asks_for_less_noise_and_not_for_seeds(tmp_path: Path) -> None:
    run_folders.write_rows(tmp_path, synthetic.rows(synthetic.lawful(1, 300, LOW)))
    broken = replace(open_run("law_break"), config={"trainer": {"conversations": 64}})
    said = advice.what_would_decide(replace(analyse([tmp_path]), runs=(broken,)))
    assert said[-1] == (
        "Less noise in R would decide whether there is a break: add trainer.conversations=256."
    )


def test_null_controls_are_counted_and_need_no_advice(tmp_path: Path) -> None:
    run_folders.write_rows(tmp_path, synthetic.rows(synthetic.lawful(1, 300, LOW)))
    null = replace(open_run("law_break"), config={"algorithm": {"null_control": True}})
    analysed = analyse([tmp_path])
    told = advice.what_would_decide(replace(analysed, runs=(null, null)))
    assert told[0] == "2 of 2 runs undetermined, 2 of them null controls:"
    assert len(told) == 2
    beside = replace(open_run("law_break"), reasons=["law_break", "noise_driven"])
    told = advice.what_would_decide(replace(analysed, runs=(null, beside)))
    assert told[0] == "2 of 2 runs undetermined, 1 of them null controls:"
    assert told[1].startswith("  2 x law_break: ")
    assert told[2:] == ["Less noise in R would decide whether there is a break."]


def test_the_noise_of_an_evaluation_is_that_of_its_users(tmp_path: Path) -> None:
    run_folders.write_rows(tmp_path, synthetic.rows(synthetic.lawful(1, 300, LOW)))
    broken = replace(open_run("law_break"), reward="eval/reward", config={"eval": {"users": 64}})
    said = advice.what_would_decide(replace(analyse([tmp_path]), runs=(broken,)))
    assert said[-1] == "Less noise in R would decide whether there is a break: add eval.users=256."


def test_a_run_that_its_rule_would_end_again_is_to_go_on_without_it(tmp_path: Path) -> None:
    run_folders.write_rows(tmp_path, synthetic.rows(synthetic.lawful(1, 300, LOW)))
    config = {"trainer": {"steps": 100, "stop_when": "flat"}}
    ended = replace(open_run("too_few_steps"), config=config)
    said = advice.what_would_decide(replace(analyse([tmp_path]), runs=(ended,)))
    assert said[-1].endswith("add trainer.steps=400 trainer.stop_when=null.")


SWEPT = ("policy=tabular", "difficulty=easy,hard", "seed=range(1,3)", "trainer.steps=12")


def a_sweep(folder: Path, command: tuple[str, ...] = SWEPT) -> Path:
    """Short runs of two levels, as `harness sweep` leaves them."""
    rows = []
    for number, level in enumerate(("easy", "hard")):
        run = folder / f"{number}-{level}"
        lines = synthetic.rows(synthetic.lawful(number + 1, 12, LOW))
        run_folders.write_run(run, lines, seed=number, level=level)
        run_folders.planned_with(run, "trainer", steps=12)
        own = ("policy=tabular", f"difficulty={level}", f"seed={number}")
        rows.append(LedgerRow(run.name, str(run), own))
    sweep_file.write(folder, Sweep(str(folder), {}, rows, command))
    return folder


def command_in(lines: Sequence[str]) -> list[str]:
    """The words of the only command among them."""
    (line,) = (line for line in lines if line.startswith("    harness sweep "))
    return shlex.split(line)[2:]


def test_the_whole_command_is_printed_and_makes_the_sweep_again_longer(tmp_path: Path) -> None:
    said = advice.what_would_decide(analyse([a_sweep(tmp_path / "s")]))
    assert said[-2:] == [
        "More steps would decide, if H falls further:",
        "    harness sweep policy=tabular difficulty=easy,hard 'seed=range(1,3)' trainer.steps=48",
    ]
    points = planner.plan(command_in(said)).points
    assert len(points) == 4
    assert {point.config.trainer.steps for point in points} == {48}


def test_a_named_sweep_is_made_again_by_its_name(tmp_path: Path) -> None:
    said = advice.what_would_decide(analyse([a_sweep(tmp_path, ("+sweeps=first_tabular",))]))
    words = command_in(said)
    assert words == ["+sweeps=first_tabular", "trainer.steps=48"]
    plan = planner.plan(words)
    assert len(plan.points) == 30
    assert {point.config.trainer.steps for point in plan.points} == {48}


def test_runs_that_no_one_command_made_are_made_again_one_by_one(tmp_path: Path) -> None:
    found = analyse([a_sweep(tmp_path, ())])
    assert command_in(advice.what_would_decide(found)) == [
        "policy=tabular", "difficulty=easy", "seed=0", "trainer.steps=48",
    ]  # fmt: skip
    ((helped, _),) = advice.next_steps(found, found.runs, typed_words.sweep_overrides)
    assert len(helped) == 1


def test_a_run_of_a_study_is_made_again_by_its_own_words(tmp_path: Path) -> None:
    folder = a_sweep(tmp_path, ("hydra/launcher=submitit_slurm",))
    (folder / study_file.FILE).write_text("{}")
    words = command_in(advice.what_would_decide(analyse([folder])))
    assert words == ["policy=tabular", "difficulty=easy", "seed=0", "trainer.steps=48"]


@pytest.mark.parametrize("word", ["x\n=rm -rf", "\x1b]0;x\x07=1"])
def test_words_that_a_terminal_would_not_show_are_no_command(tmp_path: Path, word: str) -> None:
    said = advice.what_would_decide(analyse([a_sweep(tmp_path, (word,))]))
    assert said[-1] == "More steps would decide, if H falls further: add trainer.steps=48."


def test_hostile_words_are_quoted(tmp_path: Path) -> None:
    hostile = "a=$(touch x); `touch y` 'z' #"
    said = advice.what_would_decide(analyse([a_sweep(tmp_path, (hostile,))]))
    assert command_in(said) == [hostile, "trainer.steps=48"]


@pytest.mark.parametrize("value", [0.0, 0.7, 1 / 3])
def test_a_reward_that_never_moves_is_not_told_to_train_longer(
    tmp_path: Path, value: float
) -> None:
    rows = synthetic.rows(synthetic.lawful(1, 100, LOW))
    still = [{**row, "reward": value} for row in rows]
    run_folders.write_run(tmp_path / "still", still)
    said = advice.what_would_decide(analyse([tmp_path]))
    assert said == ["1 of 1 runs undetermined:", "  1 x nothing varied: see below", advice.CONSTANT]


@pytest.mark.parametrize("value", [0.0, 1.6])
def test_an_entropy_that_never_moves_is_not_told_to_train_longer(
    tmp_path: Path, value: float
) -> None:
    rows = synthetic.rows(synthetic.lawful(1, 100, LOW))
    run_folders.write_run(tmp_path / "still", [{**row, "entropy": value} for row in rows])
    said = advice.what_would_decide(analyse([tmp_path]))
    assert said == ["1 of 1 runs undetermined:", "  1 x nothing varied: see below", advice.STILL]


def test_a_still_reward_beside_a_short_run_leaves_the_advice_for_that_one(tmp_path: Path) -> None:
    rows = synthetic.rows(synthetic.lawful(1, 12, LOW))
    run_folders.write_run(tmp_path / "a_still", [{**row, "reward": 0.5} for row in rows])
    run_folders.write_run(tmp_path / "short", rows, seed=2)
    said = advice.what_would_decide(analyse([tmp_path]))
    more = "More steps would decide, if H falls further"
    assert said[-2:] == [f"{more}: add trainer.steps=400.", advice.CONSTANT]


def opened(make: Make, n: int, noise: Noise, reason: str) -> list[int]:
    """Seeds of runs that are undetermined for that reason."""
    found = [(seed, cells.judge_run(make(seed, n, noise))) for seed in range(RUNS)]
    return [s for s, v in found if v.word == "undetermined" and reason in v.reasons]


def decided(make: Make, seeds: list[int], n: int, noise: Noise) -> float:
    """Share of these runs whose verdict is not undetermined."""
    words = [cells.judge_run(make(seed, n, noise)).word for seed in seeds]
    return sum(word != "undetermined" for word in words) / len(words)


@pytest.mark.parametrize(
    ("reason", "regime", "n", "noise"),
    [
        ("too_few_steps", "law", 12, LOW),
        ("too_few_steps", "wrong_sign", 12, LOW),
        ("too_few_steps", "explode", 12, LOW),
        ("identification_range", "law_narrow", 80, LOW),
        ("identification_range", "unrelated", 100, LOW),
        ("entropy_rises", "explode_level", 40, LOW),
        ("not_validated_out_of_time", "explode_level", 40, LOW),
    ],
)
def test_more_steps_decide_most_runs_that_ask_for_them(
    reason: str, regime: str, n: int, noise: Noise
) -> None:
    assert advice.DECIDES[reason] is advice._more_steps
    seeds = opened(cells.REGIMES[regime], n, noise, reason)
    assert len(seeds) >= 5
    assert decided(cells.REGIMES[regime], seeds, 4 * n, noise) > 0.5


def test_less_noise_decides_most_breaks_that_are_in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = opened(synthetic.kink, 100, HIGH, "law_break")
    assert len(seeds) >= 5
    halved = Noise(HIGH.rho, HIGH.sigma_h / 2, HIGH.wander)
    monkeypatch.setattr(synthetic, "CONVERSATIONS", 4 * synthetic.CONVERSATIONS)
    assert decided(synthetic.kink, seeds, 100, halved) > 0.5


def test_no_number_of_rows_takes_a_misfit_away() -> None:
    seeds = opened(synthetic.saturating, 300, LOW, "misfit")
    assert len(seeds) >= 5
    assert not any(
        cells.judge_run(synthetic.saturating(s, 1200, LOW)).word == "holds" for s in seeds
    )
