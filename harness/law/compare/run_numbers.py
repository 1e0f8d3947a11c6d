"""Compute the numbers by which runs are compared, for one run on a basis.

A number is None if the log lacks it. Its 95% interval is infinite if its own error is not known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from harness.law.compare import scales
from harness.law.compare.comparison_basis import ComparisonBasis
from harness.law.compare.groups import Member
from harness.law.compare.replicates import ADAPTED, mean_of_measured
from harness.law.estimate import null_control, numbers, onset, regime
from harness.law.io import columns
from harness.law.io.clean import FEWEST_POINTS, Points
from harness.law.io.columns import NO_SERIES
from harness.law.results import Floats, Interval

OfRun = Callable[[Member, ComparisonBasis], Interval | None]
NO_REWARDS = Points(np.empty(0), np.empty(0), np.empty(0))


def law_slope(member: Member, basis: ComparisonBasis) -> Interval | None:
    """Return the slope of the law, over the basis's range of H if it has one."""
    if basis.within is None:
        spread = basis.law_intervals(member)
        return spread.a if spread is not None else None
    points = basis.law_points(member)
    if points is None:
        return None
    inside = scales.within_range(points, basis.within)
    key = ("a", basis.column_of(member), basis.probe, inside.steps.tobytes())
    return member.replicate.cached(key, lambda: scales.slope(inside))


def law_ceiling(member: Member, basis: ComparisonBasis) -> Interval | None:
    """Return the ceiling of the law."""
    spread = basis.law_intervals(member)
    return spread.ceiling if spread is not None else None


def gain(member: Member, basis: ComparisonBasis) -> Interval | None:
    """Return the gain of the reward."""
    column = basis.column_of(member)

    def reckon() -> Interval | None:
        points = basis.points(member)
        return regime.gain(points, columns.is_evaluation(column)) if points is not None else None

    return member.replicate.cached(("gain", column, basis.probe, basis.until), reckon)


def final_reward(member: Member, basis: ComparisonBasis) -> Interval | None:
    """Return the reward at the end."""
    points = basis.points(member)
    if points is None or len(points) < FEWEST_POINTS:
        return None
    return _without_error(_end(points.reward))


def fall_of_h(member: Member, basis: ComparisonBasis) -> Interval | None:
    """Return the fall of H."""
    key = ("fall", basis.probe and basis.column_of(member), basis.probe, basis.until)
    return member.replicate.cached(
        key, lambda: null_control.fall(basis.entropy_series(member).values)
    )


def probe_fall(member: Member, basis: ComparisonBasis) -> Interval | None:
    """Return the fall of H on the probe, with the first value alone as the start.

    All runs from the same weights share the first value. The mean of three values would reach far
    into a run with few evaluations (docs/decisions/2026-11-22-one-comparison.md).
    """
    return null_control.fall(basis.entropy_series(member).values, exact_start=True)


def entropy_lost(member: Member, basis: ComparisonBasis) -> Interval | None:
    """Return the first H minus the mean of all H."""
    h = basis.entropy_series(member).values
    return _without_error(float(h[0] - h.mean())) if len(h) >= FEWEST_POINTS else None


def onset_share(member: Member, basis: ComparisonBasis) -> Interval | None:
    """Return the onset of collapse as a share of the run."""
    if basis.probe and member.replicate.probe_course is None:
        return None
    return _without_error(basis.share_at(member, onset_step(member, basis)))


def onset_step(member: Member, basis: ComparisonBasis) -> float | None:
    """Return the step at which collapse began; None if there was none."""
    collapse = basis.onset(member)
    return collapse.step if collapse is not None else None


def lead(member: Member, basis: ComparisonBasis) -> Interval | None:
    """Return the stop of the reward minus the fall of H, in shares of the run.

    It is above 0 if H begins its final fall before the reward stops rising. The fall is not the
    usual onset, which excludes falls of H while the reward rises. 0 if the reward never stops.
    """
    points = replace(basis, probe=False).points(member)
    if member.replicate.probe_course is None or points is None or len(points) < FEWEST_POINTS:
        return None
    stop = regime.reward_plateau(points)
    if stop is None:
        return _without_error(0.0)
    fall = fall_step(member, basis)
    return _without_error(basis.share_at(member, stop) - basis.share_at(member, fall))


def fall_step(member: Member, basis: ComparisonBasis) -> float | None:
    """Return the onset on the probe, regardless of the reward; None if there is none."""
    probed = member.replicate.probe_course
    course = probed.course if probed else None
    collapse = onset.find_onset(course, NO_REWARDS) if course is not None else None
    return collapse.step if collapse is not None and collapse.is_collapse else None


def silent_share(member: Member, basis: ComparisonBasis) -> Interval | None:
    """Return the share of groups without a signal."""
    return member.result.silent_share


def at_end(*names: str) -> OfRun:
    """Return a function for the sum of columns, each averaged over the last tenth of the steps.

    It returns None if a column is missing.
    """

    def of_run(member: Member, basis: ComparisonBasis) -> Interval | None:
        columns = [basis.cut(member.replicate.ends.get(name, NO_SERIES)) for name in names]
        ends = [mean_of_measured(numbers.last_tenth(column.values)) for column in columns]
        measured = [end for end in ends if end is not None]
        return _without_error(sum(measured)) if len(measured) == len(ends) else None

    return of_run


def yardstick(name: str) -> OfRun:
    """Return a function for the end value of a column that belongs to an evaluation."""

    def of_run(member: Member, basis: ComparisonBasis) -> Interval | None:
        column = basis.column_of(member).replace("reward", name)
        value = _end_of(member, basis, column)
        return None if value is None else _without_error(value)

    return of_run


def adaptation(member: Member, basis: ComparisonBasis) -> Interval | None:
    """Return the gain of one training step on other users, at the end of the run."""
    before, after = (_end_of(member, basis, name) for name in ADAPTED)
    return None if before is None or after is None else _without_error(after - before)


def _end_of(member: Member, basis: ComparisonBasis, column: str) -> float | None:
    """Return the mean of the last tenth of the measured values; None below FEWEST_POINTS."""
    values = basis.cut(member.replicate.ends.get(column, NO_SERIES)).values
    measured = values[np.isfinite(values)]
    return _end(measured) if len(measured) >= FEWEST_POINTS else None


def _end(values: Floats) -> float:
    """Return the mean of the last tenth, at least three values."""
    return numbers.mean(values[-max(3, len(values) // 10) :])


def _without_error(value: float) -> Interval:
    """Return a number with an infinite interval, because its own error is not known."""
    return Interval(value, -np.inf, np.inf)
