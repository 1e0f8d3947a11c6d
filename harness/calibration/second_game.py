"""The second user reduced to strategies: the value of supporters with one strategy per turn.

The formulas are those of `second.dynamics`, without text: each reply takes up what was told, and
about one more sentence is told each turn. Mood is additive, so the best strategy does not depend on
it except near 0 and 100; up to that, the best policy that knows the user is a schedule for each
kind of user. Values are means over common draws of noise, and schedules are found by coordinate
ascent, so both are estimates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from harness.config.run import STRATEGIES, DifficultyConfig
from harness.simulator.second import dynamics
from harness.simulator.second.sentence import STRATEGY
from harness.simulator.second.user import STEP

Floats = NDArray[np.float64]
DRAWS = 96
"""Draws of noise for each kind of user."""
SWEEPS = 4
STRATEGY_COUNT = len(STRATEGIES)
ACTS = tuple(
    tuple(act for act in dynamics.PROVIDES if STRATEGY[act] == strategy and act != "remark")
    for strategy in STRATEGIES
)
"""The acts of each strategy, taken as equally likely."""


@dataclass(frozen=True)
class SecondStrategyGame:
    """The users of one difficulty level. Arrays over users are in the order of `users`."""

    level: DifficultyConfig

    @property
    def users(self) -> list[tuple[str, str]]:
        """(intention, temperament) for every combination of the level."""
        return list(product(self.level.intentions, self.level.temperaments))

    @cached_property
    def worth(self) -> Floats:
        """Worth of each strategy before wear, shape (turns, users, strategies)."""
        goal = dynamics.ACCEPTANCES[self.level.acceptance].goal
        expression = dynamics.EXPRESSION[self.level.disclosure]
        return np.array([
            [[np.mean([dynamics.value(act, intention, goal, 1 + round(turn * expression))
                       for act in acts]) for acts in ACTS]
             for intention, _ in self.users]
            for turn in range(self.level.turn_cap)
        ])  # fmt: skip

    @cached_property
    def homes(self) -> Floats:
        """Home mood of each user, shape (users, 1)."""
        return np.array([[dynamics.home(self.level, temperament)] for _, temperament in self.users])

    @cached_property
    def noise(self) -> Floats:
        """Noise of the mood in points, shape (turns, users, DRAWS)."""
        shape = (self.level.turn_cap, len(self.users), DRAWS)
        return np.random.default_rng(5).standard_normal(shape) * dynamics.NOISE

    def finals(self, schedules: NDArray[np.int64]) -> Floats:
        """Return the final emotions, shape (users, DRAWS).

        `schedules` has a strategy per user and turn, or per user, draw and turn.
        """
        plans = schedules[:, None, :] if schedules.ndim == 2 else schedules
        plans = np.broadcast_to(plans, (len(self.users), DRAWS, self.level.turn_cap))
        acceptance = dynamics.ACCEPTANCES[self.level.acceptance]
        points = acceptance.points * self.level.step_size / STEP
        expression = dynamics.EXPRESSION[self.level.disclosure]
        taken_up = expression * dynamics.TAKEN_UP + (1 - expression) * dynamics.TAKEN_UP_BEFORE
        mood = np.full(plans.shape[:2], float(self.level.start_emotion))
        has_left, has_succeeded = np.zeros_like(mood, bool), np.zeros_like(mood, bool)
        wear = np.zeros((*mood.shape, STRATEGY_COUNT))
        row, column = np.indices(mood.shape)
        for turn in range(self.level.turn_cap):
            strategies = plans[..., turn]
            fresh = np.take_along_axis(self.worth[turn], strategies.reshape(len(mood), -1), axis=1)
            worn = np.where(
                fresh > 0, fresh / (1 + dynamics.WEAR * wear[row, column, strategies]), fresh
            )
            expected = dynamics.mean_mood(mood, self.homes, points * (worn + taken_up))
            step = np.clip(expected + self.noise[turn] - mood, -self.level.clamp, self.level.clamp)
            mood = np.where(has_left | has_succeeded, mood, np.clip(mood + step, 0, 100))
            emotion = np.floor(mood + 0.5)
            has_succeeded |= emotion >= 100
            has_left |= ~has_succeeded & (emotion < self.level.stop_below)
            wear[row, column, strategies] += 1  # fades at once: docs/simulator.md, "Best schedules"
            wear *= 2 ** (-1 / dynamics.WEAR_HALF_LIFE)
        return np.where(has_left, 0.0, np.floor(mood + 0.5))

    def value(self, schedule: Sequence[int]) -> float:
        """Return the mean final emotion of one schedule for all users."""
        return float(self.finals(np.tile(schedule, (len(self.users), 1))).mean())


def best_cycle(game: SecondStrategyGame, length: int) -> float:
    """Return the value of the best cycle of `length` strategies."""
    turns = game.level.turn_cap
    plans = [
        np.resize(cycle, turns).tolist() for cycle in product(range(STRATEGY_COUNT), repeat=length)
    ]
    return max(game.value(plan) for plan in plans)


def best_schedule(game: SecondStrategyGame) -> tuple[float, tuple[str, ...]]:
    """Return value and strategies of the best schedule for all users."""
    turns = game.level.turn_cap
    starts = [np.resize(cycle, turns) for cycle in product(range(STRATEGY_COUNT), repeat=2)]
    plan = max(starts, key=lambda start: game.value(start.tolist())).tolist()
    for _ in range(SWEEPS):
        for turn in range(turns):
            options = [
                [*plan[:turn], strategy, *plan[turn + 1 :]] for strategy in range(STRATEGY_COUNT)
            ]
            plan = max(options, key=game.value)
    return game.value(plan), tuple(STRATEGIES[strategy] for strategy in plan)


def knowing_user(game: SecondStrategyGame) -> float:
    """Return the mean value of the best schedules, one for each kind of user."""
    users, turns = len(game.users), game.level.turn_cap
    starts = np.array(
        [np.resize(cycle, turns) for cycle in product(range(STRATEGY_COUNT), repeat=2)]
    )
    values = np.array([game.finals(np.tile(start, (users, 1))).mean(axis=1) for start in starts])
    plans = starts[values.argmax(axis=0)]
    for _ in range(SWEEPS):
        for turn in range(turns):
            options = np.repeat(plans[None], STRATEGY_COUNT, axis=0)
            options[..., turn] = np.arange(STRATEGY_COUNT)[:, None]
            gains = np.array([game.finals(option).mean(axis=1) for option in options])
            plans = options[gains.argmax(axis=0), np.arange(users)]
    return float(game.finals(plans).mean())


def uniform(game: SecondStrategyGame) -> float:
    """Return the value of the uniformly random policy."""
    shape = (len(game.users), DRAWS, game.level.turn_cap)
    return float(game.finals(np.random.default_rng(6).integers(0, STRATEGY_COUNT, shape)).mean())
