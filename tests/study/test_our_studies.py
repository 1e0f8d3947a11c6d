"""The studies that ship: each asks a question, is planned, and has its row among the verdicts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.compose import search_path
from harness.study import arms, cost, file
from tests.present import present

SWEEPS = Path(__file__).parents[2] / "sweeps" / "README.md"
STATED = {"ppo_or_grpo_tiny": 3}
"""Studies that are stated and not run: their number of seeds."""


@pytest.mark.parametrize("name", search_path.study_names())
def test_every_study_of_ours_can_be_read_and_asks_a_question(name: str) -> None:
    assert file.read(name).question.endswith("?")


@pytest.mark.parametrize("name", STATED)
def test_a_stated_study_has_its_seeds_and_asks_what_it_hears_at_its_best_rates(name: str) -> None:
    study = file.read(name)
    first, beyond = map(int, re.findall(r"\d+", study.seeds))
    assert (study.seeds, beyond - first) == (f"range({first},{beyond})", STATED[name])
    assert any(link.quantity == "listening" for link in study.links)
    assert {len(arms) for arms in study.best.values()} == {3}
    deciding = [link for link in study.links if link.name in study.deciding]
    assert all(link.against for link in deciding)
    assert any(set(link.named_arms) <= set(study.best) for link in deciding)
    not_run = SWEEPS.read_text(encoding="utf-8").split("### Not run at full length")[1]
    assert f"| `{name}` |" in not_run


def test_every_study_of_ours_has_a_row_with_its_verdict_or_is_said_not_to_be_run() -> None:
    text = SWEEPS.read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line.startswith("|")]
    for name in search_path.study_names():
        assert any(f"`{name}`" in row for row in rows), name


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
