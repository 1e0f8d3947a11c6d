"""The onset of collapse: a sharp fall of log H, or the last of the budget being spent.

Under the law the reward still to be gained, as a share of what there was to gain at the start,
is (exp(H_t) - 1) / (exp(H_0) - 1): a and b cancel. So "10% left" is a threshold on H alone.
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
"""More headroom than this at the end is no collapse."""
SPENT = 0.10
SPENT_FROM, SPENT_TO = 0.125, 0.08
PROFILE_DROP = 8.0
"""Likelihood-ratio threshold of the interval, calibrated by simulation, not chi-square's 3.84."""
DOUBLED, ROSE = 0.7, 0.4
"""In log H: what is an explosion, and what is a rise beyond doubt."""
FELL = 0.35
"""In log H: a trough so far below the start was fallen to."""
NEAR_TROUGH, RISEN = 0.15, 0.7
"""Shares of the rise, in log H: still near the trough, and most of it done."""
FEWEST_BINS = 8
"""Fewest bins that a knot is sought in."""
STILL_RISES = 0.25
"""Rise of R after a fall of H, as a share of its gain before, that says what H was spent on."""
RISE_IN_NOISE = 0.4
"""The same in standard deviations of the noise of one row, at least."""
LEAST_START_NATS = 1e-6
"""A run that starts below it has no entropy to lose."""
LOWEST_SHARE = 1e-3
"""log H is floored at this share of the initial H: below it, nothing more is lost."""


@dataclass(frozen=True)
class Rise:
    """The height at which H ends (last tenth) above its trough (smoothed over five bins)."""

    over_trough: float
    """In log H."""
    over_start: float
    """In log H, above the first bins; negative where H ends below them."""
    headroom: float
    """In shares of the initial headroom: a doubling of next to nothing is no rise."""


