"""One answer per group over its seeds, from runs on disk."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from harness.law import law_json
from harness.law.analysis import analyse
from harness.law.group_results import Analysis, GroupResult
from harness.law.population_results import WHY, Population
from harness.testing import synthetic
from harness.testing.synthetic import LOW
from tests.law import ended
from tests.law.compared import forget_seed
from tests.law.population import sweep
from tests.present import present


@pytest.fixture(scope="module")
def analysed(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    """easy never collapses, medium does in 3 of 4 seeds, hard follows no law."""
    folder = tmp_path_factory.mktemp("sweep")
    sweep.level(folder, "easy", [sweep.LAWFUL] * 4)
    sweep.level(folder, "medium", [0.4, 0.5, 0.6, sweep.LAWFUL], up=-0.1, first=100)
    sweep.lawless(folder, "hard", 4)
    return analyse([folder])


def group(analysed: Analysis, level: str) -> GroupResult:
    (found,) = [g for g in analysed.groups if g.key["difficulty"] == level]
    return found


def told(analysed: Analysis, level: str) -> Population:
    return present(group(analysed, level).population)


@pytest.mark.parametrize("level", ["easy", "medium", "hard"])
@pytest.mark.parametrize("quantity", ["a", "ceiling"])
def test_the_mean_is_that_of_the_group(analysed: Analysis, level: str, quantity: str) -> None:
    of_group = getattr(group(analysed, level), quantity)
    mean = getattr(told(analysed, level).law, quantity).mean
    if of_group.mean is None:
        assert mean is None
    else:
        assert (mean.value, mean.low, mean.high) == (of_group.mean, of_group.low, of_group.high)


def test_seeds_are_drawn_towards_their_mean(analysed: Analysis) -> None:
    ceiling = told(analysed, "medium").law.ceiling
    own = [run.own.value for run in ceiling.runs]
    pooled = [present(run.pooled) for run in ceiling.runs]
    assert np.std([one.value for one in pooled]) < np.std(own)
    assert [run.seed for run in ceiling.runs] == [1, 2, 3, 4]
    assert present(ceiling.between).low >= 0


def test_a_level_that_never_collapses_bounds_it_from_above(analysed: Analysis) -> None:
    onset = told(analysed, "easy").onset
    assert (onset.events, onset.censored, onset.last_step) == (0, 4, 300)
    end = present(onset.before_end)
    assert (end.value, end.low) == (0, 0)
    assert end.high == pytest.approx(1 - 0.025 ** (1 / 4))
    assert (onset.parametric.median, onset.parametric.why) == (None, "no_onset")


def test_a_level_that_collapses_has_its_median_between_the_onsets(analysed: Analysis) -> None:
    onset = told(analysed, "medium").onset
    assert (onset.events, onset.censored) == (3, 1)
    assert present(onset.before_end).value == pytest.approx(0.75)
    median = present(onset.parametric.median)
    assert 120 < median.value < 240
    assert (median.high, onset.parametric.why) == (None, None)
    assert present(median.low) < median.value
    steps = {run.seed: run.step for run in onset.runs}
    assert steps[4] == 300
    assert steps[1] == pytest.approx(120, abs=15)
    assert [run.seed for run in onset.runs if not run.collapsed] == [4]


def test_a_level_without_a_law_has_no_ceiling_and_says_so(analysed: Analysis) -> None:
    found = told(analysed, "hard")
    assert (found.law.failing, found.law.ceiling.mean, found.law.ceiling.why) == (4, None, "no_law")
    assert (found.follows.followers, found.follows.others) == (0, 4)
    share = present(found.follows.share)
    assert (share.value, share.low) == (0, 0)
    assert share.high < 1


def test_every_reason_is_a_word_of_the_list(analysed: Analysis) -> None:
    for of_group in analysed.groups:
        found = present(of_group.population)
        whys = (found.law.a.why, found.law.ceiling.why, found.follows.why)
        assert {*whys, found.onset.parametric.why} <= {None, *WHY}


def test_it_stands_in_law_json(analysed: Analysis) -> None:
    groups = law_json.from_analysis(analysed)["groups"]
    population = json.loads(json.dumps(groups[0], allow_nan=False))["population"]
    assert [*population] == ["law", "follows", "onset"]
    assert [*population["law"]] == ["a", "ceiling", "failing"]
    assert [*population["onset"]["incidence"][0]] == ["step", "value", "low", "high", "at_risk"]


def test_one_seed_has_no_spread_and_no_median(tmp_path: Path) -> None:
    sweep.level(tmp_path, "medium", [0.5])
    (of_group,) = analyse([tmp_path]).groups
    found = present(of_group.population)
    assert (found.law.ceiling.between, found.law.ceiling.why) == (None, "one_seed")
    assert [run.pooled for run in found.law.ceiling.runs] == [None]
    assert (found.onset.events, found.onset.parametric.why) == (1, "one_onset")
    assert present(found.follows.share).low == pytest.approx(0.025)


def test_a_run_that_diverged_is_censored_at_its_last_step(tmp_path: Path) -> None:
    for seed, at in enumerate([0.5, 0.6], 1):
        lines = synthetic.rows(synthetic.kink(seed, 300, LOW, at=at))
        ended.run(tmp_path / str(seed), seed, lines)
    lines = synthetic.rows(synthetic.kink(3, 300, LOW, at=sweep.LAWFUL))[:120]
    ended.run(tmp_path / "3", 3, lines, status="failed", reason="diverged", exit_code=70)
    (of_group,) = analyse([tmp_path]).groups
    onset = present(of_group.population).onset
    assert (onset.events, onset.censored, onset.diverged) == (2, 1, 1)
    assert [(run.step, run.collapsed) for run in onset.runs if run.seed == 3] == [(120, False)]
    follows = present(of_group.population).follows
    assert (follows.followers, follows.undetermined) == (2, 1)


def test_runs_of_too_few_steps_say_nothing_of_an_onset(tmp_path: Path) -> None:
    for seed in (1, 2):
        ended.run(tmp_path / str(seed), seed, ended.rows(seed, 10))
    (of_group,) = analyse([tmp_path]).groups
    onset = present(of_group.population).onset
    assert (onset.events, onset.censored, onset.not_judged) == (0, 0, 2)
    assert (onset.before_end, onset.incidence) == (None, ())
    assert onset.parametric.why == "too_few_steps"


def test_repeats_are_no_seeds(tmp_path: Path) -> None:
    sweep.level(tmp_path, "medium", [0.4, 0.5, 0.6])
    for run in tmp_path.iterdir():
        forget_seed(run)
    (of_group,) = analyse([tmp_path]).groups
    found = present(of_group.population)
    assert present(found.law.ceiling.mean).low is None
    assert (found.law.ceiling.between, found.law.ceiling.why) == (None, "unknown_seeds")
    assert (found.follows.share, found.follows.why) == (None, "unknown_seeds")
    assert (found.onset.before_end, found.onset.parametric.why) == (None, "unknown_seeds")
    assert found.onset.events == 3
