"""Find the onset of collapse (a sharp fall of log H, or a spent budget) or of an explosion.

Under the law the headroom, the reward still to be gained as a share of that at the start, is
(exp(H_t) - 1) / (exp(H_0) - 1), since a and b cancel. So "10% left" is a threshold on H alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from harness.law.estimate import bins, interval, numbers, segments, spikes
from harness.law.estimate.segments import Knots
from harness.law.io.clean import FEWEST_POINTS, Points
from harness.law.results import Floats, Onset

LEFT_AT_END = 0.20
"""A run with more headroom than this at the end did not collapse."""
SPENT = 0.10
SPENT_FROM, SPENT_TO = 0.125, 0.08
PROFILE_DROP = 8.0
"""Likelihood-ratio threshold of the interval, calibrated by simulation instead of chi-square's
3.84."""
DOUBLED, ROSE = 0.7, 0.4
"""Rise of log H above its trough that is an explosion, and one above both trough and start."""
FELL = 0.35
"""Distance of the trough below the start, in log H, above which H fell before it rose."""
NEAR_TROUGH, RISEN = 0.15, 0.7
"""Shares of the rise of log H: up to the first H is near its trough, from the second on most of the
rise is done."""
FEWEST_BINS = 8
"""Smallest number of bins in which a knot is sought."""
STILL_RISES = 0.25
"""Smallest rise of R after a fall of H, as a share of its gain before, for which the fall is no
collapse: H was spent on reward."""
RISE_IN_NOISE = 0.4
"""Smallest such rise in standard deviations of the noise of one row."""
LEAST_START_NATS = 1e-6
"""A run that starts below it has no entropy to lose."""
LOWEST_SHARE = 1e-3
"""log H is floored at this share of the initial H, because lower values make no difference."""


@dataclass(frozen=True)
class Rise:
    """The rise of H from its trough (smoothed over five bins) to its end (last tenth)."""

    over_trough: float
    """Log H at the end minus log H at the trough."""
    over_start: float
    """Log H at the end minus log H of the first bins; negative if H ends below its start."""
    headroom: float
    """Rise in shares of the initial headroom: doubling a negligible H is no rise."""


@dataclass(frozen=True)
class BinnedEntropy:
    """H in time bins over the run. All arrays have shape (K,)."""

    steps: Floats
    """Mean step of each bin."""
    log_h: Floats
    """Log of the bin's median H."""
    log_start: float
    """Log of the median H of the first bins."""
    headroom: Floats
    """Share of the initial exp(H) - 1 that is left."""
    width: float
    """The width of one bin in steps."""

    @cached_property
    def rise(self) -> Rise:
        """The rise of H from its trough to the end of the run."""
        last = slice(-max(1, len(self.log_h) // 10), None)
        end_log_h, end_headroom = (
            numbers.median(self.log_h[last]),
            numbers.median(self.headroom[last]),
        )
        return Rise(
            end_log_h - float(_smooth(self.log_h).min()),
            end_log_h - self.log_start,
            end_headroom - float(_smooth(self.headroom).min()),
        )


def bin_entropy(steps: Floats, entropy: Floats) -> BinnedEntropy | None:
    """Bin a logged H after removing its glitches; None if it has too few points or starts at 0."""
    return bin_plain_entropy(steps, spikes.without_glitches(entropy))


def bin_plain_entropy(steps: Floats, entropy: Floats) -> BinnedEntropy | None:
    """Bin an H without glitches; None if it has too few points or starts at 0."""
    n = len(steps)
    if n < FEWEST_POINTS:
        return None
    steps, entropy = bins.resample_evenly(steps, entropy)
    binned = bins.for_onset(n)
    h = binned.medians(entropy)
    start = numbers.median(h[: max(1, round(0.02 * len(binned)))])
    if start < LEAST_START_NATS:
        return None
    log_h = np.log(np.maximum(h, LOWEST_SHARE * start))
    headroom = np.expm1(h) / np.expm1(start)
    width = float(np.ptp(steps)) / len(binned)
    return BinnedEntropy(binned.means(steps), log_h, float(np.log(start)), headroom, width)


def find_onset(run: BinnedEntropy, rewards: Points) -> Onset | None:
    """Find the onset of a collapse or an explosion; None if there is none.

    A fall of H after which R (`rewards`) still rises is no collapse.
    """
    explosion = _explosion(run)
    if explosion is not None:
        return explosion
    last = max(1, round(0.05 * len(run.log_h)))
    if numbers.median(run.headroom[-last:]) > LEFT_AT_END:
        return None
    fall = _accelerating_fall(run.log_h)
    if fall is None:
        return _budget_spent(run)
    step = float(run.steps[fall.at[0]])
    return None if _reward_still_rises(rewards, step) else _locate("terminal_fall", run, fall)


def _accelerating_fall(y: Floats) -> Knots | None:
    """Find an accelerating fall of H; None if there is none.

    If both of two knots accelerate, the first may be a bend long before the fall at the second. In
    that case a fit with one knot takes precedence.
    """
    double = segments.two_knots(y)
    falls = double.f > 6 and _accelerates(*double.slopes[:2])
    if falls and not _accelerates(*double.slopes[1:]):
        return double
    single = segments.one_knot(y)
    if single.f > 12 and _accelerates(*single.slopes):
        return single
    return double if falls else None


def _accelerates(before: float, after: float) -> bool:
    return after < 2 * min(before, 0.0) - 0.5


def _locate(kind: str, run: BinnedEntropy, knots: Knots, first: int = 0) -> Onset:
    """Locate the first knot, with its profile-likelihood interval of at least one bin either side.

    `first`: index in the run of the fit's first bin.
    """
    ssr = knots.first_knot
    drop = (len(ssr) - 6) / knots.tau * np.log(ssr / np.min(ssr))
    inside = first + np.flatnonzero(drop <= PROFILE_DROP)
    step = float(run.steps[first + knots.at[0]])
    low = min(float(run.steps[inside[0]]), step) - run.width
    high = max(float(run.steps[inside[-1]]), step) + run.width
    return _clip(kind, run, step, low, high)


def _clip(kind: str, run: BinnedEntropy, step: float, low: float, high: float) -> Onset:
    first, last = run.steps[0] - run.width / 2, run.steps[-1] + run.width / 2
    return Onset(kind, step, max(low, float(first)), min(high, float(last)))


def _reward_still_rises(rewards: Points, step: float) -> bool:
    """Return whether R rises after the fall of H. Then H was spent on reward, as the law predicts,
    and did not collapse.
    """
    before = rewards.reward[rewards.steps < step]
    after = rewards.where(rewards.steps >= step)
    rise = interval.fit_change(after.steps, after.reward)
    if rise is None or len(before) < 2:
        return False
    edge = max(1, len(before) // 10)
    gain = float(before[-edge:].mean() - before[:edge].mean())
    smallest_rise = max(
        STILL_RISES * gain, RISE_IN_NOISE * interval.measure_noise(rewards.reward).sd
    )
    return rise.value > smallest_rise and rise.value > 2.5 * rise.se


def _budget_spent(run: BinnedEntropy) -> Onset | None:
    step = settling_step(run.steps, run.headroom, SPENT)
    if step is None:
        return None
    first = int(np.argmax(run.headroom <= SPENT_FROM))
    low = float(run.steps[first]) - run.width
    end = settling_step(run.steps, run.headroom, SPENT_TO)
    high = float(run.steps[-1]) if end is None else end
    return _clip("budget_spent", run, step, min(low, step), max(high + run.width, step))


def settling_step(steps: Floats, values: Floats, limit: float) -> float | None:
    """Return the interpolated step from which `values` stay at or below `limit`; None if none."""
    above = np.flatnonzero(values > limit)
    if len(above) == 0:
        return float(steps[0])
    k = int(above[-1])
    if k + 1 >= len(values):
        return None
    share = (values[k] - limit) / (values[k] - values[k + 1])
    return float(steps[k] + share * (steps[k + 1] - steps[k]))


def _smooth(values: Floats) -> Floats:
    padded = np.concatenate((values[:1], values[:1], values, values[-1:], values[-1:]))
    return numbers.running_median(padded, 5)


def _explosion(run: BinnedEntropy) -> Onset | None:
    """Find an explosion: H ends at twice its trough, or well above both trough and start.

    The rise must also be at least 0.2 of the initial headroom. None if there is no explosion.
    """
    rise = run.rise
    doubled = rise.over_trough > DOUBLED or min(rise.over_trough, rise.over_start) > ROSE
    if not doubled or rise.headroom < 0.2:
        return None
    if _fell(run):
        return _explosion_after_trough(run)
    single = segments.one_knot(run.log_h)
    if single.f > 12 and _rises_faster(*single.slopes):
        return _locate("explosion", run, single)
    double = segments.two_knots(run.log_h)  # a rise that levels off has no single knot
    if double.f > 6 and _rises_faster(*double.slopes[:2]):
        return _locate("explosion", run, double)
    return _explosion_from_start(run) if rise.over_start > DOUBLED else None


def _fell(run: BinnedEntropy) -> bool:
    """Return whether H fell before it rose, so that the rise begins at the trough."""
    return run.rise.over_trough - run.rise.over_start > FELL


def _explosion_after_trough(run: BinnedEntropy) -> Onset | None:
    """Locate the knot of a broken line between the bin where H comes near its trough and the bin
    where most of the rise is done. The fit excludes the fall before and the new level after.
    """
    smooth, rise = _smooth(run.log_h), run.rise.over_trough
    trough = int(np.argmin(smooth))
    far = smooth > smooth[trough] + NEAR_TROUGH * rise
    risen = trough + int(np.argmax(smooth[trough:] >= smooth[trough] + RISEN * rise))
    before, after = np.flatnonzero(far[:trough]), np.flatnonzero(far[trough:])
    first = int(before[-1]) if len(before) else 0
    trough_end = trough + int(after[0]) if len(after) else len(smooth)
    end = max(risen, trough_end) + segments.EDGE
    end = min(max(end, first + FEWEST_BINS), len(smooth))
    first = max(min(first, end - FEWEST_BINS), 0)
    knots = segments.one_knot(run.log_h[first:end])
    located = _locate("explosion", run, knots, first)
    lowest = float(run.steps[first + int(np.argmin(run.log_h[first:end]))])
    step = max(located.step, lowest)
    return _clip("explosion", run, step, located.low, max(located.high, step + run.width))


def _explosion_from_start(run: BinnedEntropy) -> Onset:
    """Place the onset at the first step: H ends at twice its start, without a knot in its rise.

    The interval ends at the step from which H stays well above its start.
    """
    first = float(run.steps[0])
    above = settling_step(run.steps, -run.log_h, -(run.log_start + ROSE))
    high = float(run.steps[-1]) if above is None else above
    return _clip("explosion", run, first, first - run.width, high + run.width)


def _rises_faster(before: float, after: float) -> bool:
    return after > 2 * max(before, 0.0) + 0.5
