"""Runs whose users change in stages, each of which has its own known law."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from harness.law.estimate.stages import COLUMNS
from harness.testing import synthetic
from harness.testing.synthetic import LOW, Floats, Noise

SHARES, REPLIES = COLUMNS[:3], COLUMNS[3]
HARDER = (1.25, 1.0, 0.75)
"""b in each stage of a curriculum whose users become harder."""
Rows = list[dict[str, Any]]


def with_users(rows: Sequence[Mapping[str, Any]], level: Floats) -> Rows:
    """Return the rows with the columns that a curriculum logs about its users.

    `level`: 0 easy, 1 medium, 2 hard, fractions for a mix of two; shape (rows,).
    """
    shares = np.maximum(0.0, 1 - np.abs(level[:, None] - np.arange(len(SHARES))))
    return [
        {**row, **dict(zip(SHARES, row_shares, strict=True)), REPLIES: None}
        for row, row_shares in zip(rows, shares.tolist(), strict=True)
    ]


def lawful_rows(
    lengths: Sequence[int],
    b: Sequence[float] = HARDER,
    a: Sequence[float] = (synthetic.TRUE_A,) * 3,
    end: float = 0.3,
    seed: int = 1,
    noise: Noise = LOW,
) -> Rows:
    """Return the rows of a run in stages of `lengths` rows, easy first, while H decays to `end`.

    `a`, `b`: the law of each stage.
    """
    stage = np.repeat(np.arange(len(lengths)), lengths)

    def follows(h: Floats) -> Floats:
        reward: Floats = np.array(b)[stage] - np.array(a)[stage] * np.exp(h)
        return reward

    log = synthetic.lawful(seed, sum(lengths), noise, synthetic.exponential(end), follows)
    return with_users(synthetic.rows(log), stage.astype(float))
