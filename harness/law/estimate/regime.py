"""How a run ended, in one word, what it gained, and how many of its groups taught nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.law.estimate import numbers, trend
from harness.law.estimate.onset import Course
from harness.law.io.aux_columns import Trace
from harness.law.io.clean import FEWEST_POINTS, Points
from harness.law.results import Interval, Onset

KEPT = 0.20
"""H that ends within this share of its start was kept."""
SILENT = 0.5
"""Above this share of groups without a signal, a run can starve."""
BY_ONSET = {"terminal_fall": "collapsed", "budget_spent": "spent"}


def gain(points: Points) -> Interval | None:
    """Mean reward of the last tenth minus that of the first, of three values at least, its 95%
    interval by AR(1) errors.

    None below 16 points.
    """
    n = len(points)
    if n < FEWEST_POINTS:
        return None
    edge = max(3, n // 10)
    value = numbers.mean(points.reward[-edge:]) - numbers.mean(points.reward[:edge])
    half = trend.wobble(points.reward).half_width(edge) * 2**0.5
    return Interval(value, value - half, value + half)


def silent_share(shares: Sequence[Trace]) -> Interval | None:
    """Mean over the run of the share of groups without a signal, of the column where it is larger.

    Its 95% interval, within [0, 1], is the wider of AR(1) errors around a cubic and of means of
    blocks of time. None below 16 values.
    """
    valid = [s.values[(s.values >= 0) & (s.values <= 1)] for s in shares]
    known = [values for values in valid if len(values) >= FEWEST_POINTS]
    if not known:
        return None
    values = max(known, key=lambda v: float(v.mean()))
    mean = float(values.mean())
    half = max(trend.wobble(values).half_width(len(values)), trend.batch_half_width(values))
    return Interval(mean, max(mean - half, 0.0), min(mean + half, 1.0))


def regime(
    run: Course | None, won: Interval | None, onset: Onset | None, silent: Interval | None
) -> str | None:
    """The first that fits of exploded, starved, collapsed, spent, learning, drifting.

    `silent` is the share of groups without a signal, None where the log does not hold it.
    Starved and learning ask for an interval on their side of the line. None where rows are too
    few.
    """
    if won is None or run is None:
        return None
    if onset is not None and onset.kind == "explosion":
        return "exploded"
    if silent is not None and silent.low > SILENT and won.low <= 0 and _kept(run):
        return "starved"
    if onset is not None:
        return BY_ONSET[onset.kind]
    return "learning" if won.low > 0 else "drifting"


def _kept(run: Course) -> bool:
    end = float(np.median(run.log_h[-max(1, len(run.log_h) // 10) :]))
    return abs(float(np.expm1(end - run.log_start))) <= KEPT
