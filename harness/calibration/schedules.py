"""The best fixed schedules of the strategy game, for supporters who never listen."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from harness.calibration.optimum import DOWN, NONE, SILENCE, UP, Recency, fatigue_class, hear
from harness.calibration.strategy_game import (
    EMOTIONS,
    MOMENTA,
    STRATEGY_COUNT,
    TRUSTS,
    Floats,
    StrategyGame,
)
from harness.config.run import STRATEGIES

BEAM = 128
"""Schedules kept after each turn. Up to four turns the search is exhaustive; for six turns it was
checked against all 8 ** 6 schedules."""


@dataclass(frozen=True)
class Schedule:
    """A schedule of strategies, played whatever the user says."""

    value: float
    """Mean final emotion / 100."""
    strategies: tuple[str, ...]


def value(game: StrategyGame, strategies: Sequence[str]) -> float:
    """Return the mean final emotion / 100 of a schedule with one strategy per turn."""
    return float(_values(game, [[STRATEGIES.index(strategy) for strategy in strategies]])[0])


def best_cycle(game: StrategyGame, length: int) -> Schedule:
    """Return the best repetition of `length` strategies; length 1 is the best constant."""
    cycles = list(itertools.product(range(STRATEGY_COUNT), repeat=length))
    turns = game.difficulty.turn_cap
    played = [[cycle[turn % length] for turn in range(turns)] for cycle in cycles]
    return _best(_values(game, played), cycles)


def best_schedule(game: StrategyGame, beam: int = BEAM) -> Schedule:
    """Return the best schedule that a beam search finds.

    Partial schedules are ranked by their value if the next turn were the last.
    """
    crowd = _opening(game)
    for _ in range(game.difficulty.turn_cap - 1):
        strategies = list(range(STRATEGY_COUNT)) * len(crowd.heard)
        crowd = _play(_repeat_for_strategies(crowd), strategies, game)
        order = np.argsort(-_last_turn(crowd, game).max(axis=1), kind="stable")
        crowd = _select(crowd, order[:beam])
    values = _last_turn(crowd, game)
    schedules = [
        (*played, strategy) for played in crowd.played for strategy in range(STRATEGY_COUNT)
    ]
    return _best(values.ravel(), schedules)


@dataclass(frozen=True)
class _Crowd:
    """State of the users after each of N partial schedules."""

    mass: NDArray[np.float32]
    """Probability mass of ongoing conversations, shape (N, users, emotions, trusts, momenta)."""
    earned: Floats
    """Expected final emotion / 100 from ended conversations, shape (N,)."""
    heard: list[Recency]
    played: list[tuple[int, ...]]


def _opening(game: StrategyGame) -> _Crowd:
    shape = (1, len(game.users), len(EMOTIONS), TRUSTS, len(MOMENTA))
    mass = np.zeros(shape, dtype=np.float32)
    mass[:, :, game.start, 0, NONE] = 1 / len(game.users)
    return _Crowd(mass, np.zeros(1), [SILENCE], [()])


def _repeat_for_strategies(crowd: _Crowd) -> _Crowd:
    """Return every schedule COUNT times, once for each next strategy."""
    return _select(crowd, np.repeat(np.arange(len(crowd.heard)), STRATEGY_COUNT))


def _select(crowd: _Crowd, rows: NDArray[np.int64]) -> _Crowd:
    recencies, played = [crowd.heard[row] for row in rows], [crowd.played[row] for row in rows]
    return _Crowd(crowd.mass[rows], crowd.earned[rows], recencies, played)


def _play(crowd: _Crowd, strategies: Sequence[int], game: StrategyGame) -> _Crowd:
    """Play one turn: schedule n continues with strategies[n]."""
    mass = np.zeros_like(crowd.mass)
    for strategy in sorted(set(strategies)):
        rows = np.flatnonzero(np.array(strategies) == strategy)
        before = crowd.mass[rows]
        classes = [fatigue_class(crowd.heard[row], strategy) for row in rows]
        rising = before * game.rise[:, strategy].astype(np.float32)[classes]
        falling = before.sum(axis=-1) - rising.sum(axis=-1)
        mass[rows, ..., UP] = game.spread(rising.sum(axis=-1), strategy, rises=True)
        mass[rows, ..., DOWN] = game.spread(falling, strategy, rises=False)
    ended = mass[:, :, game.over].sum(axis=(1, 3, 4))
    mass[:, :, game.over] = 0
    recencies = [
        hear(recency, strategy) for recency, strategy in zip(crowd.heard, strategies, strict=True)
    ]
    played = [
        (*sequence, strategy) for sequence, strategy in zip(crowd.played, strategies, strict=True)
    ]
    return _Crowd(mass, crowd.earned + ended @ game.final[game.over], recencies, played)


def _total(crowd: _Crowd, game: StrategyGame) -> Floats:
    return np.asarray(crowd.earned + crowd.mass.sum(axis=(1, 3, 4)) @ game.final)


def _last_turn(crowd: _Crowd, game: StrategyGame) -> Floats:
    """Return the value of each schedule with each last strategy, shape (N, strategies)."""
    mass = crowd.mass.reshape(len(crowd.heard), -1)
    outcome = game.last_turn.reshape(-1, mass.shape[1]).astype(np.float32)
    values = (mass @ outcome.T).reshape(len(mass), -1, STRATEGY_COUNT)
    classes = [
        [fatigue_class(recency, strategy) for strategy in range(STRATEGY_COUNT)]
        for recency in crowd.heard
    ]
    rows = np.arange(len(mass))[:, None]
    return np.asarray(crowd.earned[:, None] + values[rows, classes, np.arange(STRATEGY_COUNT)])


def _values(game: StrategyGame, schedules: Sequence[Sequence[int]]) -> Floats:
    crowd = _select(_opening(game), np.zeros(len(schedules), dtype=np.int64))
    for turn in zip(*schedules, strict=True):
        crowd = _play(crowd, turn, game)
    return _total(crowd, game)


def _best(values: Floats, schedules: Sequence[Sequence[int]]) -> Schedule:
    index = int(values.argmax())
    return Schedule(
        float(values[index]), tuple(STRATEGIES[strategy] for strategy in schedules[index])
    )
