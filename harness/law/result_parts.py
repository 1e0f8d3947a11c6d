"""Parts of the row of a run in law.json, each what another step of an analysis came to.

First intervals, and the arrays that they come from; then what reading the run came to: why it has
no numbers, how it ended, what was put right. Then its end beside what reference policies reach
there, and what other curves, and the law ahead of time, say of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
ERROR_KINDS = ("empty_input", "missing_file", "missing_column", "no_valid_rows", "unreadable")
POLICY_VERDICTS = ("listens", "template", "deaf")
NO_FORECAST = ("no_fit", "a_not_identified", "entropy_unpredictable")


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Bounded:
    """An estimate whose 95% interval may be unknown."""

    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class ReadProblem:
    """Why a run has no numbers."""

    kind: str
    """One of ERROR_KINDS."""
    message: str


@dataclass(frozen=True, slots=True)
class Spikes:
    """Values far from all around them, that the estimates put back among these."""

    entropy: int
    reward: int


@dataclass(frozen=True, slots=True)
class Unfinished:
    """State of a run that is not done, or is done and has lost rows."""

    status: str | None
    """The status in run.json; None where that cannot be read."""
    reason: str | None
    exit_code: int | None
    last_step: int
    """The step of its last row."""
    steps: int | None
    """Planned, where its config says."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A path that is no run of the analysis, or a run kept out of a group, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class LevelEnds:
    """Mean reward at a named level, at the first evaluation and at the last."""

    start: float
    end: float


@dataclass(frozen=True, slots=True)
class Anchors:
    """What reference policies reach at a level, from its difficulty card; None where the card
    does not say. Rewards 0-1, listening in nats.
    """

    deaf: Bounded | None = None
    """The best fixed schedule of strategies, which hears nothing."""
    attentive: Bounded | None = None
    attentive_listening: float | None = None
    optimum: Bounded | None = None
    random: Bounded | None = None


@dataclass(frozen=True, slots=True)
class Yardsticks:
    """The end of a run at one level, mean of the last tenth of its evaluations, beside what
    reference policies reach there. None where it was not measured.
    """

    reward: float | None
    listening: float | None
    """Mutual information of strategy and hidden intention given the reply number, nats."""
    deaf_reward: float | None
    """Reward where the policy hears the words of another user."""
    share: float | None
    """(reward - best deaf schedule) / (optimum - best deaf schedule)"""
    user_se: float | None
    """Standard error of the reward that the choice of held-out users causes: the same in all runs
    that meet them."""
    anchors: Anchors


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
