"""The uniform numbers by which a batch of conversations draws its tokens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.config.run import RunConfig
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.rollout.batch import ROLLOUT_STREAM, rng_of, stream_of, streams
from harness.train.rollout.conversation import shares


class RolloutUniforms:
    """Uniform numbers of a batch, one table per turn, which its waves share.

    A batch has a fixed number of random streams, each for a range of its conversations, so that a
    conversation's numbers do not depend on the number of waves.
    """

    def __init__(self, config: RunConfig, step: int, attempt: int, count: int) -> None:
        self._tokens = config.policy.max_turn_tokens
        self._ranges = shares(count, streams(config))
        self._rngs = [
            rng_of(config, step, ROLLOUT_STREAM, stream_of(config, attempt, part))
            for part in range(len(self._ranges))
        ]
        self._tables: list[FloatArray] = []

    def of(self, wave: range) -> WaveUniforms:
        """Return the numbers of a range of the conversations."""
        return WaveUniforms(self, wave)

    def table(self, turn: int) -> FloatArray:
        """Return the uniforms of a turn, from 0, shape (conversations of the batch, tokens)."""
        while len(self._tables) <= turn:
            parts = zip(self._rngs, self._ranges, strict=True)
            self._tables.append(
                np.concatenate([rng.random((len(part), self._tokens)) for rng, part in parts])
            )
        return self._tables[turn]


@dataclass(slots=True)
class WaveUniforms:
    """The uniform numbers of one wave."""

    batch: RolloutUniforms
    wave: range
    turn: int = 0
    """Number of the wave's next turn, from 0."""

    def random(self, shape: tuple[int, int], /) -> FloatArray:
        """Return the next turn's uniforms, shape (conversations of this wave, tokens)."""
        uniforms = self.batch.table(self.turn)[self.wave.start : self.wave.stop]
        assert uniforms.shape == shape, f"a turn must draw {uniforms.shape} numbers, got {shape}"
        self.turn += 1
        return uniforms
