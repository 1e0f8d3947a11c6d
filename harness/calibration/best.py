"""What can be reached at a level: the exact values of the strategy game, in points of emotion."""

from __future__ import annotations

from dataclasses import dataclass

from harness.calibration import blind, optimum
from harness.calibration.strategy_game import Game
from harness.config.run import DifficultyConfig


@dataclass(frozen=True)
class Best:
    """Mean final emotion of the best policy of each class, 0-100."""

    optimum: float
    """Knows the user and sees their state."""
    blind_schedule: float
    """Hears nothing; a strategy for each turn."""
    cycle3: float
    cycle2: float
    constant: float
    start: float
    """Picks strategies at random, as an untrained tabular policy does."""

    def share(self, value: float) -> float:
        """Of the gain from start to optimum."""
        return (value - self.start) / (self.optimum - self.start)


def measure(level: DifficultyConfig) -> Best:
    """Solve the strategy game of `level`."""
    game = Game(level)
    values = (
        optimum.knowing_user(game),
        blind.best_schedule(game).value,
        *(blind.best_cycle(game, length).value for length in (3, 2, 1)),
        optimum.uniform(game),
    )
    return Best(*(100 * value for value in values))
