"""Entropy of what a policy thinks and of what it says, apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from harness.train.engines.token_rows import TokenRow
from harness.train.metrics.measure import Metrics, TokenTrace


def entropies(trace: TokenTrace, rows: Sequence[TokenRow], end: int) -> Metrics:
    """H in nats a token up to each turn's last `end` of thinking, and after it; None for no token.

    `trace` runs over the own tokens of `rows`, row by row.
    """
    thoughts = np.concatenate([thought(row, end) for row in rows])
    parts = {"entropy/thinking": thoughts, "entropy/reply": ~thoughts}
    return {
        name: float(trace.entropy_nats[part].mean()) if part.any() else None
        for name, part in parts.items()
    }


def thought(row: TokenRow, end: int) -> NDArray[np.bool_]:
    """Which of a row's own tokens are thought: all of a turn that never came to an end of it."""
    ids, turns = np.array(row.ids), np.array(row.turn)
    own, found = turns > 0, np.zeros(len(ids), bool)
    for turn in np.unique(turns[own]):
        places = np.flatnonzero(turns == turn)
        ends = places[ids[places] == end]
        found[places[places <= ends[-1]] if len(ends) else places] = True
    return found[own]
