"""Parts of a run's row in law.json: the results of the separate steps of an analysis."""

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
class BoundedEstimate:
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
    """The numbers of isolated outliers in H and R, which the estimates replace by local medians."""

    entropy: int
    reward: int


@dataclass(frozen=True, slots=True)
class UnfinishedRun:
    """The state of a run that is not done, or that is done but lacks rows."""

    status: str | None
    """The status in run.json; None if the file cannot be read."""
    reason: str | None
    exit_code: int | None
    last_step: int
    """The step of its last row."""
    steps: int | None
    """The planned number of steps; None if the config does not state it."""


@dataclass(frozen=True, slots=True)
class SkippedPath:
    """A path that the analysis skipped, or a run kept out of a group, and the reason."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class LevelEnds:
    """Mean reward at a named level, at the first evaluation and at the last."""

    start: float
    end: float


@dataclass(frozen=True, slots=True)
class AnchorRewards:
    """Results of the reference policies at a level, from its difficulty card.

    None where the card lacks a value. Rewards are in [0, 1], listening is in nats.
    """

    deaf: BoundedEstimate | None = None
    """The best fixed schedule of strategies, which ignores the user's words."""
    attentive: BoundedEstimate | None = None
    attentive_listening: float | None = None
    optimum: BoundedEstimate | None = None
    random: BoundedEstimate | None = None


@dataclass(frozen=True, slots=True)
class Yardsticks:
    """The end of a run at one level (mean of the last tenth of its evaluations), and the results
    of the reference policies there. None where a value was not measured.
    """

    reward: float | None
    listening: float | None
    """Mutual information of strategy and hidden intention given the reply number, nats."""
    deaf_reward: float | None
    """Reward of the policy when its input is the words of another user."""
    share: float | None
    """(reward - best deaf schedule) / (optimum - best deaf schedule)"""
    user_se: float | None
    """Standard error of the reward due to the choice of held-out users; runs with the same users
    share this error."""
    anchors: AnchorRewards


@dataclass(frozen=True, slots=True)
class Rival:
    """The scores of one curve through the points of a run (AICc: Hurvich and Tsai 1989)."""

    aicc: float
    delta_aicc: float
    """Its AICc minus the law's."""
    out_of_time_rmse: float
    """Prediction error over the last third of the run, fitted on the first two thirds."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """The reward at the end of a run: predicted by the law of its first part, and observed.

    `low` and `high` are a 95% interval, valid if the law continues. All three are None if no law
    or no course of H can be computed; `low` and `high` are None whenever `why` is set. Errors are
    predicted minus true.
    """

    value: float | None
    low: float | None
    high: float | None
    from_step: float
    """The last step that the forecast uses."""
    identified: bool
    """Whether a was identified by then; without it the forecast is worthless."""
    last_value: float | None
    truth: float | None
    error: float | None
    last_value_error: float | None
    why: str | None
    """The reason why there is no interval, one of NO_FORECAST."""


@dataclass(frozen=True, slots=True)
class CeilingOverForms:
    """The reward at H = 0, averaged over the curves in H that AICc cannot tell apart."""

    value: float
    low: float
    high: float
    """Upper end of the 95% interval; all three are clipped to the reward's range if it is known."""
    weights: Mapping[str, float]
    """Curve, named as in `rivals` -> its weight; weights below .003 are left out."""
    beyond_nats: float
    """The lowest H observed, so the distance of the extrapolation to H = 0."""
    at_bound: bool
    """Whether the interval was clipped to the reward's range."""
