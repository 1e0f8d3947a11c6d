"""What of a difference is sure to be there in a shorter run."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from harness.planning import lengths, search
from tests.planning.made import CUTS, level, pilot, task


def share(early: float, spread: float, seeds: int = 10) -> float:
    """Both levels at `early` of their end; the later one ends .2 higher."""
    later, baseline = level(0.5, spread, seeds, early=early), level(0.3, spread, seeds, early=early)
    return lengths.share_at(later, baseline, "gain", CUTS[0], paired=False)


def test_no_more_is_assumed_than_the_pilot_shows() -> None:
    assert share(1.0, 1e-4) == 0.95
    assert 0.7 <= share(0.8, 0.005) <= 0.8
    assert share(0.8, 0.1) < 0.8
    assert share(0.0, 0.01) == 0


def test_nothing_is_assumed_where_the_pilot_shows_no_difference_at_all() -> None:
    alike = level(0.4, 0.02, 5), level(0.4, 0.02, 5)
    assert lengths.share_at(*alike, "gain", CUTS[0], paired=False) == 0
    assert lengths.share_at(*alike, "gain", 600, paired=False) == 1


@given(early=st.floats(0.0, 1.0), spread=st.floats(0.001, 0.1))
def test_the_share_is_one_and_never_above_what_was_measured(early: float, spread: float) -> None:
    assert 0 <= share(early, spread) <= early + 1e-9


def test_a_shorter_run_is_planned_where_it_shows_nearly_all() -> None:
    made = task(pilot(level(0.5, 0.01, 10, early=0.98), level(0.3, 0.01, 10, early=0.98)))
    design = search.cheapest(made)
    assert isinstance(design, search.Design)
    assert design.size.steps < 600
    assert design.size.evaluations >= 16
    kept = search.cheapest(replace(made, typed=frozenset({"trainer.steps"})))
    assert isinstance(kept, search.Design)
    assert kept.size.steps == 600
