"""The difference that is asked for."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from harness.errors import ConfigError
from harness.planning import search, sizes, task
from harness.planning.task import TargetEffect
from tests.planning import made
from tests.planning.made import WORDS, asked


def test_a_quantity_alone_has_its_default() -> None:
    assert (
        task.parse_effect("gain")
        == task.parse_effect(task.DEFAULT_EFFECT)
        == TargetEffect("gain", 0.05)
    )
    assert task.parse_effect("entropy_lost").value == 0.1


@pytest.mark.parametrize("text", ["", "onset=0.1", "gain=0", "gain=-1", "gain=nan", "gain=x"])
def test_what_is_no_effect_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--effect: "):
        task.parse_effect(text)


@pytest.mark.parametrize(("text", "most"), [("gain=1", 1.0), ("a=2", 2.0), ("ceiling=1", 1.0)])
def test_an_effect_beyond_the_range_is_refused(text: str, most: float) -> None:
    config = asked(*WORDS).configs[0]
    within = task.parse_effect(text)
    task.check_range(within, config)
    with pytest.raises(ConfigError, match=f"must be at most {most:g}"):
        task.check_range(TargetEffect(within.quantity, most * 1.01), config)


def test_no_entropy_can_be_lost_that_is_not_there() -> None:
    config = asked(*WORDS).configs[0]
    task.check_range(TargetEffect("entropy_lost", math.log(8)), config)
    with pytest.raises(ConfigError, match="8 equally likely choices"):
        task.check_range(TargetEffect("entropy_lost", 2.1), config)


def test_a_slope_is_planned_as_a_share_of_the_mean() -> None:
    assert task.parse_effect("a=0.2").absolute(-0.5) == pytest.approx(0.1)
    assert task.parse_effect("gain=0.2").absolute(-0.5) == 0.2


@pytest.mark.parametrize(("seeds", "common"), [((6, 7, 8, 9, 10), "no"), ((5, 6, 7, 8, 9), "one")])
def test_a_link_needs_levels_with_seeds_in_common(seeds: tuple[int, ...], common: str) -> None:
    levels = [made.level(quantity="final_reward") for _ in range(2)]
    pilot = made.pilot(levels[0], replace(levels[1], seeds=seeds))
    planned = made.task(pilot, "final_reward=0.05")
    assert search.draw_pairs(planned, sizes.first_size(planned)) == (
        f"two levels of the pilot have {common} seed in common, and two are needed, since a link "
        "compares runs of the same seed"
    )
