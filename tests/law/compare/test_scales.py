"""Levels whose own rewards are on different scales: what is told of the evaluation in common."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.law.analysis import analyse
from harness.law.group_results import Contrast
from harness.testing import run_folders, synthetic
from harness.testing.synthetic import LOW, SyntheticRun
from tests.law.compared import COMMON, contrast, levels

APART = "different scales: each on its own users' reward"
STEPS = 100
"""As the config that run_folders.write_run writes says."""


def of_levels(folder: Path, every: int | None) -> Contrast:
    """The contrast of two levels' ceilings, evaluated in common every so many steps, if at all."""

    def lines(log: SyntheticRun) -> list[dict[str, Any]]:
        rows = synthetic.rows(log)
        return rows if every is None else [
            {**row, COMMON: row["reward"] if row["step"] % every == 0 or row["step"] == 1 else None}
            for row in rows
        ]  # fmt: skip

    logs = dict.fromkeys(("easy", "hard"), lambda seed: synthetic.lawful(seed, STEPS, LOW))
    runs = levels(folder, logs, seeds=2, lines=lines)
    if every is not None:
        for config in runs.rglob("config.yaml"):
            run_folders.planned_with(config.parent, "trainer", eval_every=every)
    return contrast(analyse([runs]), "ceiling")


def test_too_few_evaluations_in_common_are_counted_and_the_setting_is_named(tmp_path: Path) -> None:
    found = of_levels(tmp_path, every=10)
    assert found.decision == "not_comparable"
    assert found.why == (
        f"{APART}; {COMMON} is a common scale, but has 11 of 16 points needed: "
        "add trainer.eval_every=6"
    )


def test_evaluated_as_often_as_advised_they_are_comparable(tmp_path: Path) -> None:
    found = of_levels(tmp_path, every=6)
    assert found.decision != "not_comparable"
    assert found.on == COMMON


def test_without_evaluations_in_common_those_looked_for_are_named(tmp_path: Path) -> None:
    assert of_levels(tmp_path, every=None).why == (
        f"{APART}, and none of eval/medium/reward, eval/hard/reward, eval/easy/reward is in "
        "every run"
    )
