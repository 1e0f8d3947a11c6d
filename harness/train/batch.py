"""Which conversations a step holds, and what they earn: the same for every rung of policy."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from harness.config import RunConfig
from harness.simulator.factory import make
from harness.simulator.protocol import ConversationKey
from harness.simulator.rules import who
from harness.train.advantages import (
    FloatArray,
    group_relative,
    group_relative_by_turn,
    permuted_within_groups,
)
from harness.train.conversation import MAX_TURNS, Conversation, Speaker, hold
from harness.train.rewards import Earned

SPEECH, PERMUTATION = 1, 2
"""Streams of random numbers within a step; each is keyed by seed and step and outlives neither."""


def keys_of(config: RunConfig, step: int) -> list[ConversationKey]:
    """The conversations of step `step`, group by group."""
    size = config.algorithm.group_size
    return [
        ConversationKey(config.seed, step, n // size, n % size)
        for n in range(config.trainer.conversations)
    ]


def converse(config: RunConfig, speaker: Speaker, step: int) -> list[Conversation]:
    """The conversations of step `step`."""
    held = hold(make(config.simulator, config.difficulty), speaker, keys_of(config, step))
    level = config.difficulty
    return [
        replace(c, level=level.name, temperament=who(c.key, level)[0].temperament) for c in held
    ]


def draws_of(config: RunConfig, step: int, stream: int) -> np.random.Generator:
    """A generator that depends on seed, step and purpose alone."""
    return np.random.default_rng([config.seed, step, stream])


def advantages_of(earned: Earned, config: RunConfig, step: int) -> FloatArray:
    """Group-relative advantages, shape (conversations, MAX_TURNS), one for each reply.

    What a conversation earned as a whole holds for all its replies. Both kinds are normalised
    before they are mixed, as rewards of unlike spread should be (arXiv 2601.05242), so that a mix
    of 0 is `terminal` and a mix of 1 is `turns`. For a null control whole conversations change
    places within their group.
    """
    algorithm = config.algorithm
    size, floor = algorithm.group_size, algorithm.std_floor
    shared = group_relative(earned.whole, size, floor)
    advantages = np.repeat(shared[:, None], MAX_TURNS, axis=1)
    if earned.turns is not None:
        alone = group_relative_by_turn(earned.turns, size, floor)
        advantages = (1 - earned.mix) * advantages + earned.mix * alone
    if not algorithm.null_control:
        return advantages
    return permuted_within_groups(advantages, size, draws_of(config, step, PERMUTATION))
