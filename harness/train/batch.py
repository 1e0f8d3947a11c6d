"""Which conversations a step holds, and what they earn: the same for every rung of policy."""

from __future__ import annotations

import numpy as np

from harness.config import RunConfig
from harness.simulator.protocol import ConversationKey
from harness.train.advantages import FloatArray, group_relative, permuted_within_groups

SPEECH, PERMUTATION = 1, 2
"""Streams of random numbers within a step; each is keyed by seed and step and outlives neither."""


def keys_of(config: RunConfig, step: int) -> list[ConversationKey]:
    """The conversations of step `step`, group by group."""
    size = config.algorithm.group_size
    return [
        ConversationKey(config.seed, step, n // size, n % size)
        for n in range(config.trainer.conversations)
    ]


def draws_of(config: RunConfig, step: int, stream: int) -> np.random.Generator:
    """A generator that depends on seed, step and purpose alone."""
    return np.random.default_rng([config.seed, step, stream])


def advantages_of(rewards: FloatArray, config: RunConfig, step: int) -> FloatArray:
    """Group-relative advantages, shape (conversations,); dealt out at random for a null control."""
    algorithm = config.algorithm
    advantages = group_relative(rewards, algorithm.group_size, algorithm.std_floor)
    if not algorithm.null_control:
        return advantages
    draws = draws_of(config, step, PERMUTATION)
    return permuted_within_groups(advantages, algorithm.group_size, draws)
