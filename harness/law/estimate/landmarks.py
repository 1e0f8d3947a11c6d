"""Steps at which a run's budget, and its H, come to stay below a share of what they were."""

from __future__ import annotations

import numpy as np

from harness.law.estimate import breaks
from harness.law.estimate.breaks import Binned
from harness.law.estimate.onset import Course, settles
from harness.law.io.clean import FEWEST_POINTS, Points

SHARES_PERCENT = (50, 20, 10, 5)
PLATEAU_F = 12.0
"""Of one knot in R against a straight line, deflated by autocorrelation."""
PLATEAU_SLOPE = 0.25
"""R has levelled off when it rises at most at this share of the rate it rose at before."""


def landmarks(
    run: Course | None, law_break: float | None, plateau: float | None
) -> dict[str, float | None]:
    """headroom_P and entropy_P: the step from which no more than P% is left; None if none is.

    Headroom is exp(H) - 1, the reward still to be won under the law; law_break is the step at
    which the law ends, if it does; reward_plateau the one from which R rises no more.
    """
    marks: dict[str, float | None] = {}
    for percent in SHARES_PERCENT:
        share = percent / 100
        marks[f"headroom_{percent}"] = settles(run.steps, run.headroom, share) if run else None
    for percent in SHARES_PERCENT:
        marks[f"entropy_{percent}"] = _entropy_below(run, percent / 100) if run else None
    return {**marks, "law_break": law_break, "reward_plateau": plateau}


def reward_plateau(points: Points, shape: Binned | None = None) -> float | None:
    """The knot of R in time after which it rises at no more than a quarter of its rate before.

    None where R does not bend so, or below 16 points. A reward that turns and falls has its
    plateau at the turn. It marks where R levels off, not why: read it beside the onset. `shape`:
    of the points, where it is known already.
    """
    if len(points) < FEWEST_POINTS:
        return None
    shape = shape or breaks.binned(points.without_spikes())
    knot = shape.reward_knot
    before, after = knot.slopes
    levels_off = before > 0 and after <= PLATEAU_SLOPE * before
    if not levels_off or knot.f <= PLATEAU_F:
        return None
    return float(shape.steps[knot.at[0]])


def _entropy_below(run: Course, share: float) -> float | None:
    return settles(run.steps, run.log_h, run.log_start + float(np.log(share)))
