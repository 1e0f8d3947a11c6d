"""The additive mood: its half-life, its bounds, and that chances are those of its draws."""

import math

import numpy as np
import pytest

from harness.config.run import INTENTIONS, DifficultyConfig
from harness.simulator.protocol import ConversationKey, SupporterReply
from harness.simulator.second import dynamics
from harness.simulator.second.sentence import ACTS
from harness.simulator.second.user import SecondSimulator
from tests.calibration.levels import LEVELS


def test_half_of_the_way_home_is_gone_after_a_half_life() -> None:
    mood, home = 80.0, 20.0
    for _ in range(int(dynamics.HALF_LIFE)):
        mood = dynamics.mean_mood(mood, home, 0.0)
    assert mood == pytest.approx(50.0)


def test_impulses_add_up() -> None:
    """What two replies do together is the sum of what each does, faded."""
    alone = [dynamics.mean_mood(40.0, 40.0, impulse) - 40 for impulse in (6.0, 3.0)]
    both = dynamics.mean_mood(dynamics.mean_mood(40.0, 40.0, 6.0), 40.0, 3.0) - 40
    assert both == pytest.approx(alone[0] * dynamics.KEPT + alone[1])


@pytest.mark.parametrize(("mood", "expected"), [(40.0, 41.0), (39.6, 38.0), (72.4, 72.4)])
def test_the_chance_of_a_rise_is_that_of_the_draws(mood: float, expected: float) -> None:
    z = np.random.default_rng(1).standard_normal(8_000)
    after = [dynamics.next_mood(mood, expected, float(draw), 10) for draw in z]
    rises = np.mean([math.floor(m + 0.5) > math.floor(mood + 0.5) for m in after])
    assert dynamics.rise_probability(mood, expected) == pytest.approx(rises, abs=0.02)


def test_mood_stays_within_its_bounds_and_the_clamp() -> None:
    for mood in (0.0, 3.3, 50.5, 99.7, 100.0):
        for expected in (-80.0, 40.0, 180.0):
            after = dynamics.next_mood(mood, expected, 0.0, 5)
            assert 0 <= after <= 100
            assert abs(math.floor(after + 0.5) - math.floor(mood + 0.5)) <= 5


@pytest.mark.parametrize("intention", INTENTIONS)
def test_each_intention_has_an_act_that_serves_and_one_that_does_not(intention: str) -> None:
    worths = [dynamics.value(act, intention, 1.0, dynamics.ENOUGH_TOLD) for act in ACTS]
    assert max(worths) > 0.7
    assert min(worths) < 0


def test_no_act_serves_every_intention() -> None:
    """Else a supporter need not listen."""
    for act in ACTS:
        worths = [dynamics.value(act, i, 1.0, dynamics.ENOUGH_TOLD) for i in INTENTIONS]
        assert min(worths) < 0.25


def test_advice_is_worth_more_once_something_was_told() -> None:
    worths = [dynamics.value("advise", "advice", 1.0, told) for told in range(5)]
    assert worths == sorted(worths)
    assert worths[0] < worths[3] == worths[4]


def test_wear_fades_and_spares_annoyance() -> None:
    use, other = frozenset(["ask"]), frozenset[str]()
    amounts = [dynamics.wear("ask", (use, *[other] * ago)) for ago in range(4)]
    assert amounts == sorted(amounts, reverse=True)
    assert amounts[0] == pytest.approx(dynamics.WEAR)
    assert dynamics.worth_after_wear(-0.5, amounts[0]) == -0.5


def test_the_threshold_and_the_temperament_move_the_home_mood() -> None:
    easy, reluctant = DifficultyConfig(threshold=-1), DifficultyConfig(threshold=1)
    assert dynamics.home(easy, "passive") > dynamics.home(reluctant, "passive")
    assert dynamics.home(easy, "passive") > dynamics.home(easy, "negative")


def mean_final(level: DifficultyConfig, *replies: str) -> float:
    simulator = SecondSimulator(level)
    turns = simulator.open([ConversationKey(1, 1, n, 0) for n in range(20)])
    for n in range(level.turn_cap):
        live = [i for i, turn in enumerate(turns) if turn.ended is None]
        said = [SupporterReply(replies[n % len(replies)])] * len(live)
        for i, turn in zip(live, simulator.answer([turns[i] for i in live], said), strict=True):
            turns[i] = turn
    return float(np.mean([turn.emotion for turn in turns]))


KIND = ("What happened then?", "That must be so hard.", "I am here with you.", "You did well.")
CRUEL = ("You are pathetic.", "Just get over it.", "Nobody cares.", "It is your own fault.")


def test_harder_levels_end_lower_and_cruelty_lowest() -> None:
    kind = [mean_final(level, *KIND) for level in LEVELS.values()]
    cruel = [mean_final(level, *CRUEL) for level in LEVELS.values()]
    assert kind == sorted(kind, reverse=True)
    assert max(cruel) < 10


def test_a_step_twice_as_large_counts_everything_twice() -> None:
    keys, reply = [ConversationKey(1, 1, 0, 0)], SupporterReply("What happened then?")
    whys = []
    for size in (5, 10):
        simulator = SecondSimulator(DifficultyConfig(step_size=size))
        (turn,) = simulator.answer(simulator.open(keys), [reply])
        whys.append(turn.why)
    assert whys[0]["ask"]
    for part, worth in whys[0].items():
        assert whys[1][part] == pytest.approx(2 * float(worth))
