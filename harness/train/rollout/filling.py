"""Filling a batch: groups that teach nothing are held anew, with other users (arXiv 2503.14476)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from harness.config.run import RunConfig
from harness.train.algorithms.advantages import group_stds
from harness.train.algorithms.losses import BoolArray
from harness.train.rollout.conversation import Conversation
from harness.train.rollout.rewards import earned

Hold = Callable[[int, Sequence[int]], list[Conversation]]
"""Holds the groups of these numbers, for the n-th time within a step, n from 0."""


@dataclass(frozen=True, slots=True)
class Filled:
    """A batch, and where its conversations come from."""

    held: list[Conversation]
    source: list[tuple[int, int]]
    """Of each conversation: which time of holding, and its number in it."""
    groups: int
    """Held in all."""

    @property
    def put_in(self) -> BoolArray:
        """The conversations that stand in for others, shape (conversations,)."""
        return np.array([time > 0 for time, _ in self.source])


def fill(hold: Hold, config: RunConfig, most_tries: int) -> Filled:
    """Hold a step's groups; up to `most_tries` times in all while some have equal rewards.

    Who stands in for group g at the n-th try is group g + n * (groups of a batch). What has no
    variance in the last of the tries stays, and has advantage 0.
    """
    size = config.algorithm.group_size
    count = config.trainer.conversations // size
    held = hold(0, range(count))
    source, drawn = [(0, n) for n in range(len(held))], count
    for time in range(1, most_tries):
        spread = group_stds(earned(held, config.reward).rewards, size)
        silent = [group for group in range(count) if not spread[group] > 0]
        if not silent:
            break
        new = hold(time, [time * count + group for group in silent])
        drawn += len(silent)
        for n, group in enumerate(silent):
            for sample in range(size):
                held[group * size + sample] = new[n * size + sample]
                source[group * size + sample] = (time, n * size + sample)
    return Filled(held, source, drawn)
