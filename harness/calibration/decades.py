"""How emotion moves at each height: the published dynamics of LLM-played users, and ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.calibration.interval import Floats, Interval, correlation, share
from harness.calibration.population import Conversations

DECADES = tuple(range(10, 100, 10))
PUBLISHED_RISE = (0.044, 0.151, 0.327, 0.528, 0.670, 0.766, 0.904, 0.965, 0.990)
"""P(rise) by decade of emotion, over 9,425 turns of twelve language models with one simulator:
computed from the logs published with SAGE (arXiv 2505.02847), which RLVER's simulator extends."""
PUBLISHED_LAG1 = 0.59


@dataclass(frozen=True)
class Decade:
    """Replies that met the user at an emotion of `emotion` to `emotion` + 9."""

    emotion: int
    n: int
    p_rise: Interval | None
    mean_change: float | None


def by_decade(talks: Sequence[Conversations]) -> list[Decade]:
    """Pooled over the policies of `talks`."""
    pairs = [pair for t in talks for pair in t.changes]
    before = np.concatenate([b for b, _ in pairs]) if pairs else np.array([])
    change = np.concatenate([c for _, c in pairs]) if pairs else np.array([])
    return [_decade(emotion, change[before // 10 * 10 == emotion]) for emotion in DECADES]


def lag1(talks: Sequence[Conversations]) -> Interval | None:
    """Correlation of each change with the next of the same conversation."""
    changes = [change for t in talks for _, change in t.changes if len(change) > 1]
    return correlation([(c[:-1], c[1:]) for c in changes])


def _decade(emotion: int, change: Floats) -> Decade:
    mean_change = float(change.mean()) if change.size else None
    return Decade(emotion, int(change.size), share(change > 0), mean_change)
