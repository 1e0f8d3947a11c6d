"""Levels as they are: their spread over seeds, their difference, and pilots drawn from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from harness.law.results import Floats
from harness.planning import at_once, settings
from harness.planning.pilot import Pilot, PilotLevel, PilotRunCost
from harness.planning.settings import RequestedLevels
from harness.planning.task import TargetEffect, parse_effect

STEPS, EVERY, USERS = 600, 25, 64
EVALUATIONS = (*range(1, STEPS, EVERY), STEPS)
CUTS = EVALUATIONS[15:]
RISE = 150.0
"""Steps in which what is left of the difference falls by a factor of e."""
ALIKE = 0.9
"""Correlation of a run's deviation at a cut with that at its end."""
OTHERS = ("ceiling", "onset", "fall")
WORDS = ("policy=tabular", "difficulty=easy,medium,hard", "trainer.eval_every=25")
"""Whose runs are shipped."""
Pairs = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class Truth:
    """Levels as they are. Standard deviations over seeds are in reward."""

    effect: TargetEffect
    of_training: tuple[float, ...]
    """Of each level, without the evaluation's."""
    of_evaluation: float = 0.02
    """With USERS users."""
    others: tuple[str, ...] = OTHERS

    @property
    def name(self) -> str:
        spreads = "/".join(f"{spread:g}" for spread in self.of_training)
        return f"{self.effect}, {len(self.of_training)} levels, {spreads} + {self.of_evaluation:g}"

    def drawn(
        self, rng: Generator, seeds: int, users: int, steps: Sequence[int]
    ) -> list[dict[int, Floats]]:
        """For each level, the values of its runs by step. The first two are the effect apart, any
        others lie in their middle; all begin alike.
        """
        common = rng.normal(0.0, 0.01, seeds)  # what a seed does to all levels
        values = []
        for place, spread in enumerate(self.of_training):
            total = np.hypot(spread, self.of_evaluation * (USERS / users) ** 0.5)
            mean = self.effect.value * (-0.5, 0.5)[place] if place < 2 else 0.0
            end = rng.normal(size=seeds)
            own = {}
            for step in steps:
                noise = ALIKE * end + (1 - ALIKE**2) ** 0.5 * rng.normal(size=seeds)
                noise = end if step == STEPS else noise
                own[step] = 0.4 + mean * share(step) + total * noise
                if self.effect.quantity == "final_reward":
                    own[step] = own[step] + common
            values.append(own)
        return values

    def studies(
        self, rng: Generator, count: int, seeds: int, users: int, step: int, pairs: Pairs
    ) -> at_once.GroupMoments:
        """As many studies of runs of `step` steps; of a link the differences of the `pairs`."""
        common = rng.normal(0.0, 0.01, (count, seeds))  # no contrast has it, whose seeds are others
        levels = []
        for place, spread in enumerate(self.of_training):
            total = np.hypot(spread, self.of_evaluation * (USERS / users) ** 0.5)
            mean = self.effect.value * (-0.5, 0.5)[place] if place < 2 else 0.0
            levels.append(mean * share(step) + total * rng.normal(size=(count, seeds)))
            if not self.effect.is_contrast:
                levels[-1] += common
        if not self.effect.is_contrast:
            levels = [levels[later] - levels[baseline] for later, baseline in pairs]
        values = np.stack(levels, axis=1)
        return at_once.group_moments(values, np.ones(values.shape, dtype=bool))


def share(step: int) -> float:
    """Of the difference at the end, what is there at `step`."""
    return float((1 - np.exp(-step / RISE)) / (1 - np.exp(-STEPS / RISE)))


def cells() -> Iterator[Truth]:
    gain, end = parse_effect("gain=0.05"), parse_effect("final_reward=0.05")
    yield Truth(gain, (0.012, 0.012))
    yield Truth(gain, (0.03, 0.03))
    yield Truth(gain, (0.01, 0.04))
    yield Truth(end, (0.02, 0.02), others=())
    yield Truth(gain, (0.02, 0.02, 0.02))
    yield Truth(gain, (0.02, 0.04, 0.01))
    yield Truth(end, (0.02, 0.02, 0.02), others=())
    yield Truth(gain, (0.02, 0.02, 0.02, 0.02, 0.02))
    yield Truth(gain, (0.02, 0.04, 0.01, 0.02, 0.03))
    yield Truth(end, (0.02, 0.02, 0.02, 0.02, 0.02), others=())


def asked_of(truth: Truth) -> RequestedLevels:
    """Levels of the shipped rung; of two, medium and hard, and of five as many rates."""
    count = len(truth.of_training)
    levels = f"difficulty={','.join(('medium', 'hard', 'easy')[:count])}"
    if count > 3:
        rates = [f"0.{place}" for place in range(1, count + 1)]
        levels = f"algorithm.learning_rate={','.join(rates)}"
    return settings.parse_levels(["policy=tabular", levels, WORDS[2]])


def pilot_of(truth: Truth, asked: RequestedLevels, rng: Generator, seeds: int) -> Pilot:
    """What runs of `seeds` seeds a level would tell a plan."""
    drawn = truth.drawn(rng, seeds, USERS, CUTS)
    per_user = truth.of_evaluation**2 * USERS
    df = (USERS - 1) * (seeds - 1)
    levels = tuple(
        PilotLevel(
            config,
            tuple(range(1, seeds + 1)),
            {truth.effect.quantity: {step: tuple(map(float, v)) for step, v in own.items()}},
            evaluations=EVALUATIONS,
            per_user=float(per_user * rng.chisquare(df) / df),
            spent=PilotRunCost(0.0110, 0.0018, True),
        )
        for config, own in zip(asked.flat, drawn, strict=True)
    )
    tested = (truth.effect.quantity, *truth.others) if truth.others else ()
    return Pilot("made", levels, "eval/medium/reward", tested)
