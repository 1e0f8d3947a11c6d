"""How much of a difference is there earlier in a run, as the pilot's own runs show it.

Of the difference at the end, the share at an earlier step is the lower limit of its one-sided 80%
interval (Fieller's, over seeds): where the pilot does not show that much of any, none is assumed.
"""

from __future__ import annotations

import numpy as np

from harness.law.compare import random_effects
from harness.law.estimate import numbers
from harness.law.results import Floats
from harness.planning.pilot import Level

SHARES = np.arange(1, 21) / 20
ONE_SIDED = 0.80


def share_at(later: Level, baseline: Level, quantity: str, step: int, paired: bool) -> float:
    """The largest share of the whole difference to count on at `step`, at most 1; 0 for none."""
    if step >= later.steps:
        return 1.0
    ends, cuts = (
        [level.at(quantity, at) for level in (later, baseline)] for at in (later.steps, step)
    )
    if paired:
        ends, cuts = ([_by_seed(later, baseline, of)] for of in (ends, cuts))
    whole = _contrast(ends)
    sign = 0.0 if whole is None else float(np.sign(whole[0]))
    if whole is None or not _lower(sign * whole[0], *whole[1:]) > 0:
        return 0.0
    least = 0.0
    for share in SHARES:
        beyond = _contrast([cut - share * end for cut, end in zip(cuts, ends, strict=True)])
        if beyond is None or not _lower(sign * beyond[0], *beyond[1:]) > 0:
            break
        least = float(share)
    return least


def _by_seed(later: Level, baseline: Level, of: list[Floats]) -> Floats:
    other = dict(zip(baseline.seeds, of[1], strict=True))
    gaps = [
        value - other[seed] for seed, value in zip(later.seeds, of[0], strict=True) if seed in other
    ]
    return np.array(gaps, dtype=float)


def _contrast(samples: list[Floats]) -> tuple[float, float, float] | None:
    """Value, error and degrees of freedom of the mean, or of the first minus the second."""
    known = [random_effects.unweighted(list(s[np.isfinite(s)])) for s in samples]
    if len(known) == 1:
        mean = random_effects.mean(known[0])
        return None if mean is None else (mean.value, mean.error, mean.df)
    gap = random_effects.difference(known[0], known[1])
    return None if gap is None else (gap.value, gap.error, gap.df)


def _lower(value: float, error: float, df: float) -> float:
    """The lower confidence limit."""
    return value - numbers.t_quantile(ONE_SIDED, df) * error
