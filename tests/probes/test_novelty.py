"""Users unlike those of training: the same people, had they come otherwise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

from harness.config.run import INTENTIONS, TEMPERAMENTS, RunConfig
from harness.probes import novelty, over_users, unfamiliarity
from harness.simulator.factory import SimulatorPlugIn
from harness.simulator.personas import PERSONAS, Persona, PersonaSentence
from harness.simulator.protocol import SupporterReply
from harness.simulator.state import User, draw_user
from harness.train.metrics.held_out import Meeting, levels_of
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.saved_policy.policy import Divergence, HeldOutConversation
from harness.utils import extensions
from tests.probes.made import probed, trained
from tests.train.made import brief, conversation, user_turn

SIX, TWO = list(INTENTIONS[:6]), list(INTENTIONS[6:])
CALM, OTHERS = list(TEMPERAMENTS[1:]), list(TEMPERAMENTS[:1])


def of_kinds(**kinds: Any) -> RunConfig:
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
            here = [r for r in readings if r.level == level]
            values = {r.setting: r.estimate.value for r in here if r.quantity == "reward"}
            assert [r.setting for r in here if r.quantity == novelty.SLOPE] == [novelty.MET]
            assert list(values) == [
                novelty.MET, *map(novelty.unmet_setting, kinds), *map(novelty.gap, kinds)
            ]  # fmt: skip
            base = values[novelty.MET]
            for kind in kinds:
                others = values[novelty.unmet_setting(kind)]
                assert base is not None
                assert others is not None
                assert values[novelty.gap(kind)] == pytest.approx(others - base)


def test_a_run_that_met_all_kinds_says_that_there_are_no_others() -> None:
    assert [one.name for one in novelty.PROBE.settings(brief())] == [novelty.MET]
    assert novelty.PROBE.not_measured(brief()) == [
        "other intentions, other temperaments: training has all of difficulty.intentions and "
        "difficulty.temperaments"
    ]
    assert novelty.PROBE.not_measured(of_kinds(temperaments=CALM)) == []


def test_users_of_a_plug_in_have_no_unfamiliarity() -> None:
    config = of_kinds(temperaments=CALM)
    with extensions.registered("simulator", "theirs", SimulatorPlugIn):
        plugged = replace(config, simulator=replace(config.simulator, kind="theirs"))
    assert novelty.PROBE.not_measured(plugged) == [
        "unfamiliar minus familiar persona: users of simulator=theirs have no personas of known "
        "unfamiliarity"
    ]
    assert set(novelty.PROBE.lacks(plugged)) == {novelty.SLOPE}


def persona(name: str, *told: str) -> Persona:
    return Persona(
        name, "it", told, (), "plain", tuple(PersonaSentence("fact", one) for one in told)
    )


def test_unfamiliarity_is_0_of_who_tells_the_same_and_1_of_who_shares_nothing() -> None:
    known = [persona("a", "My rabbit died.", "The garden burned."), persona("b", "I sing.")]
    same = persona("c", "The garden burned.", "My rabbit died.")
    half = persona("d", "My rabbit died.", "The violin broke.")
    other = persona("e", "The violin broke.", "A submarine sank.")
    found = unfamiliarity.between([same, half, other], known)
    assert found[0] == pytest.approx(0)
    assert 0.2 < found[1] < 0.8
    assert found[2] == pytest.approx(1)


def test_every_held_out_persona_has_one() -> None:
    values = unfamiliarity.of_personas()
    assert list(values) == [one.name for one in PERSONAS["held_out"]]
    assert all(0 < value < 1 for value in values.values())
    assert min(values.values()) == pytest.approx(0.764, abs=0.001)
    assert max(values.values()) == pytest.approx(0.948, abs=0.001)
    assert unfamiliarity.span() == pytest.approx(0.110, abs=0.001)


def fitted(x: FloatArray, y: FloatArray) -> float:
    return float(np.polyfit(x, y, 1)[0])


def test_the_parts_have_the_slope_and_its_jackknife() -> None:
    draws = np.random.default_rng(1)
    x, noise = draws.uniform(size=(2, 20))
    then, now = noise, 0.3 * x + noise**2
    parts = {}
    for name, y in (("then", then), ("now", now)):
        found = unfamiliarity.slope_parts(x, y)
        assert found is not None
        parts[name] = [(float(part), 1.0) for part in found]
    change = over_users.change(parts["then"], parts["now"])
    without = np.array(
        [
            fitted(np.delete(x, user), np.delete(now, user))
            - fitted(np.delete(x, user), np.delete(then, user))
            for user in range(20)
        ]
    )
    half = t.ppf(0.975, 19) * np.sqrt(19 / 20 * ((without - without.mean()) ** 2).sum())
    value = fitted(x, now) - fitted(x, then)
    assert over_users.ratio(parts["now"]).value == pytest.approx(fitted(x, now))
    assert (change.value, change.low, change.high) == pytest.approx(
        (value, value - half, value + half)
    )


@pytest.mark.parametrize("x", [[], [0.1, 0.2], [0.3] * 5, [0.1, 0.1, 0.1, 0.2]])
def test_users_who_are_alike_have_no_slope(x: list[float]) -> None:
    assert unfamiliarity.slope_parts(np.array(x), np.arange(len(x), dtype=float)) is None


class Familiar:
    """A policy whose reward falls by 0.4 from the 10% persona to the 90% one."""

    config = brief()


def test_a_planted_slope_is_found() -> None:
    level = levels_of(Familiar.config)
    met = []
    for user in range(24):
        meeting = Meeting(level.met[0], user)
        persona, _ = draw_user(meeting.key, level.every[level.met[0]])
        place = unfamiliarity.of_personas()[persona.persona.name] / unfamiliarity.span()
        last = user_turn(round(360 - 40 * place), ended="cap")
        met.append(
            HeldOutConversation(
                meeting, conversation(0, 0, 40, [(SupporterReply(""), last)]), Divergence(0, 1)
            )
        )
    placed = unfamiliarity.with_slope_parts(Familiar(), met)  # type: ignore[arg-type]
    found = over_users.ratio([unfamiliarity.of_user([one]) for one in placed])
    assert found.value is not None
    assert found.value == pytest.approx(-0.4, abs=0.02)
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high < -0.3
