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
    every = [_capped(config, getattr(config.levels, name)) for name in LEVELS]
    nameless = [replace(level, name="") for level in every]
    own = _capped(config, config.difficulty)
    if replace(own, name="") in nameless:
        number = nameless.index(replace(own, name=""))
    else:
        number = len(every)
        every.append(own)
    met = {number, *(LEVELS.index(name) for name in config.eval.levels)}
    return Levels(tuple(every), number, tuple(sorted(met)))


def _capped(config: RunConfig, level: DifficultyConfig) -> DifficultyConfig:
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


def slots_of(held: Sequence[Meeting], slots: int) -> IntArray:
    """Return the policy's slot in each meeting; it differs between repeats, so that `slots` repeats
    with a user form a set.
    """
    return np.array([(m.user + m.repeat) % slots for m in held], dtype=np.int64)


class TurnDraws:
    """Uniform numbers for a language model in some meetings, one table per turn.

    With served users the rows of a block fall into two ranges, each with its own generators, so
    that the numbers do not depend on the number of waves.
    """

    def __init__(self, config: RunConfig, held: Sequence[Meeting]) -> None:
        self._ranges = shares(BLOCK * len(levels_of(config).every), streams(config))
        self._held, self._turn = held, 0

    def random(self, shape: tuple[int, int]) -> FloatArray:
        """Return the next turn's uniforms, shape (meetings, tokens)."""
        self._turn += 1
        rows = []
        for meeting in self._held:
            wave = next(n for n, rows_of in enumerate(self._ranges) if meeting.row in rows_of)
            seed = (SEED, wave, self._turn, *meeting.generator)
            rows.append((seed, meeting.row - self._ranges[wave].start))
        return _table(rows, shape[1:])


class TableDraws:
    """Uniform numbers for a tabular policy in some meetings, one table for all turns."""

    def __init__(self, held: Sequence[Meeting]) -> None:
        self._held = held

    def random(self, shape: tuple[int, ...]) -> FloatArray:
        """Return uniforms of shape (meetings, *shape[1:])."""
        return _table((((SEED, *m.generator), m.row) for m in self._held), shape[1:])


def _table(rows: Iterable[tuple[tuple[int, ...], int]], shape: tuple[int, ...]) -> FloatArray:
    """Return rows of generators' tables; `rows`: the seed and the number of each row."""
    wanted = list(rows)
    by_seed: dict[tuple[int, ...], list[int]] = {}
    for place, (seed, _) in enumerate(wanted):
        by_seed.setdefault(seed, []).append(place)
    table = np.empty((len(wanted), *shape))
    for seed, places in by_seed.items():
        numbers = [wanted[place][1] for place in places]
        drawn = np.random.default_rng(seed).random((max(numbers) + 1, *shape))
        table[places] = drawn[numbers]
    return table


def by_level(held: Sequence[Meeting], finals: Sequence[float]) -> Mapping[int, FloatArray]:
    """Return the meetings' outcomes by number of the level, shape (users, repeats)."""
    numbers = sorted({meeting.level for meeting in held})
    shape = (1 + max(m.user for m in held), 1 + max(m.repeat for m in held))
    outcomes = {number: np.full(shape, np.nan) for number in numbers}
    for meeting, final in zip(held, finals, strict=True):
        outcomes[meeting.level][meeting.user, meeting.repeat] = final
    return outcomes