@dataclass(frozen=True)
class BinnedEntropy:
    """H in time bins over the run. All arrays have shape (K,)."""

    steps: Floats
    """Mean step of each bin."""
    log_h: Floats
    """Log of the bin's median H."""
    log_start: float
    """The same of the first bins."""
    headroom: Floats
    """Share of the initial exp(H) - 1 that is left."""
    width: float
    """Steps of one bin."""

    @cached_property
    def rise(self) -> Rise:
        """At the end."""
        last = slice(-max(1, len(self.log_h) // 10), None)
        end, regained = numbers.median(self.log_h[last]), numbers.median(self.headroom[last])
        return Rise(
            end - float(_smooth(self.log_h).min()),
            end - self.log_start,
            regained - float(_smooth(self.headroom).min()),
        )


def course(steps: Floats, entropy: Floats) -> BinnedEntropy | None:
    """H as it was logged, in bins; None where it has too few points, or none was there to begin
    with.
    """
    return plain_course(steps, spikes.without_glitches(entropy))


def plain_course(steps: Floats, entropy: Floats) -> BinnedEntropy | None:
    """The same of an H that holds no glitches."""
    n = len(steps)
    if n < FEWEST_POINTS:
        return None
    steps, entropy = bins.evenly(steps, entropy)
    binned = bins.for_onset(n)
    h = binned.medians(entropy)
    start = numbers.median(h[: max(1, round(0.02 * len(binned)))])
    if start < LEAST_START_NATS:
        return None
    log_h = np.log(np.maximum(h, LOWEST_SHARE * start))
    headroom = np.expm1(h) / np.expm1(start)
    width = float(np.ptp(steps)) / len(binned)
    return BinnedEntropy(binned.means(steps), log_h, float(np.log(start)), headroom, width)


def find(run: BinnedEntropy, rewards: Points) -> Onset | None:
    """The onset of collapse or explosion; `rewards` decide whether a fall of H was useful."""
    explosion = _explosion(run)
    if explosion is not None:
        return explosion
    last = max(1, round(0.05 * len(run.log_h)))
    if numbers.median(run.headroom[-last:]) > LEFT_AT_END:
        return None
    fall = _accelerating(run.log_h)
    if fall is None:
        return _budget_spent(run)
    step = float(run.steps[fall.at[0]])
    return None if _reward_still_rises(rewards, step) else _located("terminal_fall", run, fall)


def _accelerating(y: Floats) -> Knots | None:
    """Finds the fall of H. Of two knots that accelerate the first may be a bend of H, long before
    a fall that the second has: then one knot decides.
    """
    two = segments.two_knots(y)
    falls = two.f > 6 and _accelerates(*two.slopes[:2])
    if falls and not _accelerates(*two.slopes[1:]):
        return two
    one = segments.one_knot(y)
    if one.f > 12 and _accelerates(*one.slopes):
        return one
    return two if falls else None


def _accelerates(before: float, after: float) -> bool:
    return after < 2 * min(before, 0.0) - 0.5


def _located(kind: str, run: BinnedEntropy, knots: Knots, first: int = 0) -> Onset:
    """The first knot with its profile-likelihood interval, at least one bin to each side.

    `first`: the bin of the run that is bin 0 of the fit.
    """
    ssr = knots.first_knot
    drop = (len(ssr) - 6) / knots.tau * np.log(ssr / np.min(ssr))
    inside = first + np.flatnonzero(drop <= PROFILE_DROP)
    step = float(run.steps[first + knots.at[0]])
    low = min(float(run.steps[inside[0]]), step) - run.width
    high = max(float(run.steps[inside[-1]]), step) + run.width
    return _clipped(kind, run, step, low, high)


def _clipped(kind: str, run: BinnedEntropy, step: float, low: float, high: float) -> Onset:
    first, last = run.steps[0] - run.width / 2, run.steps[-1] + run.width / 2
    return Onset(kind, step, max(low, float(first)), min(high, float(last)))


def _reward_still_rises(rewards: Points, step: float) -> bool:
    """Then H was consumed for reward, as the law has it, and did not collapse."""
    before = rewards.reward[rewards.steps < step]
    after = rewards.where(rewards.steps >= step)
    rise = interval.move(after.steps, after.reward)
    if rise is None or len(before) < 2:
        return False
    edge = max(1, len(before) // 10)
    gain = float(before[-edge:].mean() - before[:edge].mean())
    least = max(STILL_RISES * gain, RISE_IN_NOISE * interval.wobble(rewards.reward).sd)
    return rise.value > least and rise.value > 2.5 * rise.se


def _budget_spent(run: BinnedEntropy) -> Onset | None:
    step = settles(run.steps, run.headroom, SPENT)
    if step is None:
        return None
    first = int(np.argmax(run.headroom <= SPENT_FROM))
    low = float(run.steps[first]) - run.width
    end = settles(run.steps, run.headroom, SPENT_TO)
    high = float(run.steps[-1]) if end is None else end
    return _clipped("budget_spent", run, step, min(low, step), max(high + run.width, step))


def settles(steps: Floats, values: Floats, limit: float) -> float | None:
    """The step from which `values` stay at or below `limit`, interpolated; None if they do not."""
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
    """H ends at twice its trough or well above trough and start, by a share that counts."""
    end = run.rise
    doubled = end.over_trough > DOUBLED or min(end.over_trough, end.over_start) > ROSE
    if not doubled or end.headroom < 0.2:
        return None
    if _fell(run):
        return _after_the_trough(run)
    one = segments.one_knot(run.log_h)
    if one.f > 12 and _rises_faster(*one.slopes):
        return _located("explosion", run, one)
    two = segments.two_knots(run.log_h)  # a rise that levels off has no single knot
    if two.f > 6 and _rises_faster(*two.slopes[:2]):
        return _located("explosion", run, two)
    return _from_the_start(run) if end.over_start > DOUBLED else None


def _fell(run: BinnedEntropy) -> bool:
    """Whether H fell before it rose: then the rise begins at the trough, not at the first step."""
    return run.rise.over_trough - run.rise.over_start > FELL


def _after_the_trough(run: BinnedEntropy) -> Onset | None:
    """The knot of a broken line from where H comes near its trough to where most of the rise is
    done: neither the fall before nor what H does on its new level bends it.
    """
    smooth, rise = _smooth(run.log_h), run.rise.over_trough
    trough = int(np.argmin(smooth))
    far = smooth > smooth[trough] + NEAR_TROUGH * rise
    risen = trough + int(np.argmax(smooth[trough:] >= smooth[trough] + RISEN * rise))
    before, after = np.flatnonzero(far[:trough]), np.flatnonzero(far[trough:])
    first = int(before[-1]) if len(before) else 0
    left = trough + int(after[0]) if len(after) else len(smooth)
    beyond = max(risen, left) + segments.EDGE
    beyond = min(max(beyond, first + FEWEST_BINS), len(smooth))
    first = max(min(first, beyond - FEWEST_BINS), 0)
    knots = segments.one_knot(run.log_h[first:beyond])
    found = _located("explosion", run, knots, first)
    lowest = float(run.steps[first + int(np.argmin(run.log_h[first:beyond]))])
    at = max(found.step, lowest)
    return _clipped("explosion", run, at, found.low, max(found.high, at + run.width))


def _from_the_start(run: BinnedEntropy) -> Onset:
    """H ends at twice its start, and nothing shows that it kept its start for a while.

    The interval ends where H comes to stay well above its start: by then it rises.
    """
    first = float(run.steps[0])
    above = settles(run.steps, -run.log_h, -(run.log_start + ROSE))
    high = float(run.steps[-1]) if above is None else above
    return _clipped("explosion", run, first, first - run.width, high + run.width)


def _rises_faster(before: float, after: float) -> bool:
    return after > 2 * max(before, 0.0) + 0.5
