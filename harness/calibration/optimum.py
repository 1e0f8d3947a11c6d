"""Values in the strategy game by dynamic programming: of the optimal and of a random policy."""

from __future__ import annotations

import numpy as np

from harness.calibration.strategy_game import MOMENTA, STRATEGY_COUNT, Floats, StrategyGame

Recency = tuple[int, int, frozenset[int]]
"""(last strategy, the one before it, set of earlier ones); STRATEGY_COUNT stands for none."""

SILENCE: Recency = (STRATEGY_COUNT, STRATEGY_COUNT, frozenset())
DOWN, NONE, UP = range(len(MOMENTA))


def fatigue_class(recency: Recency, strategy: int) -> int:
    """Return the index into FATIGUE for a strategy, given the recency so far."""
    last, previous, earlier = recency
    if strategy == last:
        return 1
    return 2 if strategy == previous else 3 if strategy in earlier else 0


def hear(recency: Recency, strategy: int) -> Recency:
    """Return the recency after `strategy` is played."""
    last, previous, earlier = recency
    return strategy, last, earlier if previous == STRATEGY_COUNT else earlier | {previous}


def knowing_user(game: StrategyGame) -> float:
    """Return the mean final emotion / 100 of the best policy that knows the user and the state."""
    return _mean(game, np.maximum)


def uniform(game: StrategyGame) -> float:
    """Return the mean final emotion / 100 of the uniformly random policy."""
    return _mean(game, np.add, STRATEGY_COUNT)


def _mean(game: StrategyGame, combine: np.ufunc, divisor: int = 1) -> float:
    """Return the mean over adversarial paths, solved one by one: each takes 1 GB of memory."""
    parts = game.by_path()
    return sum(_backward(part, combine, divisor) for part in parts) / len(parts)


def _backward(game: StrategyGame, combine: np.ufunc, divisor: int = 1) -> float:
    """Return the mean value by backward induction over turns, in float32.

    `combine` and `divisor` reduce the values of the strategies. The arrays are many and small, and
    memory access dominates, so they are combined in place with the short axis of momenta first.
    """
    layers = _layers(game.difficulty.turn_cap - 1)
    last, rise = (
        np.moveaxis(table, -1, 2).astype(np.float32, order="C")
        for table in (game.last_turn, game.rise)
    )
    value = {
        recency: combine.reduce([last[pair] for pair in _classes(recency)]) / divisor
        for recency in layers[-1]
    }
    for layer in reversed(layers[:-1]):
        effects = {
            recency: _fall_and_gain(game, recency, after) for recency, after in value.items()
        }
        value = {recency: _best(rise, recency, effects, combine) / divisor for recency in layer}
    return float(value[SILENCE][NONE, :, game.start, 0].mean())


def _classes(recency: Recency) -> list[tuple[int, int]]:
    """Return (fatigue class, strategy) of every strategy."""
    return [(fatigue_class(recency, strategy), strategy) for strategy in range(STRATEGY_COUNT)]


def _fall_and_gain(game: StrategyGame, recency: Recency, after: Floats) -> tuple[Floats, Floats]:
    """Return the mean value after a fall by the latest strategy, and the gain of a rise over it."""
    after[:, :, game.over] = game.final[game.over, None]
    up = game.expect(after[UP], recency[0], rises=True)
    down = game.expect(after[DOWN], recency[0], rises=False)
    return down, up - down


def _best(
    rise: Floats, recency: Recency, effects: dict[Recency, tuple[Floats, Floats]], combine: np.ufunc
) -> Floats:
    total: Floats | None = None
    for pair in _classes(recency):
        down, gain = effects[hear(recency, pair[1])]
        value = rise[pair] * gain
        value += down
        total = value if total is None else combine(total, value, out=total)
    assert total is not None
    return total


def _layers(turns: int) -> list[list[Recency]]:
    """Return the reachable recencies after 0, 1, ... `turns` turns."""
    layers = [[SILENCE]]
    for _ in range(turns):
        recencies = {
            hear(recency, strategy) for recency in layers[-1] for strategy in range(STRATEGY_COUNT)
        }
        layers.append(
            sorted(recencies, key=lambda recency: (recency[0], recency[1], sorted(recency[2])))
        )
    return layers
