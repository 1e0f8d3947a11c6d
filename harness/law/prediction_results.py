"""What other curves, and the law ahead of time, say of a run: parts of its row of law.json."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

NO_FORECAST = ("no_fit", "a_not_identified", "entropy_unpredictable")


@dataclass(frozen=True, slots=True)
class Rival:
    """The score of another curve through the same points (Hurvich and Tsai 1989)."""

    aicc: float
    delta_aicc: float
    """Its AICc minus the law's."""
    out_of_time_rmse: float
    """Error over the last third of the run, fitted on what comes before."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """The reward at the end of a run by the law of its first part, and what came.

    value, low and high (95%, if the law continues) are None where no law or no course of H can be
    computed, low and high also where `why` says so; errors are predicted minus true.
    """

    value: float | None
    low: float | None
    high: float | None
    from_step: float
    """The last step that the forecast knows of."""
    identified: bool
    """Whether a was by then, without which a forecast is worth nothing."""
    last_value: float | None
    truth: float | None
    error: float | None
    last_value_error: float | None
    why: str | None
    """Why there is no interval, one of NO_FORECAST."""


@dataclass(frozen=True, slots=True)
class CeilingOverForms:
    """The reward at H = 0, averaged over the curves in H that AICc cannot tell apart."""

    value: float
    low: float
    high: float
    """95% interval; all three within the reward's range where that is known."""
    weights: Mapping[str, float]
    """Curve, as in `rivals` -> its weight; those below .003 are left out."""
    beyond_nats: float
    """The lowest H seen: as far below it H = 0 lies."""
    at_bound: bool
    """Whether the interval ends at the reward's range."""
