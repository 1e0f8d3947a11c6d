"""Values in the strategy game by dynamic programming: for who knows the user, and for chance."""

from __future__ import annotations

import numpy as np

from harness.calibration.strategy_game import COUNT, MOMENTA, Floats, Game

Recency = tuple[int, int, frozenset[int]]
"""Strategy heard last, before that, and the set heard earlier; COUNT stands for none."""

SILENCE: Recency = (COUNT, COUNT, frozenset())
DOWN, NONE, UP = range(len(MOMENTA))


def fatigue_class(heard: Recency, strategy: int) -> int:
    """Return the index into FATIGUE of a strategy."""
    last, previous, earlier = heard
    if strategy == last:
        return 1
    return 2 if strategy == previous else 3 if strategy in earlier else 0


def hear(heard: Recency, strategy: int) -> Recency:
    """Return what has been heard once `strategy` is played."""
    last, previous, earlier = heard
    return strategy, last, earlier if previous == COUNT else earlier | {previous}


def knowing_user(game: Game) -> float:
    """Return the mean final emotion / 100 of the best policy that knows user and state."""
    return _mean(game, np.maximum)


def uniform(game: Game) -> float:
    """Return the same of a policy that picks among all strategies at random."""
    return _mean(game, np.add, COUNT)


def _mean(game: Game, combine: np.ufunc, divisor: int = 1) -> float:
    """Return the mean over adversarial paths, one at a time: each takes a gigabyte of memory."""
    parts = game.by_path()
    return sum(_backward(part, combine, divisor) for part in parts) / len(parts)


def _backward(game: Game, combine: np.ufunc, divisor: int = 1) -> float:
    """Dynamic programming over turns; `combine` reduces the values of the strategies, in float32.

    The arrays are small and many and memory takes the time: they are combined in place, and the
    short axis of momenta comes first.
    """
    layers = _layers(game.difficulty.turn_cap - 1)
    last, rise = (
        np.moveaxis(table, -1, 2).astype(np.float32, order="C")
        for table in (game.last_turn, game.rise)
    )
    value = {h: combine.reduce([last[c] for c in _classes(h)]) / divisor for h in layers[-1]}
    for layer in reversed(layers[:-1]):
        moved = {heard: _moved(game, heard, after) for heard, after in value.items()}
        value = {heard: _best(rise, heard, moved, combine) / divisor for heard in layer}
    return float(value[SILENCE][NONE, :, game.start, 0].mean())


def _classes(heard: Recency) -> list[tuple[int, int]]:
    """(fatigue class, strategy) of every strategy."""
    return [(fatigue_class(heard, s), s) for s in range(COUNT)]


def _moved(game: Game, heard: Recency, after: Floats) -> tuple[Floats, Floats]:
    """Return the mean value once the latest strategy lowered the emotion, and what a rise adds."""
    after[:, :, game.over] = game.final[game.over, None]
    up = game.expect(after[UP], heard[0], rises=True)
    down = game.expect(after[DOWN], heard[0], rises=False)
    return down, up - down


def _best(
    rise: Floats, heard: Recency, moved: dict[Recency, tuple[Floats, Floats]], combine: np.ufunc
) -> Floats:
    total: Floats | None = None
    for at in _classes(heard):
        down, added = moved[hear(heard, at[1])]
        value = rise[at] * added
        value += down
        total = value if total is None else combine(total, value, out=total)
    assert total is not None
    return total


def _layers(turns: int) -> list[list[Recency]]:
    """Return what may have been heard after 0, 1, ... `turns` turns."""
    layers = [[SILENCE]]
    for _ in range(turns):
        reached = {hear(heard, s) for heard in layers[-1] for s in range(COUNT)}
        layers.append(sorted(reached, key=lambda r: (r[0], r[1], sorted(r[2]))))
    return layers
