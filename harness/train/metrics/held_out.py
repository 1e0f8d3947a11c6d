"""The conversations of an evaluation: their users, levels and random numbers.

Random numbers are keyed by level, user, repeat and turn. A conversation therefore depends neither
on the number of users, nor on the other levels that are evaluated, nor on the slices.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.config.run import LEVELS, DifficultyConfig, RunConfig
from harness.simulator.protocol import HELD_OUT, ConversationKey
from harness.train.policy_gradient.advantages import FloatArray, IntArray
from harness.train.rollout.batch import streams
from harness.train.rollout.conversation import shares

SEED = 20_260_101
"""Seed of the held-out users and of the policy's draws with them, which no run uses."""
BLOCK = 64
"""Users of a level that share a generator, one row each, level after level."""


@dataclass(frozen=True, slots=True)
class Meeting:
    """One conversation with a held-out user."""

    level: int
    """Number of the level in `levels_of`."""
    user: int
    repeat: int = 0

    @property
    def key(self) -> ConversationKey:
        """The conversation's key, which gives the same users and user draws at every level."""
        return ConversationKey(SEED, 0, self.user, self.repeat, HELD_OUT)

    @property
    def row(self) -> int:
        """The row of this meeting in its generator's numbers."""
        return self.level * BLOCK + self.user % BLOCK

    @property
    def generator(self) -> tuple[int, ...]:
        """The last part of the generator's seed; empty for first meetings in the first block."""
        block = self.user // BLOCK
        return (block, self.repeat) if block or self.repeat else ()


@dataclass(frozen=True)
class Levels:
    """The levels that a run can be evaluated at, by number."""

    every: tuple[DifficultyConfig, ...]
    """The named levels, then the run's own unless it equals one of them except for its name."""
    own: int
    """Number of the run's own level."""
    met: tuple[int, ...]
    """Numbers of the evaluated levels, ascending."""


def levels_of(config: RunConfig) -> Levels:
    """Return the levels of a run, with the turn cap of its evaluation."""
    levels = [_with_turn_cap(config, getattr(config.levels, name)) for name in LEVELS]
    unnamed = [replace(level, name="") for level in levels]
    own = _with_turn_cap(config, config.difficulty)
    if replace(own, name="") in unnamed:
        number = unnamed.index(replace(own, name=""))
    else:
        number = len(levels)
        levels.append(own)
    evaluated = {number, *(LEVELS.index(name) for name in config.eval.levels)}
    return Levels(tuple(levels), number, tuple(sorted(evaluated)))


def _with_turn_cap(config: RunConfig, level: DifficultyConfig) -> DifficultyConfig:
    cap = config.eval.turn_cap
    return level if cap is None else replace(level, turn_cap=cap)


def meetings(config: RunConfig) -> list[Meeting]:
    """Return all conversations of an evaluation, level by level and within it repeat by repeat."""
    size = config.eval
    return [
        Meeting(level, user, repeat)
        for level in levels_of(config).met
        for repeat in range(size.repeats)
        for user in range(size.users)
    ]


def at_once(config: RunConfig) -> int:
    """Return the number of conversations held at a time: the batch size, which fits into memory.

    A tabular policy needs hardly any memory and is faster with more.
    """
    size = config.trainer.conversations
    return max(size, 4 * BLOCK) if config.policy.kind == "tabular" else size


def slots_of(batch: Sequence[Meeting], slots: int) -> IntArray:
    """Return the policy's slot in each meeting; it differs between repeats, so that `slots` repeats
    with a user form a set.
    """
    return np.array([(meeting.user + meeting.repeat) % slots for meeting in batch], dtype=np.int64)


class TurnDraws:
    """Uniform numbers for a language model in some meetings, one table per turn.

    With served users the rows of a block fall into two ranges, each with its own generators, so
    that the numbers do not depend on the number of waves.
    """

    def __init__(self, config: RunConfig, batch: Sequence[Meeting]) -> None:
        self._ranges = shares(BLOCK * len(levels_of(config).every), streams(config))
        self._batch, self._turn = batch, 0

    def random(self, shape: tuple[int, int]) -> FloatArray:
        """Return the next turn's uniforms, shape (meetings, tokens)."""
        self._turn += 1
        rows = []
        for meeting in self._batch:
            wave = next(n for n, block in enumerate(self._ranges) if meeting.row in block)
            seed = (SEED, wave, self._turn, *meeting.generator)
            rows.append((seed, meeting.row - self._ranges[wave].start))
        return _table(rows, shape[1:])


class TableDraws:
    """Uniform numbers for a tabular policy in some meetings, one table for all turns."""

    def __init__(self, batch: Sequence[Meeting]) -> None:
        self._batch = batch

    def random(self, shape: tuple[int, ...]) -> FloatArray:
        """Return uniforms of shape (meetings, *shape[1:])."""
        return _table((((SEED, *m.generator), m.row) for m in self._batch), shape[1:])


def _table(rows: Iterable[tuple[tuple[int, ...], int]], shape: tuple[int, ...]) -> FloatArray:
    """Return rows of generators' tables; `rows`: the seed and the number of each row."""
    entries = list(rows)
    by_seed: dict[tuple[int, ...], list[int]] = {}
    for index, (seed, _) in enumerate(entries):
        by_seed.setdefault(seed, []).append(index)
    table = np.empty((len(entries), *shape))
    for seed, indices in by_seed.items():
        numbers = [entries[index][1] for index in indices]
        uniforms = np.random.default_rng(seed).random((max(numbers) + 1, *shape))
        table[indices] = uniforms[numbers]
    return table


def by_level(batch: Sequence[Meeting], finals: Sequence[float]) -> Mapping[int, FloatArray]:
    """Return the meetings' outcomes by number of the level, shape (users, repeats)."""
    numbers = sorted({meeting.level for meeting in batch})
    shape = (1 + max(m.user for m in batch), 1 + max(m.repeat for m in batch))
    outcomes = {number: np.full(shape, np.nan) for number in numbers}
    for meeting, final in zip(batch, finals, strict=True):
        outcomes[meeting.level][meeting.user, meeting.repeat] = final
    return outcomes
