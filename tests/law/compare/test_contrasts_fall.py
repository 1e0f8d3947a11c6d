"""Falls of H of two groups, whose truth is known: on what they are taken, and what takes part."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.law.analysis import analyse
from harness.law.group_results import Analysis, Contrast
from harness.testing import run_folders
from harness.testing.synthetic import SyntheticRun
from tests.law.compared import COMMON, contrast, law_with, levels, rows
from tests.present import interval, present

SEEDS = (1, 2, 3, 4)
LOGS = {"easy": law_with(0.3, 1.1, end=0.5), "hard": law_with(0.3, 1.1, end=0.05)}


def test_a_deeper_fall_of_h_differs_where_the_frozen_prefixes_show_it_too(tmp_path: Path) -> None:
    def probed(log: SyntheticRun) -> list[dict[str, Any]]:
        return [{**line, "entropy/probe": line["entropy"]} for line in rows(log)]

    def elsewhere(log: SyntheticRun) -> list[dict[str, Any]]:
        draw = np.random.default_rng(int(1e9 * log.entropy[0]))
        return [{**line, "entropy/probe": 1 + 0.01 * draw.normal()} for line in rows(log)]

    found = {
        lines: contrast(analyse([levels(tmp_path / lines.__name__, LOGS, lines=lines)]), "fall")
        for lines in (probed, elsewhere)
    }
    for fall in found.values():
        assert (fall.decision, fall.on, fall.margin) == ("differs", None, 0.10)
        truth = 0.45 * (0.967 - 0.023)  # of exp(-4 u), first 2% and last 10%
        assert fall.difference == pytest.approx(truth, abs=0.03)
    assert found[probed].why is None
    assert found[elsewhere].why == "perhaps due to different contexts: not found on entropy/probe"


@pytest.mark.parametrize("every", [1, 10, 18])
def test_a_fall_is_of_all_steps_however_seldom_reward_is_evaluated(
    tmp_path: Path, every: int
) -> None:
    def seldom(log: SyntheticRun) -> list[dict[str, Any]]:
        return [
            line if number % every == 0 else {**line, COMMON: None}
            for number, line in enumerate(rows(log))
        ]

    found = contrast(analyse([levels(tmp_path / "seldom", LOGS, lines=seldom)]), "fall")
    always = contrast(analyse([levels(tmp_path / "always", LOGS)]), "fall")
    assert found.difference == always.difference


def test_with_one_seed_the_error_of_its_fall_says_how_many_it_takes_at_least(
    tmp_path: Path,
) -> None:
    def noisy(log: SyntheticRun) -> list[dict[str, Any]]:
        draw = np.random.default_rng(3)
        return [{**line, "entropy": abs(line["entropy"] + draw.normal())} for line in rows(log)]

    found = contrast(analyse([levels(tmp_path, LOGS, seeds=1, lines=noisy)]), "fall")
    assert found.decision == "undecided"
    assert present(found.seeds_needed) > 3


def test_a_fall_that_the_null_controls_have_too_is_none_net_of_them(tmp_path: Path) -> None:
    for place, (level, own) in enumerate({"easy": 0.1, "hard": 0.4}.items()):
        for seed, null in itertools.product(SEEDS, (False, True)):
            u, draw = np.arange(200) / 200, np.random.default_rng((place, seed, null))
            h = 1 - (own if null else own + 0.2) * u + 0.01 * draw.normal(size=200)
            lines = [
                {"step": s, "entropy": e, "reward": 0.5 + 0.01 * (s % 7)}
                for s, e in enumerate(h.tolist(), 1)
            ]
            where = tmp_path / f"{level}-{seed}-{null}"
            run_folders.write_run(where, lines, seed=seed, level=level, null_control=null)
    fall = of_levels(analyse([tmp_path]))
    assert fall.difference == pytest.approx(0.94 * 0.3, abs=0.02)
    assert fall.decision == "differs"
    net = interval(fall.net_of_null)
    assert net.low < 0 < net.high


def of_levels(found: Analysis) -> Contrast:
    """The contrast of the falls of the two levels' runs."""
    (one,) = [
        c
        for g in found.groups
        for c in g.contrasts
        if c.quantity == "fall" and c.baseline["difficulty"] != g.key["difficulty"]
    ]
    return one
