"""The scripted user reduced to strategies, without text.

The state of a user is their emotion (in steps of 5), trust, the sign of the last change, and the
last strategy, the one before it, and the earlier ones. Each turn the supporter plays one strategy,
as if in one fluent new sentence that takes up a told fact. The formulas are those of `dynamics`.
Wording, form, confusion, feelings taken up and a limited number of facts are left out.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.config.run import STRATEGIES, DifficultyConfig
from harness.simulator.scripted import appraisal, dynamics
from harness.simulator.scripted.dynamics import (
    KINDNESS,
    MAX_TRUST,
    strategy_fits,
    trust_growth_probability,
)

Floats = NDArray[np.floating[Any]]

EMOTIONS = np.arange(0, 101, 5)
TRUSTS = MAX_TRUST + 1
MOMENTA = (-1, 0, 1)
STRATEGY_COUNT = len(STRATEGIES)
FATIGUE = (0.0, dynamics.LAST, dynamics.PREVIOUS, dynamics.EARLIER)
"""Fatigue by class of recency: never used, used last, used before that, used earlier."""


@dataclass(frozen=True)
class StrategyGame:
    """The users of one difficulty level. Arrays over users are in the order of `users`."""

    difficulty: DifficultyConfig

    @cached_property
    def users(self) -> list[tuple[str, str, str | None]]:
        """(intention, temperament, adversarial path or None), all equally likely."""
        difficulty = self.difficulty
        paths: list[str | None] = [*difficulty.paths] or [None]
        return [
            (intention, temperament, path)
            for intention in difficulty.intentions
            for temperament in difficulty.temperaments
            for path in paths
        ]

    def by_path(self) -> list[StrategyGame]:
        """Return one game per adversarial path; the mean of their values is the value of all."""
        paths = self.difficulty.paths
        return (
            [StrategyGame(replace(self.difficulty, paths=[path])) for path in paths]
            if paths
            else [self]
        )

    @cached_property
    def worth(self) -> Floats:
        """Worth of each strategy, shape (users, trusts, strategies)."""
        rule = dynamics.ACCEPTANCES[self.difficulty.acceptance]
        kindness = [KINDNESS[s] for s in STRATEGIES]

        def row(intention: str, trust: int, path: str | None) -> list[float]:
            fits = strategy_fits(intention, trust, path)
            return [dynamics.worth(f, k, rule) for f, k in zip(fits, kindness, strict=True)]

        return np.array([[row(i, t, p) for t in range(TRUSTS)] for i, _, p in self.users])

    @cached_property
    def rise(self) -> Floats:
        """P(rise), shape (classes, strategies, users, emotions, trusts, momenta)."""
        offset = np.array(
            [
                dynamics.INTENTION_OFFSET[i] + dynamics.TEMPERAMENT_OFFSET[t]
                for i, t, _ in self.users
            ]
        )
        reluctance = np.array(
            [[dynamics.reluctance(p, t) for t in range(TRUSTS)] for _, _, p in self.users]
        )
        value = self.worth.transpose(2, 0, 1)[None, :, :, None, :, None]
        run = dynamics.RUNAWAY * ((EMOTIONS - dynamics.NEUTRAL_EMOTION) / 10) ** 3
        x = (
            dynamics.BASE
            - self.difficulty.threshold
            + offset[:, None, None, None]
            - reluctance[:, None, :, None]
            + run[:, None, None]
            + dynamics.MOMENTUM * np.array(MOMENTA)
            + dynamics.FIT_WEIGHT * value
            - np.array(FATIGUE).reshape(-1, 1, 1, 1, 1, 1)
        )
        fresh = self._disclosure.expression
        p = fresh * _sigmoid(x + appraisal.FRESH_FACT)
        p += (1 - fresh) * _sigmoid(x + appraisal.OLDER_FACT)
        return np.asarray((1 - dynamics.NOISE) * p + dynamics.NOISE / 2)

    @cached_property
    def large(self) -> tuple[Floats, Floats]:
        """P(large | rise) and P(large | fall), each (strategies, users, emotions, trusts)."""
        value = self.worth.transpose(2, 0, 1)[:, :, None, :]
        up, down = (
            np.minimum(
                1,
                dynamics.LARGE_CHANCE
                + dynamics.LARGE_CHANCE_PER_WORTH * np.maximum(sign * value, 0),
            )
            * np.ones((len(EMOTIONS), 1))
            for sign in (1, -1)
        )
        is_high = EMOTIONS[:, None] >= dynamics.HIGH_EMOTION
        return np.where(is_high, dynamics.LARGE_CHANCE_AT_HIGH, up), down

    @cached_property
    def trust_gain(self) -> Floats:
        """Chance that a strategy wins a point of trust, shape (strategies, users, 1, trusts)."""
        chance = [trust_growth_probability(s, self._disclosure) for s in STRATEGIES]
        stands = [
            [[dynamics.stands_test(s, p, t) for t in range(TRUSTS)] for _, _, p in self.users]
            for s in STRATEGIES
        ]
        return np.asarray(np.array(stands)[:, :, None] * np.array(chance)[:, None, None, None])

    @cached_property
    def jumps(self) -> tuple[int, int]:
        """Small and large change, in cells of the emotion lattice."""
        small, large = (
            dynamics.change_size(is_large, self.difficulty) // 5 for is_large in (False, True)
        )
        return small, large

    @cached_property
    def final(self) -> Floats:
        """Value of a conversation that ends at each emotion, 0 to 1."""
        return np.where(self.difficulty.stop_below > EMOTIONS, 0.0, EMOTIONS / 100)

    @cached_property
    def over(self) -> NDArray[np.bool_]:
        """Mask of the emotions at which the conversation ends."""
        return (self.difficulty.stop_below > EMOTIONS) | (EMOTIONS >= 100)

    @cached_property
    def start(self) -> int:
        """Cell of the initial emotion."""
        return self.difficulty.start_emotion // 5

    @property
    def _disclosure(self) -> dynamics.DisclosureRule:
        return dynamics.DISCLOSURES[self.difficulty.disclosure]

    @cached_property
    def last_turn(self) -> Floats:
        """Mean final emotion / 100 if a strategy is the last; same shape as `rise`."""
        ending = np.broadcast_to(self.final[:, None], (len(EMOTIONS), TRUSTS))
        ending = ending[None].repeat(len(self.users), axis=0)
        up, down = (
            np.stack([self.expect(ending, s, rises) for s in range(STRATEGY_COUNT)])[..., None]
            for rises in (True, False)
        )
        return np.asarray(down + self.rise * (up - down))

    def expect(self, after: Floats, strategy: int, rises: bool) -> Floats:
        """Return the mean of `after` (..., users, emotions, trusts) over change and trust."""
        gain = self._gain[strategy]
        next_trust = np.concatenate([after[..., 1:], after[..., -1:]], axis=-1)
        mixed = (1 - gain) * after + gain * next_trust
        large = self._large[0 if rises else 1][strategy]
        small_at, large_at = self._landings[0 if rises else 1]
        small = mixed[..., small_at, :]
        return np.asarray(small + large * (mixed[..., large_at, :] - small))

    @cached_property
    def _gain(self) -> Floats:
        return self.trust_gain.astype(np.float32)

    @cached_property
    def _large(self) -> tuple[Floats, Floats]:
        up, down = self.large
        return up.astype(np.float32), down.astype(np.float32)

    @cached_property
    def _landings(self) -> list[list[NDArray[np.int64]]]:
        """Cells after a small and a large change, for rises and for falls."""
        return [[_landing(sign * jump) for jump in self.jumps] for sign in (1, -1)]

    def spread(self, mass: Floats, strategy: int, rises: bool) -> Floats:
        """Return `mass` (schedules, users, emotions, trusts) after a change: `expect`'s adjoint."""
        kernel = self._kernels[0 if rises else 1][strategy]
        cells = mass.reshape(*mass.shape[:2], -1).transpose(1, 0, 2) @ kernel
        return np.asarray(cells.transpose(1, 0, 2).reshape(mass.shape))

    @cached_property
    def _kernels(self) -> Floats:
        """Transition probabilities, shape (2, strategies, users, from cells, to cells), float32."""
        size = len(EMOTIONS) * TRUSTS
        basis = np.eye(size).reshape(size, 1, len(EMOTIONS), TRUSTS)
        ones = np.ones((1, len(self.users), 1, 1))
        kernels = [
            [
                self.expect(basis * ones, strategy, rises).reshape(size, -1, size)
                for strategy in range(STRATEGY_COUNT)
            ]
            for rises in (True, False)
        ]
        return np.array(kernels).transpose(0, 1, 3, 4, 2).astype(np.float32)


def _landing(jump: int) -> NDArray[np.int64]:
    """Return the cell after a change by `jump` cells, for each cell of emotion."""
    return np.clip(np.arange(len(EMOTIONS)) + jump, 0, len(EMOTIONS) - 1)


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)))
