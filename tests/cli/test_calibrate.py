"""The calibrate command: bad usage in a sentence, and a whole calibration as users run it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from harness.cli import calibrate, untrained
from harness.compose import planner
from harness.config.run import LEVELS
from harness.testing.commands import harness, here


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["difficulty.threshold=0,1"],
            "difficulty.threshold: calibrate measures one variant of each level; give one value, "
            "got 2",
        ),
        (["difficulty=esay"], "'esay'"),
        (["--format", "png,md"], "--format: must be some of png, svg, pdf, got 'md'"),
        (
            ["simulator=served", "--format", "pdf"],
            "--format: the admission test of a served user has no picture, got pdf",
        ),
        *(
            (
                ["difficulty=hard", word],
                f"{word.partition('=')[0]}: calibrate trains nothing, so only difficulty, "
                f"simulator and algorithm.group_size have an effect, got {word}",
            )
            for word in ("trainer.steps=5", "algorithm=ppo", "algorithm.learning_rate=1", "seed=2")
        ),
        (
            ["--esconv", "file.json", "--format", "pdf"],
            "--format: --esconv has no picture, got pdf",
        ),
    ],
)
def test_bad_usage_is_one_sentence_and_creates_nothing(
    words: list[str], sentence: str, tmp_path: Path
) -> None:
    done = here("calibrate", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_place_that_cannot_hold_results_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = here("calibrate", "--out", "file/x", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        "--out: must name a folder that exists or can be created, and 'file' is not one"
        in done.stderr
    )


@pytest.mark.parametrize("kept", ["{", '{"levels": {}}', '{"knobs": {"hard": {"threshold": 1}}}'])
def test_a_calibration_of_other_levels_is_not_overwritten(kept: str, tmp_path: Path) -> None:
    (tmp_path / "calibration").mkdir()
    file = tmp_path / "calibration" / "calibration.json"
    file.write_text(kept)
    done = here("calibrate", "difficulty=hard", cwd=tmp_path)
    assert done.returncode == 2
    rule = (
        "has a calibration of other levels, settings or readers, which would be overwritten; "
        "name another folder"
    )
    assert f"--out: 'calibration' {rule}" in done.stderr
    assert file.read_text() == kept


@pytest.mark.slow
def test_the_named_levels_meet_what_is_published_and_stand_in_order(tmp_path: Path) -> None:
    done = harness("calibrate", "--json", cwd=tmp_path)
    assert done.returncode == 0
    calibration = json.loads(done.stdout)
    assert calibration == json.loads((tmp_path / "calibration" / "calibration.json").read_text())
    assert list(calibration["levels"]) == list(LEVELS)
    assert calibration["order_holds"] is True
    assert [m["figure"] for m in calibration["published"] if not m["matched"]] == []
    for level in ("medium", "hard"):
        best = calibration["levels"][level]["best"]
        gain = best["optimum"] - best["start"]
        assert best["blind_schedule"] - best["start"] <= 0.6 * gain
        assert best["constant"] - best["start"] <= 0.1 * gain


def test_the_keys_that_a_card_depends_on_are_taken() -> None:
    words = ["algorithm.group_size=4", "difficulty=hard", "difficulty.threshold=.5"]
    untrained.refuse_others([*words, "simulator=second"], "calibrate", calibrate.TAKEN)


def test_harness_s_own_levels_are_measured_from_easy_to_hard_however_they_are_named() -> None:
    words = ["difficulty=hard,adversarial,medium,easy"]
    configs = [point.config for point in planner.plan(words).points]
    mine = replace(configs[0], difficulty=replace(configs[0].difficulty, name="mine"))
    ordered = calibrate.easiest_first([*configs[:2], mine, *configs[2:]])
    names = [config.difficulty.name for config in ordered]
    assert names == ["easy", "medium", "mine", "hard", "adversarial"]
