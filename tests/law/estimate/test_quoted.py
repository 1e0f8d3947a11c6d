"""The tables of what is quoted beside a verdict: each row from runs that are drawn anew."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from harness.testing import quoted


def test_a_row_tells_what_was_given_and_what_holds() -> None:
    cells = quoted.identified_row(31, "low", "1 to .05", 30).strip("| ").split(" | ")
    assert cells[:3] == ["31", "low", "1 to .05"]
    enough, covered, identified, held = map(float, cells[3:7])
    assert 60 <= enough <= 100
    assert 80 <= covered <= 100
    assert 25 <= identified <= enough
    assert 70 <= held <= 100


def test_a_share_well_above_a_half_is_marked_and_one_below_is_not() -> None:
    marked = quoted.driven_row(300, 0.5, 0.6, 10).strip("| ").split(" | ")
    assert float(marked[4]) == 0.0
    assert float(marked[-1]) == 100.0


@pytest.mark.slow
def test_every_table_has_its_head_and_its_rows() -> None:
    with ThreadPoolExecutor(1) as pool:
        lines = list(quoted.tables(pool, 2))
    rows = [line for line in lines if line.startswith("|") and "---" not in line]
    assert len(rows) == len(quoted.ALL) + len(quoted.SHORT) * 9 + 10 + 8
