"""Are the levels in order? One-sided paired tests, held over all of them by Holm's method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import stdtr

from harness.calibration.interval import Floats

LEVEL = 0.05
MEASURES = ("acceptance", "need_expression", "final_emotion")


@dataclass(frozen=True)
class Step:
    """Whether one level is easier than the next by one measure."""

    measure: str
    easier: str
    harder: str
    difference: float
    p_holm: float

    @property
    def holds(self) -> bool:
        return self.p_holm < LEVEL


def steps(levels: Mapping[str, Mapping[str, Floats]]) -> list[Step]:
    """Each consecutive pair of `levels`, easiest first, by each measure.

    Values are paired: the same contexts, the same users. A pair with a missing value is left out.
    """
    pairs = [
        (measure, easier, harder) for easier, harder in pairwise(levels) for measure in MEASURES
    ]
    found = [_paired(levels[easier][m] - levels[harder][m]) for m, easier, harder in pairs]
    adjusted = _holm([p for _, p in found])
    return [
        Step(*pair, difference, p)
        for pair, (difference, _), p in zip(pairs, found, adjusted, strict=True)
    ]


def _paired(differences: Floats) -> tuple[float, float]:
    """Mean difference, and the chance of one as large if there were none."""
    d = differences[np.isfinite(differences)]
    mean, spread = float(d.mean()), float(d.std(ddof=1))
    if spread == 0:
        return mean, 0.0 if mean > 0 else 1.0
    return mean, float(stdtr(d.size - 1, -mean / (spread / np.sqrt(d.size))))


def _holm(p: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the given order."""
    adjusted, least = [1.0] * len(p), 0.0
    for rank, at in enumerate(np.argsort(p)):
        least = max(least, min(1.0, (len(p) - rank) * p[at]))
        adjusted[at] = least
    return adjusted
