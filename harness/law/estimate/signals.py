"""Read signals from columns other than H and R: silent groups, onset on the probe, noise of H."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from harness.law.estimate import identifiability, interval, onset, regime
from harness.law.estimate.identifiability import LawFit
from harness.law.io import columns
from harness.law.io.clean import FEWEST_POINTS, Cleaned, Points
from harness.law.io.columns import ColumnSeries
from harness.law.io.table import LogTable
from harness.law.results import AtOnset, BoundedEstimate, Floats, Interval, Onset

SHARE_AROUND = 0.05
"""Share of a column's values, those nearest to the onset, that are averaged."""
FEWEST_AROUND = 3


@dataclass(frozen=True)
class Ceiling:
    """The ceiling of the law, and whether it is identified."""

    interval: Interval
    identified: bool


def at_onset(
    onset: Onset | None, points: Points, ceiling: Ceiling | None, series: Mapping[str, ColumnSeries]
) -> AtOnset | None:
    """Return reward_left and the mean of each column of `series` around the onset.

    None without an onset. A column that the log lacks is None.
    """
    if onset is None:
        return None
    means = {name: _level(column, onset.step) for name, column in series.items()}
    return AtOnset(_reward_left(onset, points, ceiling), means)


def _reward_left(onset: Onset, points: Points, ceiling: Ceiling | None) -> BoundedEstimate | None:
    """Return the ceiling minus the reward around the onset.

    It has a 95% interval if the ceiling is identified, with the two errors added as independent.
    """
    nearest = _nearest(points.steps, onset.step)
    if ceiling is None or len(points) < FEWEST_POINTS:
        return None
    value = ceiling.interval.value - float(points.reward[nearest].mean())
    if not ceiling.identified:
        return BoundedEstimate(value, None, None)
    level = interval.measure_noise(points.reward).half_width(len(nearest))
    half = float(np.hypot(level, (ceiling.interval.high - ceiling.interval.low) / 2))
    return BoundedEstimate(value, value - half, value + half)


def _level(column: ColumnSeries, step: float) -> float | None:
    nearest = _nearest(column.steps, step)
    return float(column.values[nearest].mean()) if len(nearest) else None


def _nearest(steps: Floats, step: float) -> np.ndarray:
    """Return the indices of the values nearest to `step`: a twentieth of all, if possible 3."""
    count = max(FEWEST_AROUND, round(SHARE_AROUND * len(steps)))
    return np.sort(np.argsort(np.abs(steps - step), kind="stable")[:count])


def silent_share(table: LogTable, cleaned: Cleaned) -> Interval | None:
    """Return the mean share of groups without a signal; None if it was not logged."""
    return regime.silent_share(
        [columns.column_series(table, cleaned, name) for name in columns.SILENT]
    )


@dataclass(frozen=True)
class Signals:
    """Fields of a RunResult, described there."""

    at_onset: AtOnset | None
    onset_probe: Onset | None
    reliability_from_se: float | None
    remedy_acted: float | None


def read(
    table: LogTable, cleaned: Cleaned, onset: Onset | None, law: LawFit | None, until: float | None
) -> Signals:
    """Read the signals from the log. `law` is the law on the rows before `until`, whose ceiling R
    approaches; None if it fails.
    """
    series = {name: columns.column_series(table, cleaned, name) for name in columns.AT_ONSET}
    return Signals(
        at_onset=at_onset(onset, cleaned.points, _ceiling(law), series),
        onset_probe=_onset_probe(columns.column_series(table, cleaned, columns.PROBE), cleaned),
        reliability_from_se=_reliability(table, cleaned, until),
        remedy_acted=_mean(columns.column_series(table, cleaned, columns.ACTED)),
    )


def _ceiling(law: LawFit | None) -> Ceiling | None:
    if law is None:
        return None
    identified = identifiability.judge_identifiability(law).ceiling
    return Ceiling(law.spread.ceiling, identified) if law.spread is not None else None


def _onset_probe(probe: ColumnSeries, cleaned: Cleaned) -> Onset | None:
    valid = probe.as_entropy()
    course = onset.bin_entropy(valid.steps, valid.values)
    return onset.find_onset(course, cleaned.points) if course is not None else None


def _mean(series: ColumnSeries) -> float | None:
    return float(series.values.mean()) if len(series) else None


def _reliability(table: LogTable, cleaned: Cleaned, until: float | None) -> float | None:
    """Return 1 - mean of (exp(H) se)^2 / variance of exp(H), over steps with a standard error.

    This is the factor by which least squares shrinks a if H has no other noise (Fuller 1987,
    section 1.2). Steps from `until` on are left out. None below 16 steps, or if H varies less than
    its noise.
    """
    if columns.ENTROPY_SE not in table.names:
        return None
    error = table.columns[columns.ENTROPY_SE][cleaned.rows]
    measured = np.isfinite(error) & (error >= 0)
    if until is not None:
        measured &= cleaned.steps < until
    x = np.exp(cleaned.entropy[measured])
    if len(x) < FEWEST_POINTS or not np.var(x) > 0:
        return None
    noise = float(np.mean((x * error[measured]) ** 2))
    return 1 - noise / float(np.var(x)) if noise < np.var(x) else None
