"""Sweeps whose runs collapse, or follow no law: groups and contrasts take the law where it was."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.law.analysis import analyse, load_members
from harness.law.group_results import Analysis, GroupResult
from harness.law.results import Identifiability
from harness.report.tables import csv_files
from harness.testing import run_folders, sweeps, synthetic
from harness.testing.sweeps import LevelCeilings
from harness.testing.synthetic import LOW, TRUE_CEILING, SyntheticRun
from tests.law.compared import COMMON, contrast, law_with, levels, rows
from tests.present import interval, present
from tests.report.made_tables import printed


def collapsed(ceiling: float, n: int = 600) -> Callable[[int], SyntheticRun]:
    """R follows the law of that ceiling until H falls away, and then falls itself."""

    def made(seed: int) -> SyntheticRun:
        log = synthetic.kink(seed, n, LOW)
        return replace(log, reward=log.reward + ceiling - TRUE_CEILING)

    return made


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder: Path = tmp_path_factory.mktemp("sweep")
    return analyse([levels(folder, {"easy": collapsed(0.7), "hard": collapsed(0.5)}, seeds=4)])


def by_level(analysis: Analysis) -> dict[str, GroupResult]:
    return {str(group.key["difficulty"]): group for group in analysis.groups}


def test_means_over_seeds_are_of_the_law_before_the_collapse(found: Analysis) -> None:
    assert {run.verdict for run in found.runs} == {"holds_until_onset"}
    for level, truth in (("easy", 0.7), ("hard", 0.5)):
        group = by_level(found)[level]
        assert present(group.ceiling.low) < truth < present(group.ceiling.high)
        assert present(group.a.low) < synthetic.TRUE_A < present(group.a.high)
        seen = present(group.compared).ceiling
        assert present(seen.low) < truth < present(seen.high)
        of_level = [run for run in found.runs if run.level == level]
        whole = [present(present(run.whole_run).ceiling) for run in of_level]
        assert max(numbers.high for numbers in whole) < truth - 0.1


def test_ceilings_and_slopes_of_collapsed_levels_can_be_compared(found: Analysis) -> None:
    ceiling = contrast(found, "ceiling")
    assert (ceiling.decision, ceiling.on, ceiling.primary) == ("differs", COMMON, True)
    assert interval(ceiling).low < -0.2 < interval(ceiling).high
    assert interval(ceiling).high - interval(ceiling).low < 0.3
    a = contrast(found, "a")
    assert a.decision != "not_comparable"
    assert interval(a).low < 0 < interval(a).high


def test_law_csv_and_the_table_show_the_law_before_the_onset(found: Analysis) -> None:
    lines = list(csv.DictReader(csv_files.law_csv(found).splitlines()))
    for line in lines:
        truth = {"easy": 0.7, "hard": 0.5}[line["level"]]
        assert float(line["ceiling_low"]) < truth < float(line["ceiling_high"])
        assert float(line["whole_run_ceiling"]) < truth - 0.1
        assert int(line["n_fitted"]) < int(line["n_valid"]) == 600
    assert printed(found).count("before onset") == len(found.runs)


def wrong_sign(seed: int) -> SyntheticRun:
    return synthetic.wrong_sign(seed, 300, LOW)


def test_a_law_that_fails_is_in_no_mean_and_is_named(tmp_path: Path) -> None:
    lawful = law_with(0.3, 1.1)
    wrong = [lawful, lawful, wrong_sign]
    levels(tmp_path, {"easy": lawful}, seeds=3)
    for seed, made in enumerate(wrong, start=1):
        where = tmp_path / f"hard-{seed}"
        run_folders.write_run(where, rows(made(50 + seed)), seed=seed, level="hard")
    analysis = analyse([tmp_path])
    hard = by_level(analysis)["hard"]
    assert [Path(run).name for run in hard.law_fails] == ["hard-3"]
    assert (hard.ceiling.n, hard.ceiling.censored, hard.gain.n) == (2, 1, 3)
    assert present(hard.ceiling.low) < 0.8 < present(hard.ceiling.high)
    assert contrast(analysis, "ceiling").seeds == (2, 3)
    fails = next(run for run in analysis.runs if run.run in hard.law_fails)
    assert fails.identified == Identifiability(a=False, ceiling=False)
    assert "no law in 1," in " ".join(printed(analysis).split())


def test_levels_without_a_law_have_no_ceiling_to_compare(tmp_path: Path) -> None:
    levels(tmp_path, {"easy": law_with(0.3, 1.1), "hard": wrong_sign}, seeds=3)
    analysis = analyse([tmp_path])
    for quantity in ("a", "ceiling"):
        one = contrast(analysis, quantity)
        assert (one.decision, one.difference) == ("not_comparable", None)
        assert one.why == "no single law in 3 of 3 runs of difficulty=hard"
    assert by_level(analysis)["hard"].ceiling.mean is None
    assert contrast(analysis, "gain").primary
    assert contrast(analysis, "gain").decision == "differs"


def test_a_run_moved_in_memory_is_the_run_that_moved_rewards_make(tmp_path: Path) -> None:
    """What benchmarks/contrasts.py rests on."""
    (base,) = sweeps.runs(tmp_path / "base", lambda seed: synthetic.kink(seed, 300, LOW), [7])
    moved = sweeps.shift_rewards(base, -0.1, "easy", 7)
    log = synthetic.kink(7, 300, LOW)
    lines = rows(replace(log, reward=log.reward - 0.1))
    run_folders.write_run(tmp_path / "moved" / "7", lines, seed=7, level="easy")
    (known,) = load_members([tmp_path / "moved"])
    told: list[Any] = []
    for member in (moved, known):
        law = present(member.replicate.law(COMMON, False))
        spread = present(law.spread)
        ceiling = present(member.result.ceiling)
        told.append([ceiling.value, ceiling.low, spread.ceiling.value, spread.ceiling.low])
        assert member.result.verdict == "holds_until_onset"
    assert told[0] == pytest.approx(told[1], abs=1e-9)


def test_three_seeds_of_three_levels_tell_ceilings_apart_that_differ_by_a_tenth(
    tmp_path: Path,
) -> None:
    """The promise in small; benchmarks/contrasts.md has it in full."""
    known = sweeps.runs(tmp_path, lambda seed: synthetic.lawful(seed, 100, LOW), range(1, 31))
    rng, found = np.random.default_rng(4), []
    for _ in range(16):
        of_levels = [LevelCeilings(0.7), LevelCeilings(0.75), LevelCeilings(0.8)]
        groups = sweeps.compare_levels(sweeps.sweep(known, rng, of_levels, seeds=3))
        found += [
            (abs(one - other), contrast.decision)
            for one, other, contrast in sweeps.of_quantity(groups, "ceiling")
        ]
    decided = {
        apart: sweeps.share([decision == "differs" for at, decision in found if at == apart])
        for apart in (1, 2)
    }
    assert decided[2] > 60
    assert 15 < decided[1] < decided[2]
