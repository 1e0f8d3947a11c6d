"""A run in which nothing can be learnt says so and stops, to be resumed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.config.run import RunConfig
from harness.errors import StoppedError
from harness.train.loop import step_checks
from tests.train import made, made_hugging_face

DEAF = replace(made.LEVELS.easy, name="deaf", threshold=5.0, stop_below=40)
"""Users who leave after the first reply, whatever it is."""


def silent_run(stop_unheard: bool = True, conversations: int = 64) -> RunConfig:
    run = made.brief(steps=6, eval_every=0, stop_unheard=stop_unheard, conversations=conversations)
    return replace(run, difficulty=DEAF)


def noted(path: Path) -> list[int]:
    lines = [json.loads(line) for line in (path / "events.jsonl").read_text().splitlines()]
    return [line["step"] for line in lines if line["event"] == "unheard"]


def test_a_run_of_silent_groups_stops_after_three_steps_and_can_be_resumed(tmp_path: Path) -> None:
    run = made.make_run(tmp_path / "run", silent_run())
    code, _, err = made.go_on(run)
    assert code == StoppedError.exit_code
    assert "step 3: no advantage in 3 steps: within each group all rewards are equal" in err
    assert "trainer.stop_unheard=false" in err
    assert (run.checkpoints / "step-00003").is_dir()
    code, _, err = made.go_on(run)
    assert code == 0, "who resumes it has been told"
    assert noted(run.path) == [3]
    whole = made.make_run(tmp_path / "whole", silent_run(stop_unheard=False))
    code, _, err = made.go_on(whole)
    assert code == 0
    assert "no advantage in 3 steps" in err
    assert whole.metrics.read_bytes() == run.metrics.read_bytes()


def test_a_run_whose_algorithm_passes_over_every_reward_says_so_and_goes_on_once_told(
    tmp_path: Path,
) -> None:
    """Rewards differ, but nobody leads by so much."""
    run = made.brief(steps=6, eval_every=0, conversations=64)
    picky = replace(run.algorithm, kind="expert_iteration", options={"margin": 1.0})
    folder = made.make_run(tmp_path / "run", replace(run, algorithm=picky))
    code, _, err = made.go_on(folder)
    assert code == StoppedError.exit_code
    assert (
        "step 3: no advantage in 3 steps: rewards differ too little for "
        "algorithm.kind=expert_iteration, so nothing is learnt"
    ) in err
    assert made.go_on(folder)[0] == 0
    assert noted(folder.path) == [3]


def test_a_null_control_goes_on_for_its_pair_in_silence(tmp_path: Path) -> None:
    silent = silent_run()
    null = replace(silent, algorithm=replace(silent.algorithm, null_control=True))
    code, _, err = made.go_on(made.make_run(tmp_path / "run", null))
    assert code == 0
    assert "step 3: no advantage in 3 steps" in err


def test_a_few_silent_groups_are_waited_for(tmp_path: Path) -> None:
    run = made.make_run(tmp_path / "run", silent_run(conversations=40))
    code, _, err = made.go_on(run)
    assert code == StoppedError.exit_code
    assert "step 5: no advantage in 5 steps" in err


def test_a_run_that_learns_is_not_stopped(tmp_path: Path) -> None:
    run = made.make_run(tmp_path / "run", made.brief())
    assert made.go_on(run)[0] == 0
    assert noted(run.path) == []


def test_a_step_whose_replies_are_no_language_stops_the_run(tmp_path: Path) -> None:
    """Words of a made-up vocabulary; random weights are not stopped, so a folder holds them."""
    folder = made_hugging_face.folder_with_a_model(tmp_path / "model")
    policy = replace(made_hugging_face.SMALL, init="pretrained", model=str(folder))
    run = made.make_run(tmp_path / "run", made_hugging_face.config(policy))
    code, _, err = made.go_on(run)
    assert code == StoppedError.exit_code
    assert "of the replies as language, mostly by the rule" in err
    (row,) = made_hugging_face.rows(run)
    assert row["text/flagged"] > step_checks.MOST_FLAGGED
    assert row["text/flagged/typicality"] < 0.05, "they are the start model's own"
    rules = [row[key] for key in row if key.startswith("text/flagged/")]
    assert sum(rules) == pytest.approx(row["text/flagged"])
    assert made.go_on(run)[0] == 0
