"""The studies that ship: each asks a question, is planned, and has its row among the verdicts."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.compose import search_path
from harness.study import arms, cost, file
from tests.present import present

SWEEPS = Path(__file__).parents[2] / "sweeps" / "README.md"


@pytest.mark.parametrize("name", search_path.study_names())
def test_every_study_of_ours_can_be_read_and_asks_a_question(name: str) -> None:
    assert file.read(name).question.endswith("?")


def test_every_study_of_ours_has_a_row_with_its_verdict() -> None:
    text = SWEEPS.read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    for name in search_path.study_names():
        assert any(f"`{name}`" in row and "**" in row for row in rows), name


@pytest.mark.slow
@pytest.mark.parametrize("name", search_path.study_names())
def test_every_study_of_ours_is_planned_and_fits_in_eight_cpu_hours(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    planned = arms.plan(name, file.read(name), [])
    configs = [point.config for _, point in planned.distinct().values()]
    hours = cost.cpu_hours(configs)
    if all(cost.is_as_measured(config.policy) for config in configs):
        assert 0.1 < present(hours) < 8
    else:  # scale, whose widths nobody has measured
        assert hours is None
    nulls = [config for config in configs if config.algorithm.null_control]
    stated = planned.stated
    assert bool(nulls) is any(link.net_of_null for link in (*stated.links, *stated.checks))
