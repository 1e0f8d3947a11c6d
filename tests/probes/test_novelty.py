"""Users unlike those of training: the same people, had they come otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from harness.config.run import INTENTIONS, TEMPERAMENTS, RunConfig
from harness.errors import ConfigError
from harness.probes import novelty
from harness.simulator.state import User, draw_user
from harness.train.metrics.held_out import Meeting, levels_of
from tests.probes.test_ask import probed, trained
from tests.train.made import brief

SIX, TWO = list(INTENTIONS[:6]), list(INTENTIONS[6:])
CALM, OTHERS = list(TEMPERAMENTS[1:]), list(TEMPERAMENTS[:1])


def of_kinds(**kinds: Sequence[str]) -> RunConfig:
    config = brief()
    return replace(config, difficulty=replace(config.difficulty, **kinds))


def met(config: RunConfig) -> Mapping[str, list[User]]:
    """By level: the first 64 held-out users."""
    levels = levels_of(config)
    return {
        levels.every[number].name: [
            draw_user(Meeting(number, user).key, levels.every[number])[0] for user in range(64)
        ]
        for number in levels.met
    }


@pytest.mark.parametrize(
    ("kinds", "asked"),
    [
        ({"intentions": SIX}, [(SIX, TEMPERAMENTS), (TWO, TEMPERAMENTS)]),
        ({"temperaments": CALM}, [(INTENTIONS, CALM), (INTENTIONS, OTHERS)]),
        (
            {"intentions": SIX, "temperaments": CALM},
            [(SIX, CALM), (TWO, CALM), (SIX, OTHERS)],
        ),
    ],
)
def test_every_setting_meets_the_same_people_of_its_kinds(
    kinds: Mapping[str, list[str]], asked: list[tuple[Sequence[str], Sequence[str]]]
) -> None:
    config = of_kinds(**kinds)
    settings = novelty.PROBE.settings(config)
    assert [one.name for one in settings] == [
        "kinds of training",
        *(f"other {kind}" for kind in kinds),
    ]
    first = met(settings[0].changed(config))
    for setting, (intentions, temperaments) in zip(settings, asked, strict=True):
        for level, users in met(setting.changed(config)).items():
            assert {user.intention for user in users} == set(intentions)
            assert {user.temperament for user in users} == set(temperaments)
            assert [user.persona for user in users] == [user.persona for user in first[level]]


def test_each_gap_is_what_the_others_earn_less_what_is_earned_with_the_kinds_of_training(
    tmp_path: Path,
) -> None:
    run = trained(tmp_path / "some", of_kinds(intentions=SIX, temperaments=CALM))
    found = probed(run, "novelty")
    kinds = ("intentions", "temperaments")
    for readings in (found.reference, found.readings):
        for level in found.levels:
            values = {r.setting: r.estimate.value for r in readings if r.level == level}
            assert list(values) == [
                novelty.MET, *map(novelty.not_met, kinds), *map(novelty.gap, kinds)
            ]  # fmt: skip
            base = values[novelty.MET]
            for kind in kinds:
                others = values[novelty.not_met(kind)]
                assert base is not None
                assert others is not None
                assert values[novelty.gap(kind)] == pytest.approx(others - base)


def test_a_run_that_met_all_kinds_has_no_others() -> None:
    with pytest.raises(ConfigError) as error:
        novelty.PROBE.settings(brief())
    assert str(error.value) == (
        "difficulty.intentions or difficulty.temperaments must leave some out for this probe, "
        "whose question is of those that training did not meet; got all 8 and all 3"
    )
