"""The difference that is asked for."""

from __future__ import annotations

import math

import pytest

from harness.errors import ConfigError
from harness.planning import effects
from harness.planning.effects import Effect
from tests.planning.made import WORDS, asked


def test_a_quantity_alone_has_its_default() -> None:
    assert effects.parse("gain") == effects.parse(effects.DEFAULT) == Effect("gain", 0.05)
    assert effects.parse("entropy_lost").value == 0.1


@pytest.mark.parametrize("text", ["", "onset=0.1", "gain=0", "gain=-1", "gain=nan", "gain=x"])
def test_what_is_no_effect_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="--effect: "):
        effects.parse(text)


@pytest.mark.parametrize(("text", "most"), [("gain=1", 1.0), ("a=2", 2.0), ("ceiling=1", 1.0)])
def test_an_effect_beyond_the_range_is_refused(text: str, most: float) -> None:
    config = asked(*WORDS).configs[0]
    within = effects.parse(text)
    effects.check_range(within, config)
    with pytest.raises(ConfigError, match=f"must be at most {most:g}"):
        effects.check_range(Effect(within.quantity, most * 1.01), config)


def test_no_entropy_can_be_lost_that_is_not_there() -> None:
    config = asked(*WORDS).configs[0]
    effects.check_range(Effect("entropy_lost", math.log(8)), config)
    with pytest.raises(ConfigError, match="8 equally likely choices"):
        effects.check_range(Effect("entropy_lost", 2.1), config)


def test_a_slope_is_planned_as_a_share_of_the_mean() -> None:
    assert effects.parse("a=0.2").absolute(-0.5) == pytest.approx(0.1)
    assert effects.parse("gain=0.2").absolute(-0.5) == 0.2
