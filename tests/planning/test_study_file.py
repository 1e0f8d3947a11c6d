"""Study files of a plan: arms that the study command takes, and what is left to the user."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from harness.planning import settings, study_file
from harness.study import arms, file, link_statements
from tests.planning import made


def test_arms_are_named_as_a_study_takes_them() -> None:
    two = "algorithm.learning_rate=0.1,0.2"
    levels = [made.level(quantity="final_reward") for _ in range(2)]
    task = made.task(made.pilot(*levels), "final_reward=0.05")
    told = study_file.text(task, made.asked("policy=tabular", two), made.WORDS, {})
    arms = yaml.safe_load(told)["arms"]
    assert len(arms) == 2
    assert all(link_statements.ARM.fullmatch(arm) for arm in arms)


@pytest.mark.parametrize(
    "swept",
    ["difficulty.intentions=[venting,praise],[advice]", "trainer.stop_when=null,flat",
     "algorithm.null_control=false,true"],
)  # fmt: skip
def test_levels_of_lists_and_nothing_make_arms_that_the_study_command_takes(
    swept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    levels = [made.level(quantity="final_reward") for _ in range(2)]
    task = made.task(made.pilot(*levels), "final_reward=0.05")
    asked = made.asked("policy=tabular", swept)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sweeps" / "studies").mkdir(parents=True)
    path = tmp_path / "sweeps" / "studies" / "planned.yaml"
    path.write_text(study_file.text(task, asked, asked.words, {}), encoding="utf-8")
    planned = arms.plan("planned", file.read("planned"), ())
    configs = [points[1].config for points in planned.points.values()]
    key = asked.axes[0]
    assert [settings.flat(config)[key] for config in configs] == [
        config[key] for config in asked.flat
    ]


def test_a_direction_that_the_pilot_does_not_show_is_left_to_the_user() -> None:
    levels = [made.level(quantity="final_reward") for _ in range(2)]
    task = made.task(made.pilot(*levels), "final_reward=0.05")
    told = study_file.text(task, made.asked(*made.WORDS), made.WORDS, {})
    before, after = told.split(study_file.OPEN)
    assert "hard against easy" not in before
    assert '"direction": "more"' in after
