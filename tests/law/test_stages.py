"""A curriculum in stages: one law per stage, and no verdict on the mix of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.law import law_json
from harness.law.advice import FIXED_USERS, what_would_decide
from harness.law.analysis import analyse
from harness.law.estimate import stages
from harness.law.results import Floats, RunResult
from harness.records import metrics
from harness.report.text import explain
from harness.testing import run_folders, synthetic
from harness.testing.staged import HARDER, SHARES, lawful_rows, with_users
from harness.testing.synthetic import LOW
from tests.present import present

Rows = list[dict[str, Any]]


def of(folder: Path, rows: Rows) -> RunResult:
    (run,) = analyse([run_folders.write_rows(folder, rows)]).runs
    return run


def test_a_law_in_each_of_three_stages_is_no_law_of_the_wrong_sign(tmp_path: Path) -> None:
    rows = lawful_rows([300, 300, 300])
    bare = of(tmp_path / "bare", [{k: v for k, v in r.items() if k not in SHARES} for r in rows])
    assert bare.verdict == "fails"
    run = of(tmp_path / "staged", rows)
    assert (run.verdict, list(present(run.reasons))) == ("undetermined", ["stages"])
    found = present(run.stages)
    assert [(s.from_step, s.to_step) for s in found] == [(1, 300), (301, 600), (601, 900)]
    assert [s.what["curriculum/level_share/hard"] for s in found] == [0, 0, 1]
    for stage, b in zip(found, HARDER, strict=True):
        assert present(stage.a).low < 0.3 < present(stage.a).high
        assert present(stage.ceiling).low < b - 0.3 < present(stage.ceiling).high
        assert stage.verdict != "fails"
    assert found[0].verdict in ("holds", "holds_form_open")
    assert run.stages_a == "common"
    assert present(run.identified).a is present(run.identified).ceiling is False


def test_stages_of_unlike_slopes_are_told_apart(tmp_path: Path) -> None:
    run = of(tmp_path, lawful_rows([450, 450], b=(1.1, 1.6), a=(0.1, 0.5), end=0.2))
    assert (run.verdict, run.stages_a) == ("undetermined", "separate")
    assert present(run.stages_a_p) < stages.SAME_A_P


def test_one_law_through_all_stages_keeps_its_verdict_and_its_numbers(tmp_path: Path) -> None:
    rows = lawful_rows([300, 300, 300], b=(1.1, 1.1, 1.1))
    bare = of(tmp_path / "bare", [{k: v for k, v in r.items() if k not in SHARES} for r in rows])
    run = of(tmp_path / "staged", rows)
    assert present(run.stages)[0].verdict == "holds_form_open"
    left = {"stages": None, "stages_a": None, "stages_a_p": None}
    assert replace(run, **left, run="") == replace(bare, run="")  # type: ignore[arg-type]


def test_a_law_that_fails_in_every_stage_fails(tmp_path: Path) -> None:
    run = of(tmp_path, lawful_rows([300, 300], b=(0.1, -0.2), a=(-0.2, -0.2), end=0.1))
    assert run.verdict == "fails"
    assert {"wrong_sign", "stages"} <= set(present(run.reasons))


def test_the_law_on_evaluations_does_not_ask_for_stages(tmp_path: Path) -> None:
    evaluations = synthetic.lawful(3, 900, LOW).reward.tolist()
    rows = [
        {**row, "eval/reward": r}
        for row, r in zip(lawful_rows([300, 300, 300]), evaluations, strict=True)
    ]
    bare = [{k: v for k, v in r.items() if k not in SHARES} for r in rows]
    (without,) = analyse([run_folders.write_run(tmp_path / "bare", bare)]).runs
    (run,) = analyse([run_folders.write_run(tmp_path / "staged", rows)]).runs
    assert run.reward == "eval/reward"
    assert (run.verdict, run.reasons, run.a) == (without.verdict, without.reasons, without.a)
    of_training = present(run.fits)["reward"]
    assert (of_training.verdict, list(of_training.reasons)) == ("undetermined", ["stages"])
    assert len(present(run.stages)) == 3


def test_a_stretch_too_short_to_judge_is_no_stage(tmp_path: Path) -> None:
    run = of(tmp_path, lawful_rows([200, 15, 185]))
    assert [(s.from_step, s.to_step) for s in present(run.stages)] == [(1, 200), (216, 400)]
    few = of(tmp_path / "few", lawful_rows([380, 20], b=(1.25, 0.75)))
    assert [s.verdict for s in present(few.stages)][1] == "undetermined"
    assert few.verdict == "undetermined"


def test_the_columns_are_those_that_a_curriculum_logs() -> None:
    assert set(stages.COLUMNS) <= set(metrics.MEASURED)


def ramp(n: int) -> Floats:
    return np.linspace(0, 2, n)


def drawn(n: int) -> Floats:
    return np.random.default_rng(1).binomial(8, 0.5, n) / 4


@pytest.mark.parametrize(
    ("level", "reasons"),
    [(lambda n: np.ones(n), []), (ramp, ["mixed"]), (drawn, ["mixed"])],
    ids=["constant", "adaptive", "drawn"],
)
def test_users_without_stages_change_no_number(
    tmp_path: Path, level: Callable[[int], Floats], reasons: list[str]
) -> None:
    rows = synthetic.lawful_rows(n=600)
    bare = of(tmp_path / "bare", rows)
    run = of(tmp_path / "run", with_users(rows, level(600)))
    assert list(present(run.reasons)) == [*present(bare.reasons), *reasons]
    numbers, without = law_json.from_run(run), law_json.from_run(bare)
    for found in (numbers, without):
        del found["run"], found["reasons"]
    assert repr(numbers) == repr(without)
    assert numbers["stages"] is None


def test_a_staged_run_enters_no_mean_of_a_and_is_told_what_would_decide(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        rows = lawful_rows([100, 100, 100], seed=seed)
        run_folders.write_run(tmp_path / str(seed), rows, seed=seed)
    analysis = analyse([tmp_path])
    (group,) = analysis.groups
    assert present(group.a).n == 0
    assert len(group.law_fails) == 3
    assert present(group.gain).n == 3
    assert what_would_decide(analysis)[-1] == FIXED_USERS


def test_the_stages_are_said_in_words(tmp_path: Path) -> None:
    said = " ".join(explain.explain_run(of(tmp_path, lawful_rows([300, 300, 300]))))
    assert "reward by stage of the users: steps 1 to 300 (easy 1.00): a = 0.3" in said
    assert "The stages may share one a (p = " in said
    assert "the users changed during training: one law per stage" in said


@given(
    lengths=st.lists(st.integers(16, 80), min_size=2, max_size=5),
    lone=st.integers(2, 12),
    noise=st.floats(0, 0.02),
)
def test_the_stages_are_where_the_users_change(lengths: list[int], lone: int, noise: float) -> None:
    level = np.repeat(np.arange(len(lengths)) % 2, lengths).astype(float)
    level[lone] = 1 - level[lone]
    shares = level + noise * np.random.default_rng(1).uniform(-1, 1, len(level))
    found = stages.find_stages(np.arange(1.0, len(level) + 1), {SHARES[0]: shares})
    ends = np.cumsum(lengths).tolist()
    assert [(s.first, s.last) for s in found.stages] == [
        (end - length + 1, end) for end, length in zip(ends, lengths, strict=True)
    ]


@given(n=st.integers(0, 2000))
def test_a_steady_ramp_has_no_stages(n: int) -> None:
    assert not stages.find_stages(np.arange(float(n)), {SHARES[0]: ramp(n)}).stages


def test_the_test_of_one_a_rejects_as_often_as_it_says() -> None:
    """Errors estimated by 7 degrees of freedom each, as those of a jackknife over 8 blocks."""
    rng = np.random.default_rng(1)
    found = [
        stages.p_of_one_number(rng.normal(size=3), np.sqrt(rng.chisquare(7, 3) / 7))
        for _ in range(4000)
    ]
    assert 0.035 < np.mean([present(p) < 0.05 for p in found]) < 0.065
    assert stages.p_of_one_number(np.ones(1), np.ones(1)) is None
