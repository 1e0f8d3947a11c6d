"""What is null for a run of few rows, as docs/law_json.md says; nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.law.analysis import analyse
from harness.law.results import Identifiability
from harness.testing import run_folders, synthetic
from harness.testing.synthetic import LOW

NEEDS = {
    "ols": 2,
    "reliability": 3,
    "a": 4,
    "b": 4,
    "ceiling": 4,
    "cov_ab": 4,
    "n_eff": 4,
    "regime": 16,
    "gain": 16,
    "rivals": 16,
    "against_linear": 16,
    "out_of_time_skill": 16,
}
"""Field -> the fewest rows that give it."""


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 15, 16, 17])
def test_a_short_run_is_ok_undetermined_and_null_where_the_page_says(
    tmp_path: Path, rows: int
) -> None:
    run_folders.write_rows(tmp_path, synthetic.rows(synthetic.lawful(1, rows, LOW)))
    (run,) = analyse([tmp_path]).runs
    assert (run.status, run.verdict, run.n_valid) == ("ok", "undetermined", rows)
    assert {name for name in NEEDS if getattr(run, name) is None} == {
        name for name, needed in NEEDS.items() if rows < needed
    }
    assert run.identified == Identifiability(a=False, ceiling=False)


def test_where_h_never_moves_there_is_no_law_and_no_number_of_it(tmp_path: Path) -> None:
    run_folders.write_rows(tmp_path, synthetic.rows(synthetic.constant(1, 100, LOW)))
    (run,) = analyse([tmp_path]).runs
    of_a_law = {*list(NEEDS)[:7], "out_of_time_skill"}
    assert {name for name in NEEDS if getattr(run, name) is None} == of_a_law
