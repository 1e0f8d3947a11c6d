"""How wide a study's intervals would be if they covered other held-out users."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import effects_on_users
from harness.errors import DataError
from harness.records import outcomes
from harness.records.run_folder import RunFolder
from tests.study.made import GAIN, HARD, MEDIUM, STEADY, record_of, study_of


def test_a_small_table_by_hand() -> None:
    """The means are 2 and 2 by seed, .5 and 3.5 by user; what is left is .5 and -.5 twice."""
    table = np.array([[0.0, 4.0], [1.0, 3.0]])
    seeds, both = effects_on_users.over_seeds(table), effects_on_users.over_seeds_and_users(table)
    assert (seeds.value, seeds.error, seeds.df) == (2.0, 0.0, 1)
    squares = np.array([0.0, 9.0, 1.0])
    assert both.error == pytest.approx(((squares[0] + squares[1] - squares[2]) / 4) ** 0.5)
    assert both.df == pytest.approx((squares @ [1, 1, -1]) ** 2 / (squares**2).sum())


def test_users_who_do_not_differ_leave_the_interval_over_seeds() -> None:
    table = np.array([[0.1, 0.3], [0.3, 0.1], [0.5, 0.5]])
    assert effects_on_users.over_seeds_and_users(table) == effects_on_users.over_seeds(table)


def test_other_seeds_and_users_are_covered_by_the_wider_interval_alone() -> None:
    draws, seeds, users = np.random.default_rng(0), 10, 64
    hits = np.zeros(2)
    for _ in range(1000):
        table = (
            0.3
            + 0.04 * draws.standard_normal((seeds, 1))
            + 0.2 * draws.standard_normal(users)
            + 0.3 * draws.standard_normal((seeds, users))
        )
        for n, estimate in enumerate(
            (effects_on_users.over_seeds(table), effects_on_users.over_seeds_and_users(table))
        ):
            found = estimate.interval()
            hits[n] += found.low <= 0.3 <= found.high
    narrow, wide = hits / 1000
    assert narrow < 0.85
    assert 0.93 <= wide <= 0.98


def test_a_study_has_a_row_for_each_level_that_its_links_compare(tmp_path: Path) -> None:
    draws = np.random.default_rng(1)

    def beside(folder: Path, arm: str, seed: int) -> None:
        ends = np.clip(0.5 + 0.3 * (arm == "medium") + 0.1 * draws.standard_normal((64, 1)), 0, 1)
        lost = np.where(np.arange(64)[:, None] == seed, np.nan, ends)
        outcomes.write(
            RunFolder(folder).outcomes, 20, {"own": ends.tolist(), "medium": lost.tolist()}
        )

    arms = {"hard": (HARD, STEADY), "medium": (MEDIUM, STEADY)}
    judged = study_of(tmp_path, arms, [GAIN], beside=beside)
    record_of(tmp_path, judged, len(STEADY))
    (row,) = effects_on_users.rows(tmp_path)
    _, study, level, pairs, *_, shown, shown_over_users, _ = map(str.strip, row.split("|"))
    assert (study, level, pairs) == (tmp_path.name, "medium", "1")
    assert (shown, shown_over_users) == ("1", "1")


def test_runs_that_were_not_evaluated_there_are_named(tmp_path: Path) -> None:
    def beside(folder: Path, arm: str, seed: int) -> None:
        outcomes.write(RunFolder(folder).outcomes, 20, {"own": [[0.5]], "hard": [[0.5]]})

    arms = {"hard": (HARD, STEADY), "medium": (MEDIUM, STEADY)}
    record_of(tmp_path, study_of(tmp_path, arms, [GAIN], beside=beside), len(STEADY))
    rule = "must have outcomes at medium, which a link compares; it has own, hard"
    with pytest.raises(DataError, match=rf"^{tmp_path}/0-hard-seed1/outcomes.json: {rule}$"):
        list(effects_on_users.rows(tmp_path))
