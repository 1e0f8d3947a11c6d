"""The second user's game against the formulas of that user."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from harness.calibration.second_game import ACTS, DRAWS, STRATEGY_COUNT, SecondStrategyGame
from harness.config.run import DifficultyConfig
from harness.simulator.second import dynamics
from harness.simulator.second.user import STEP
from tests.calibration.levels import LEVELS


@pytest.mark.parametrize("level", LEVELS.values(), ids=lambda level: level.name)
def test_the_worth_of_a_strategy_is_the_mean_worth_of_its_acts(level: DifficultyConfig) -> None:
    game, goal = SecondStrategyGame(level), dynamics.ACCEPTANCES[level.acceptance].goal
    shows = dynamics.EXPRESSION[level.disclosure]
    for turn in range(level.turn_cap):
        told = 1 + round(turn * shows)
        for user, (intention, temperament) in enumerate(game.users):
            assert game.homes[user] == dynamics.home(level, temperament)
            exact = [
                np.mean([dynamics.value(act, intention, goal, told) for act in acts])
                for acts in ACTS
            ]
            np.testing.assert_allclose(game.worth[turn, user], exact, atol=1e-12)


@pytest.mark.parametrize("level", LEVELS.values(), ids=lambda level: level.name)
def test_moods_move_by_the_formulas_of_the_second_user(level: DifficultyConfig) -> None:
    """With a schedule that repeats no strategy, so that nothing wears."""
    game = SecondStrategyGame(level)
    schedules = np.array(
        [
            np.roll(np.arange(STRATEGY_COUNT), user)[: level.turn_cap]
            for user in range(len(game.users))
        ]
    )
    finals = game.finals(schedules)
    for user in range(0, len(game.users), 5):
        exact = [_final(game, user, schedules[user], draw) for draw in range(DRAWS)]
        assert finals[user].tolist() == exact


def _final(game: SecondStrategyGame, user: int, schedule: NDArray[np.int64], draw: int) -> float:
    """Return the final emotion of one conversation, one formula of `dynamics` at a time."""
    level, temperament = game.level, game.users[user][1]
    shows, mood = dynamics.EXPRESSION[level.disclosure], float(level.start_emotion)
    emotion = level.start_emotion
    taken_up = shows * dynamics.TAKEN_UP + (1 - shows) * dynamics.TAKEN_UP_BEFORE
    points = dynamics.ACCEPTANCES[level.acceptance].points * level.step_size / STEP
    for turn, strategy in enumerate(schedule):
        impulse = points * (game.worth[turn, user, strategy] + taken_up)
        expected = dynamics.mean_mood(mood, dynamics.home(level, temperament), impulse)
        noise = game.noise[turn, user, draw] / dynamics.NOISE
        mood = dynamics.next_mood(mood, expected, noise, level.clamp)
        emotion = math.floor(mood + 0.5)
        if emotion >= 100:
            break
        if emotion < level.stop_below:
            return 0.0
    return emotion
