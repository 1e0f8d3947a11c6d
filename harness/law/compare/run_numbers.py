"""The numbers of one run on a footing, by which runs are compared; None where its log has none.

Each has its 95% interval, the whole line where its own error is not known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from harness.law.compare import scales
from harness.law.compare.footing import Footing
from harness.law.compare.groups import Member
from harness.law.compare.replicates import ADAPTED, mean_of_measured
from harness.law.estimate import null_control, numbers, onset, regime
from harness.law.io import columns
from harness.law.io.clean import FEWEST_POINTS, Points
from harness.law.io.columns import NO_SERIES
from harness.law.results import Floats, Interval

OfRun = Callable[[Member, Footing], Interval | None]
NO_REWARDS = Points(np.empty(0), np.empty(0), np.empty(0))


def law_slope(member: Member, footing: Footing) -> Interval | None:
    """The slope of the law, over the footing's range of H where it has one."""
    if footing.within is None:
        spread = footing.spread(member)
        return spread.a if spread is not None else None
    points = footing.law_points(member)
    if points is None:
        return None
    inside = scales.within_range(points, footing.within)
    key = ("a", footing.column_of(member), footing.probe, inside.steps.tobytes())
    return member.replicate.once(key, lambda: scales.slope(inside))


def law_ceiling(member: Member, footing: Footing) -> Interval | None:
    """The ceiling of the law."""
    spread = footing.spread(member)
    return spread.ceiling if spread is not None else None


def gain(member: Member, footing: Footing) -> Interval | None:
    """The gain of the reward."""
    column = footing.column_of(member)

    def reckon() -> Interval | None:
        points = footing.points(member)
        return regime.gain(points, columns.is_evaluation(column)) if points is not None else None

    return member.replicate.once(("gain", column, footing.probe, footing.until), reckon)


def final_reward(member: Member, footing: Footing) -> Interval | None:
    """The reward at the end."""
    points = footing.points(member)
    if points is None or len(points) < FEWEST_POINTS:
        return None
    return _without_error(_end(points.reward))


def fall_of_h(member: Member, footing: Footing) -> Interval | None:
    """The fall of H."""
    key = ("fall", footing.probe and footing.column_of(member), footing.probe, footing.until)
    return member.replicate.once(key, lambda: null_control.fall(footing.course(member).values))


def probe_fall(member: Member, footing: Footing) -> Interval | None:
    """From the first value alone: all runs that start from the same weights share it.

    Three values would reach far into a run that is evaluated seldom
    (docs/decisions/2026-11-22-one-comparison.md).
    """
    return null_control.fall(footing.course(member).values, exact_start=True)


def entropy_lost(member: Member, footing: Footing) -> Interval | None:
    """The first H minus the mean of all."""
    h = footing.course(member).values
    return _without_error(float(h[0] - h.mean())) if len(h) >= FEWEST_POINTS else None


def onset_share(member: Member, footing: Footing) -> Interval | None:
    """The share of the run that was over when collapse began."""
    if footing.probe and member.replicate.probe_course is None:
        return None
    return _without_error(footing.share_at(member, onset_step(member, footing)))


def onset_step(member: Member, footing: Footing) -> float | None:
    """The step at which collapse began."""
    collapse = footing.onset(member)
    return collapse.step if collapse is not None else None


def lead(member: Member, footing: Footing) -> Interval | None:
    """Above 0 where H begins to fall for good before the reward stops rising.

    An onset would not do: a fall of H while the reward rises is none by its own rule. A reward
    that never stops is no stop that a fall could have made: 0.
    """
    points = replace(footing, probe=False).points(member)
    if member.replicate.probe_course is None or points is None or len(points) < FEWEST_POINTS:
        return None
    stop = regime.reward_plateau(points)
    if stop is None:
        return _without_error(0.0)
    fall = fall_step(member, footing)
    return _without_error(footing.share_at(member, stop) - footing.share_at(member, fall))


def fall_step(member: Member, footing: Footing) -> float | None:
    """The onset on the probe, whatever the reward does."""
    probed = member.replicate.probe_course
    course = probed.course if probed else None
    start = onset.find(course, NO_REWARDS) if course is not None else None
    return start.step if start is not None and start.is_collapse else None


def silent_share(member: Member, footing: Footing) -> Interval | None:
    """The share of groups that teach nothing."""
    return member.result.silent_share


def at_end(*names: str) -> OfRun:
    """The sum of columns, each its mean over the last tenth of the steps; None without one."""

    def of_run(member: Member, footing: Footing) -> Interval | None:
        columns = [footing.cut(member.replicate.ends.get(name, NO_SERIES)) for name in names]
        ends = [mean_of_measured(numbers.last_tenth(column.values)) for column in columns]
        measured = [end for end in ends if end is not None]
        return _without_error(sum(measured)) if len(measured) == len(ends) else None

    return of_run


def yardstick(name: str) -> OfRun:
    """The end of a column that stands beside an evaluation's reward."""

    def of_run(member: Member, footing: Footing) -> Interval | None:
        column = footing.column_of(member).replace("reward", name)
        value = _end_of(member, footing, column)
        return None if value is None else _without_error(value)

    return of_run


def adaptation(member: Member, footing: Footing) -> Interval | None:
    """What one step on other users was worth at the end."""
    before, after = (_end_of(member, footing, name) for name in ADAPTED)
    return None if before is None or after is None else _without_error(after - before)


def _end_of(member: Member, footing: Footing, column: str) -> float | None:
    """Mean of the last tenth of what was measured; None of fewer than FEWEST_POINTS."""
    values = footing.cut(member.replicate.ends.get(column, NO_SERIES)).values
    measured = values[np.isfinite(values)]
    return _end(measured) if len(measured) >= FEWEST_POINTS else None


def _end(values: Floats) -> float:
    """Mean of the last tenth, of three values at least."""
    return numbers.mean(values[-max(3, len(values) // 10) :])


def _without_error(value: float) -> Interval:
    """A number whose own error is not known: its interval is the whole line."""
    return Interval(value, -np.inf, np.inf)
