"""What is written of the committed results under new rules is what these rules give."""

from __future__ import annotations

from pathlib import Path

from benchmarks import old_verdicts

PAGE = Path(__file__).parents[2] / "docs" / "results" / "rules-of-2026-11-23.md"


def test_the_table_of_words_then_and_now_is_as_it_is_made() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    written = [line for line in lines if line.startswith("|")]
    made = "\n".join(old_verdicts.table()).splitlines()
    assert len(written) > 20
    assert [line for line in written if line not in made] == []


def test_an_interval_gives_back_the_error_it_was_made_from() -> None:
    link = {"difference": -0.2, "low": -0.3241664, "high": -0.0758336}  # t of 4 is 2.776445
    found = old_verdicts.estimate(link, 5)
    assert abs(found.error - 0.1 / 5**0.5) < 1e-6
