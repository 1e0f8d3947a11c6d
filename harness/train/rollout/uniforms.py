"""The uniform numbers by which a wave of conversations draws its tokens."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from harness.config.run import RunConfig
from harness.train.policy_gradient.advantages import FloatArray
from harness.train.rollout.batch import ROLLOUT_STREAM, rng_of, stream_of, streams
from harness.train.rollout.conversation import shares


class RolloutUniforms:
    """Uniform numbers of the conversations of a wave, one table per turn.

    The wave is the range `wave` of the `count` conversations of a batch.

    A batch has a fixed number of random streams, each for a range of its conversations, so that a
    conversation's numbers do not depend on the number of waves.
    """

    def __init__(self, config: RunConfig, step: int, attempt: int, count: int, wave: range) -> None:
        self._wave = wave
        self._streams: list[tuple[int, Callable[[tuple[int, int]], FloatArray]]] = [
            (len(part), rng_of(config, step, ROLLOUT_STREAM, stream_of(config, attempt, n)).random)
            for n, part in enumerate(shares(count, streams(config)))
        ]

    def random(self, shape: tuple[int, int], /) -> FloatArray:
        """Return the next turn's uniforms, shape (conversations of this wave, tokens)."""
        tables = [draw((rows, shape[1])) for rows, draw in self._streams]
        return np.concatenate(tables)[self._wave.start : self._wave.stop]
