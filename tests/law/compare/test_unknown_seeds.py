"""Runs that do not say their seed: they may be repeats of one, and repeats are no replicates."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.law.analysis import analyse
from harness.law.group_results import Analysis
from harness.report.figures import registry
from harness.report.text import dropped_rows
from harness.testing import run_folders, synthetic
from harness.testing.synthetic import LOW
from tests.law import compared
from tests.law.compared import forget_seed
from tests.present import present
from tests.report.made_figures import legend
from tests.report.made_tables import printed

COPIES = 3


def copied(folder: Path, without_seed: int = COPIES) -> Path:
    """Three copies of one run a level: their seeds differ in name only, or are not named."""
    for place, level in enumerate(("easy", "medium")):
        lines = compared.rows(synthetic.lawful(place, 300, LOW))
        for copy in range(1, COPIES + 1):
            run = run_folders.write_run(folder / f"{level}-{copy}", lines, seed=copy, level=level)
            if copy <= without_seed:
                forget_seed(run)
    return folder


@pytest.fixture(scope="module")
def unknown(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    return analyse([copied(tmp_path_factory.mktemp("unknown"))])


def test_runs_of_unknown_seed_have_a_mean_and_no_interval(unknown: Analysis) -> None:
    easy = unknown.groups[0]
    (first, *_) = unknown.runs
    assert len(easy.runs) == COPIES
    assert easy.unknown_seeds == COPIES
    assert first.a is not None
    assert easy.a.mean == pytest.approx(first.a.value)
    for pooled in (easy.a, easy.ceiling, easy.gain):
        assert (pooled.low, pooled.high, pooled.n) == (None, None, COPIES)
    assert easy.compared is not None
    assert easy.compared.ceiling.low is None


def test_they_decide_nothing_and_the_contrast_says_why(unknown: Analysis) -> None:
    found = compared.contrast(unknown, "gain")
    assert found.decision == "undecided"
    assert found.why == (
        "the seed of 3 of 3 runs of difficulty=medium is unknown, so the runs may be repeats of "
        "one seed"
    )
    assert found.seeds == (1, 1)
    assert found.p_holm is None


def test_a_reader_is_told_and_told_what_to_do(unknown: Analysis) -> None:
    (said,) = dropped_rows.unknown_seeds(unknown)
    assert said == (
        "The seed of 6 runs is unknown. Runs of one config may then have the same seed, so their "
        "means have no interval and are not compared. If their seeds differ, write "
        "`seed: NUMBER` in the config.yaml of each."
    )
    text = printed(unknown)
    assert said in text
    assert "seeds unknown" in text


def test_the_forest_says_that_there_is_no_interval(unknown: Analysis) -> None:
    forest = next(d for d in registry.draw(unknown, every_run=False) if d.name == "forest")
    assert legend(forest)[:2] == [
        "one run",
        "mean over seeds (weighted for a and ceiling), 95% interval; "
        "no interval where seeds are unknown",
    ]  # fmt: skip
    assert {row["low"] for row in forest.rows if row["kind"] == "mean"} == {None}


def test_the_same_runs_with_seeds_count_and_nothing_is_said(tmp_path: Path) -> None:
    found = analyse([copied(tmp_path, without_seed=0)])
    assert found.groups[0].a.low is not None
    assert compared.contrast(found, "gain").seeds == (COPIES, COPIES)
    assert dropped_rows.unknown_seeds(found) == []


def test_one_unknown_among_known_seeds_is_enough_for_doubt(tmp_path: Path) -> None:
    found = analyse([copied(tmp_path, without_seed=1)])
    assert [group.unknown_seeds for group in found.groups] == [1, 1]
    assert found.groups[0].ceiling.low is None
    why = present(compared.contrast(found, "ceiling").why)
    assert why.startswith("the seed of 1 of 3 runs of")


def test_a_lone_run_of_unknown_seed_is_one_seed(tmp_path: Path) -> None:
    run = run_folders.write_run(tmp_path, compared.rows(synthetic.lawful(1, 300, LOW)))
    forget_seed(run)
    (group,) = analyse([run]).groups
    assert group.unknown_seeds == 0
