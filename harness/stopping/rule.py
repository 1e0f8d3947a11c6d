"""Advise whether to stop a run, by a forecast of what it may still gain.

The rule is causal: it uses only the rows so far and the planned number of steps. All numbers are in
the unit of the reward, so the advice for s R + c, whose range is s times as wide, is that for R.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from harness.stopping import curve as curves
from harness.stopping.calibration import StopRuleCalibration, load_shipped
from harness.stopping.curve import CurveStatistics, RewardCurve, RewardRange

RULES = ("flat", "collapsed")
MOST_LOSS = 0.01
"""Expected loss below which the advice is to stop, as a share of the reward's range."""
BIG_LOSS = 0.05
"""A loss that should be rare after a stop, as a share of the reward's range."""
MARGIN = 0.02
"""The gain whose probability is reported, as a share of the reward's range."""
SPENT = 0.25
"""Share of the starting entropy below which the reason mentions it."""
STILL_RISING = 4.0
"""Number of standard errors subtracted from the slope in the test for a rise."""
POOLED = 3
"""Weight, in second differences, of the noise of other runs when pooled with the run's own."""
FELL = 3.0
"""A reward has fallen if its level is below its best by more than this many times its noise."""
AHEAD = 2.0
"""Factor on the current step that replaces the last planned step if that is not known."""


@dataclass(frozen=True)
class StopAdvice:
    """The advice after the rows so far. Numbers are None if there are too few rows."""

    word: str
    """`watch` (no advice), `go on`, `flat` or `collapsed` (the reward fell); the last two advise
    to stop."""
    reason: str
    step: int
    reading: CurveStatistics | None = None
    expected_gain: float | None = None
    """Expected final reward minus the newest one."""
    expected_loss: float | None = None
    """The expected cost of a stop here: the expected gain, or 0 if it is negative."""
    margin: float | None = None
    p_gain: tuple[float, float, float] | None = None
    """P(the final reward exceeds the newest by the margin), and its 95% interval."""
    final: tuple[float, float] | None = None
    """90% interval of the final reward."""

    @property
    def stops(self) -> bool:
        """Whether the advice is to stop."""
        return self.word in RULES

    def obeys(self, rule: str) -> bool:
        """Return whether a run with `trainer.stop_when=rule` stops here."""
        return self.word == rule or (rule == "flat" and self.stops)


def advise(
    curve: RewardCurve,
    last_step: float | None,
    reward_range: RewardRange | None = None,
    calibration: StopRuleCalibration | None = None,
) -> StopAdvice:
    """Return the advice after the rows of `curve`.

    `last_step`: the last planned step, None if not known. `reward_range`: [0, 1] by default.
    """
    constants = load_shipped() if calibration is None else calibration
    reward_range = RewardRange() if reward_range is None else reward_range
    step = int(curve.steps[-1]) if len(curve.steps) else 0
    reading = curves.summarise(
        curve, AHEAD * step if last_step is None else last_step, reward_range
    )
    if isinstance(reading, str):
        return StopAdvice("watch", reading, step)
    if reward_range.width <= 0:
        return StopAdvice("watch", "the range of R is not known, use --reward-range", step)
    gain, spread = forecast(reading, reward_range, constants)
    margin = MARGIN * reward_range.width
    low, high = constants.quantiles
    risk = exceeds(BIG_LOSS * reward_range.width, gain, spread)
    word, reason = _decide(reading, gain, risk > constants.most_risk, reward_range)
    return StopAdvice(
        word=word,
        reason=reason,
        step=step,
        reading=reading,
        expected_gain=gain,
        expected_loss=max(gain, 0.0),
        margin=margin,
        p_gain=constants.came_true(exceeds(margin, gain, spread)),
        final=(reading.now + gain + low * spread, reading.now + gain + high * spread),
    )


def forecast(
    reading: CurveStatistics, reward_range: RewardRange, calibration: StopRuleCalibration
) -> tuple[float, float]:
    """Return mean and standard deviation of the final reward minus the newest one.

    The model: each e-fold of the steps gains a share of the room, which is larger with more entropy
    left, and the newest reward returns to its level.
    """
    means, spreads = terms(reading, calibration.noise * reward_range.width)
    weights = (calibration.room, calibration.room_entropy, calibration.level)
    spread_weights = (calibration.spread_noise, calibration.spread_room, calibration.spread_fallen)
    gain = sum(weight * term for weight, term in zip(weights, means, strict=True))
    return gain, math.hypot(
        *(weight * term for weight, term in zip(spread_weights, spreads, strict=True))
    )


def terms(reading: CurveStatistics, noise: float) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the terms of the expected gain (linear) and those of its spread (added in squares).

    `noise`: that of an evaluation in other runs. The spread is that of a random walk in the
    logarithm of the steps, so it grows with its square root.
    """
    count = reading.evaluations - 3
    pooled = math.sqrt((count * reading.noise**2 + POOLED * noise**2) / (count + POOLED))
    room_ahead = reading.room * reading.log_left
    means = (room_ahead, room_ahead * reading.entropy_left, reading.level - reading.now)
    return means, (pooled, reading.room * math.sqrt(reading.log_left), reading.fallen)


def still_rises(reading: CurveStatistics, reward_range: RewardRange) -> bool:
    """Return whether the lower limit of the slope, if continued, gains at least MOST_LOSS."""
    lowest_slope = reading.slope - STILL_RISING * reading.slope_se
    return lowest_slope * reading.log_left >= MOST_LOSS * reward_range.width


def exceeds(margin: float, mean: float, sd: float) -> float:
    """Return P(a normal variable exceeds the margin)."""
    return float(mean > margin) if sd <= 0 else _below((mean - margin) / sd)


def _below(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))


def _decide(
    reading: CurveStatistics, gain: float, is_risky: bool, reward_range: RewardRange
) -> tuple[str, str]:
    limit, big_loss = MOST_LOSS * reward_range.width, BIG_LOSS * reward_range.width
    loss_text = f"expected loss {max(gain, 0.0):.3g}"
    if not gain < limit:
        return "go on", f"{loss_text}, not below {limit:.3g}"
    if still_rises(reading, reward_range):
        return "go on", f"{loss_text}, but the reward is still rising"
    if is_risky:
        return "go on", f"{loss_text}, but a gain above {big_loss:.3g} is still likely enough"
    below_text = f"{loss_text}, below {limit:.3g}"
    is_spent = reading.entropy_left < SPENT
    entropy_note = f"; entropy is at {reading.entropy_left:.0%} of its start" if is_spent else ""
    has_fallen = reading.fallen > max(FELL * reading.noise, MARGIN * reward_range.width)
    if has_fallen and (is_spent or gain <= 0):
        return (
            "collapsed",
            f"{below_text}; the reward is {reading.fallen:.3g} below its best{entropy_note}",
        )
    return "flat", f"{below_text}{entropy_note}"
