"""The numbers of figures of runs: binned points, the fitted curve with its band, the ceiling.

They are computed once, then drawn and written to the picture's CSV, so that the two agree.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from harness.law.estimate import bins, estimate, interval
from harness.law.group_results import Analysis
from harness.law.results import Floats, Interval, Onset, RunResult, RunSeries
from harness.report.figures.medians import NullControls
from harness.report.text import findings, naming

Bools = NDArray[np.bool_]
STEP, SHARE = "step", "share"
FLATTENED = 0.1
"""Share of the axis below which a typical run would be unreadable."""


@dataclass(frozen=True)
class TimeAxis:
    """The unit of time in figures: steps, or shares of each run."""

    unit: str = STEP
    """STEP or SHARE."""
    spans: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Run -> first and last step; needed for shares."""

    def series(self, in_steps: RunSeries) -> RunSeries:
        """Return the series in the clock's unit."""
        if self.unit == STEP:
            return in_steps
        steps, course, held_out = (
            self._to_shares(in_steps.run, s)
            for s in (in_steps.steps, in_steps.course_steps, in_steps.held_out_steps)
        )
        return replace(in_steps, steps=steps, course_steps=course, held_out_steps=held_out)

    def onset(self, run: str, in_steps: Onset | None) -> Onset | None:
        """Return the onset in the clock's unit."""
        if in_steps is None or self.unit == STEP:
            return in_steps
        first, last = self.spans[run]
        length = (last - first) or 1.0
        step, low, high = (
            (s - first) / length for s in (in_steps.step, in_steps.low, in_steps.high)
        )
        return replace(in_steps, step=step, low=low, high=high)

    def _to_shares(self, run: str, steps: Floats) -> Floats:
        first, last = self.spans[run]
        shares: Floats = (steps - first) / ((last - first) or 1.0)
        return shares


STEPS = TimeAxis()


def common_time_axis(runs: Iterable[RunSeries]) -> TimeAxis:
    """Return steps, unless half of the runs would each take less than FLATTENED of the axis."""
    spans = {r.run: (float(r.course_steps.min()), float(r.course_steps.max())) for r in runs}
    lengths = [last - first for first, last in spans.values() if last > first]
    if not lengths:
        return STEPS
    axis = max(last for _, last in spans.values()) - min(first for first, _ in spans.values())
    return TimeAxis(SHARE, spans) if statistics.median_low(lengths) < FLATTENED * axis else STEPS


MOST_POINTS = 100
"""The most time bins of a run: more points would overlap."""
CURVE_POINTS = 120


@dataclass(frozen=True)
class BinnedPoints:
    """Means over time bins, shape (bins,) with at most MOST_POINTS bins."""

    steps: Floats
    entropy: Floats
    reward: Floats


@dataclass(frozen=True)
class EntropySeries:
    """H at every step at which it was measured, even if R was not. Shape (bins,)."""

    steps: Floats
    entropy: Floats


@dataclass(frozen=True)
class HeldOutSeries:
    """The reward on held-out users, if R is another column. Shape (bins,), as BinnedPoints."""

    steps: Floats
    reward: Floats


@dataclass(frozen=True)
class LawCurve:
    """R = -a*exp(H) + b with its pointwise 95% band. All arrays have shape (CURVE_POINTS,)."""

    entropy: Floats
    reward: Floats
    low: Floats
    high: Floats
    identified: bool
    """True if a is identified; if not, the curve is drawn as a guess."""


@dataclass(frozen=True)
class LinearRival:
    """The rival linear in H, from the lowest to the highest H drawn. Arrays of shape (2,)."""

    entropy: Floats
    reward: Floats


@dataclass(frozen=True)
class Trace:
    """A run in a figure."""

    run: str
    legend: str
    slot: int
    """Number of its colour and marker, the same for equal legend entries in all panels."""
    points: BinnedPoints
    course: EntropySeries
    curve: LawCurve | None
    straight: LinearRival | None
    residual: Floats | None
    """R minus the law, in the bins of `points`; None without a fit."""
    ceiling: Interval | None
    ceiling_identified: bool
    onset: Onset | None
    until_onset: bool
    """True if curve, line and ceiling are of the points before the onset only."""
    held_out: HeldOutSeries | None = None

    @property
    def after_onset(self) -> Bools:
        """True for points after the onset. Shape (bins,)."""
        if self.onset is None:
            return np.zeros(len(self.points.steps), bool)
        return self.points.steps >= self.onset.step

    @property
    def unjudged(self) -> Bools:
        """True for points that the law was not judged on. Shape (bins,)."""
        return self.after_onset & self.until_onset


@dataclass(frozen=True)
class RunPanel:
    """A level: its runs and the findings."""

    level: str
    law_finding: str
    onset_finding: str
    traces: tuple[Trace, ...]
    null_controls: NullControls | None = None


