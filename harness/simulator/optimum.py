"""Values in the strategy game by dynamic programming: for who knows the user, and for chance."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from harness.simulator.strategy_game import COUNT, MOMENTA, Floats, Game

Recency = tuple[int, int, frozenset[int]]
"""Strategy heard last, before that, and the set heard earlier; COUNT stands for none."""

SILENCE: Recency = (COUNT, COUNT, frozenset())
DOWN, NONE, UP = range(len(MOMENTA))


def fatigue_class(heard: Recency, strategy: int) -> int:
    """Index into FATIGUE."""
    last, previous, earlier = heard
    if strategy == last:
        return 1
    return 2 if strategy == previous else 3 if strategy in earlier else 0


def hear(heard: Recency, strategy: int) -> Recency:
    last, previous, earlier = heard
    return strategy, last, earlier if previous == COUNT else earlier | {previous}


def knowing_user(game: Game) -> float:
    """Mean final emotion / 100 of the best policy that knows the user and sees their state."""
    return _backward(game, lambda q: q.max(axis=0))


def uniform(game: Game) -> float:
    """The same of a policy that picks among all strategies at random."""
    return _backward(game, lambda q: q.mean(axis=0))


def _backward(game: Game, combine: Callable[[Floats], Floats]) -> float:
    """Dynamic programming over turns; `combine` reduces the action values over axis 0."""
    layers = _layers(game.difficulty.turn_cap - 1)
    value = {h: combine(np.stack([game.last_turn[c] for c in _classes(h)])) for h in layers[-1]}
    for layer in reversed(layers[:-1]):
        moved = {heard: _moved(game, heard, after) for heard, after in value.items()}
        value = {heard: combine(_action_values(game, heard, moved)) for heard in layer}
    return float(value[SILENCE][:, game.start, 0, NONE].mean())


def _classes(heard: Recency) -> list[tuple[int, int]]:
    """(fatigue class, strategy) of every strategy."""
    return [(fatigue_class(heard, s), s) for s in range(COUNT)]


def _moved(game: Game, heard: Recency, after: Floats) -> tuple[Floats, Floats]:
    """Mean value once the strategy heard last has raised, and has lowered, the emotion."""
    ending = game.final[:, None, None]
    after = np.where(game.over[:, None, None], ending, after)
    up = game.expect(after[..., UP], heard[0], rises=True)
    return up[..., None], game.expect(after[..., DOWN], heard[0], rises=False)[..., None]


def _action_values(
    game: Game, heard: Recency, moved: dict[Recency, tuple[Floats, Floats]]
) -> Floats:
    values = []
    for at in _classes(heard):
        up, down = moved[hear(heard, at[1])]
        values.append(down + game.rise[at] * (up - down))
    return np.stack(values)


def _layers(turns: int) -> list[list[Recency]]:
    """What may have been heard after 0, 1, ... `turns` turns."""
    layers = [[SILENCE]]
    for _ in range(turns):
        found = {hear(heard, s) for heard in layers[-1] for s in range(COUNT)}
        layers.append(sorted(found, key=lambda r: (r[0], r[1], sorted(r[2]))))
    return layers