def panels(
    analysis: Analysis, runs: Sequence[RunResult], clock: TimeAxis = STEPS
) -> tuple[RunPanel, ...]:
    """Return a panel per level, in the order of levels; seeds ascend within a panel."""
    with_rows = [run for run in runs if run.run in analysis.series]
    legends = naming.legends(analysis, with_rows)
    slots = {legend: i for i, legend in enumerate(sorted(set(legends.values()), key=_number_key))}
    run_panels = []
    for level, members in naming.by_level(analysis, with_rows).items():
        traces = [
            _trace(analysis.series[run.run], run, legends[run.run], slots[legends[run.run]], clock)
            for run in members
        ]
        run_panels.append(
            RunPanel(
                level,
                findings.law_finding(analysis, members),
                findings.onset_finding(analysis, members),
                tuple(sorted(traces, key=lambda trace: trace.slot)),
            )
        )
    return tuple(run_panels)


def binned(series: RunSeries, most: int = MOST_POINTS) -> BinnedPoints:
    """Return means over at most `most` time bins of equal counts."""
    return BinnedPoints(*_bin_means(most, series.steps, series.entropy, series.reward))


def course(series: RunSeries, most: int = MOST_POINTS) -> EntropySeries:
    """Return the course of H, binned like the points."""
    return EntropySeries(*_bin_means(most, series.course_steps, series.course_entropy))


def held_out(series: RunSeries, most: int = MOST_POINTS) -> HeldOutSeries | None:
    """Return the binned reward on held-out users; None if it is R or was not logged."""
    if not len(series.held_out_steps):
        return None
    return HeldOutSeries(*_bin_means(most, series.held_out_steps, series.held_out_reward))


def _bin_means(most: int, *arrays: Floats) -> list[Floats]:
    n = len(arrays[0])
    time_bins = bins.equal_bins(n, min(n, most)) if n else None
    return [time_bins.means(values) if time_bins else values for values in arrays]


def curve(series: RunSeries, run: RunResult) -> LawCurve | None:
    """Return the fitted law from H = 0 to the highest point drawn, or None without a fit."""
    law = findings.law(run)
    if law.a is None or law.b is None or law.ceiling is None:
        return None
    entropy = np.linspace(0.0, float(binned(series).entropy.max()), CURVE_POINTS)
    x = np.exp(entropy)
    reward = law.b.value - law.a.value * x
    half_width = band(
        law.a, law.b, law.ceiling, x, _least_half_width(findings.judged_part(series, law), run)
    )
    return LawCurve(entropy, reward, reward - half_width, reward + half_width, law.a_identified)


def straight(series: RunSeries, run: RunResult) -> LinearRival | None:
    """Return the least-squares line of R on H over the judged bins; None without rivals."""
    points = findings.judged_part(series, findings.law(run))
    fit_bins = bins.for_fit(len(points.steps))
    h, r = fit_bins.means(points.entropy), fit_bins.means(points.reward)
    line = estimate.least_squares(h, r) if run.rivals else None
    if line is None:
        return None
    drawn = binned(points).entropy
    ends = np.array([drawn.min(), drawn.max()])
    return LinearRival(ends, line.b - line.a * ends)


def residual(series: RunSeries, run: RunResult) -> Floats | None:
    """Return means of R - (b - a exp(H)) over the bins of `binned`; None without a fit."""
    run_residuals = residuals(series, run)
    return None if run_residuals is None else _bin_means(MOST_POINTS, run_residuals)[0]


def residuals(series: RunSeries, run: RunResult) -> Floats | None:
    """Return R - (b - a exp(H)) of every point by the judged law; None without a fit."""
    law = findings.law(run)
    if law.a is None or law.b is None:
        return None
    return series.reward - (law.b.value - law.a.value * np.exp(series.entropy))


def band(a: Interval, b: Interval, ceiling: Interval, x: Floats, least: float) -> Floats:
    """Return the pointwise 95% half-width of b - a*x, at least `least`. Shape of `x`.

    It is exact if the intervals come from one covariance, which they may not: `least` is the
    half-width below which no interval of the run's own points can fall.
    """
    return np.maximum(interval.band(a, b, ceiling, x), least)


def _least_half_width(series: RunSeries, run: RunResult) -> float:
    """Return 1.96 sd / sqrt(n_eff) of the residuals: the half-width of a mean of R at best."""
    run_residuals, n_eff = residuals(series, run), findings.law(run).n_eff
    if run_residuals is None or not n_eff:
        return 0.0
    return 1.96 * float(run_residuals.std()) / math.sqrt(n_eff)


def _trace(series: RunSeries, run: RunResult, legend: str, slot: int, clock: TimeAxis) -> Trace:
    law, in_time = findings.law(run), clock.series(series)
    return Trace(
        run.run,
        legend,
        slot,
        binned(in_time),
        course(in_time),
        curve(series, run),
        straight(series, run),
        residual(series, run),
        law.ceiling,
        law.ceiling_identified,
        clock.onset(run.run, run.onset),
        law.until is not None,
        held_out(in_time),
    )


def _number_key(legend: str) -> tuple[int, str]:
    """Return a sort key: `seed 2` before `seed 10`, and names by the number they begin with."""
    match = re.match(r"(?:seed )?(\d{1,9})", legend, re.ASCII)
    return (int(match[1]) if match else -1, legend)
