"""Typed results of one run: its row of law.json, and the points the law was fitted on.

Fields are in the order of the keys in law.json (law_json.py writes them). A value that could not
be computed is None, never NaN. Steps are training steps, H is in nats, R in units of the reward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.law.result_parts import BoundedEstimate as BoundedEstimate
from harness.law.result_parts import (
    CeilingOverForms,
    Forecast,
    LevelEnds,
    ReadProblem,
    Rival,
    Spikes,
    UnfinishedRun,
    Yardsticks,
)
from harness.law.result_parts import Floats as Floats
from harness.law.result_parts import Interval as Interval
from harness.law.settings import setting
from harness.records.validity import Validity

VERDICTS = ("holds", "holds_form_open", "linear", "holds_until_onset", "fails", "undetermined")
REGIMES = ("exploded", "starved", "collapsed", "spent", "learning", "drifting")


@dataclass(frozen=True, slots=True)
class Onset:
    """The step at which collapse (or explosion) begins, with its 95% interval."""

    kind: str
    """terminal_fall, budget_spent or explosion"""
    step: float
    low: float
    high: float

    @property
    def is_collapse(self) -> bool:
        """True unless the onset is that of an explosion of H."""
        return self.kind != "explosion"


@dataclass(frozen=True, slots=True)
class Identifiability:
    """Whether a and the ceiling are known well enough to be quoted; both False if the law fails."""

    a: bool
    ceiling: bool


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """Plain least squares of R on exp(H), as the paper fits it."""

    a: float
    b: float
    r2: float


@dataclass(frozen=True, slots=True)
class LawNumbers:
    """R = -a exp(H) + b fitted to rows of a run; None where a number could not be computed."""

    n_fitted: int
    """The number of rows the law was fitted on."""
    n_eff: float | None
    """The effective number of independent rows."""
    a: Interval | None
    b: Interval | None
    ceiling: Interval | None
    """b - a, the reward at H = 0."""
    cov_ab: float | None
    identified: Identifiability
    reliability: float | None
    """As RunResult.reliability."""
    ols: LeastSquares | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnLaw(LawNumbers):
    """The law on a reward column other than the run's own.

    As in RunResult, the numbers come from the rows that the verdict refers to.
    """

    n_valid: int
    """The number of rows with a value in the column."""
    verdict: str
    reasons: Sequence[str]
    out_of_time_skill: float | None
    same_batch: bool
    gain: Interval | None


@dataclass(frozen=True, slots=True)
class StageLaw:
    """The law on the training reward within one stage of a curriculum."""

    from_step: float
    to_step: float
    what: Mapping[str, float]
    """Curriculum column -> its mean over the stage."""
    a: Interval | None
    ceiling: Interval | None
    verdict: str
    reasons: Sequence[str]


@dataclass(frozen=True, slots=True)
class AtOnset:
    """The state of a run around its onset."""

    reward_left: BoundedEstimate | None
    """Ceiling minus the reward around the onset."""
    columns: Mapping[str, float | None]
    """Column of metrics.jsonl -> its mean around the onset; None if the log lacks the column."""


@dataclass(frozen=True, slots=True)
class NetOfNull:
    """A run's fall of H, nats, and gain of R, minus those of its null controls."""

    fall: Interval | None
    gain: Interval | None


@dataclass(frozen=True, slots=True)
class RunResult:
    """One run of law.json (docs/law_json.md).

    The numbers of the law (n_fitted, n_eff, a, b, ceiling, cov_ab, identified, reliability, ols)
    come from the rows that the verdict refers to: those before the onset if the law broke there.
    For a run with status error, the fields from `reward` to `transfer` are None.
    """

    run: str
    status: str
    """ok or error"""
    error: ReadProblem | None
    n_valid: int | None
    dropped: Mapping[str, int]
    """Reason -> the number of rows left out for it."""
    reward: str | None = None
    entropy: str | None = None
    n_fitted: int | None = None
    """The number of rows the law was fitted on."""
    n_eff: float | None = None
    verdict: str | None = None
    reasons: Sequence[str] | None = None
    regime: str | None = None
    a: Interval | None = None
    b: Interval | None = None
    ceiling: Interval | None = None
    cov_ab: float | None = None
    identified: Identifiability | None = None
    reliability: float | None = None
    """The reliability of exp(H): a by least squares / a by instrumental variable."""
    out_of_time_skill: float | None = None
    intervened: bool | None = None
    ols: LeastSquares | None = None
    onset: Onset | None = None
    landmarks: Mapping[str, float | None] | None = None
    """Name -> step (estimate/regime.py); None if the run does not reach it."""
    rivals: Mapping[str, Rival] | None = None
    """Model -> its scores; the law is one of the models."""
    forecast: Forecast | None = None
    fits: Mapping[str, ColumnLaw] | None = None
    """Other reward column -> the law on it."""
    config: Mapping[str, Any] | None = None
    """The content of config.yaml, of any version; read a key with `setting`."""
    null_share: Interval | None = None
    level: str | None = None
    seed: int | None = None
    gain: Interval | None = None
    """Reward at the end minus at the start."""
    whole_run: LawNumbers | None = None
    """The law on all rows, where the numbers above come from the rows before the onset."""
    dropped_at: Mapping[str, Sequence[str]] | None = None
    """Reason in `dropped` -> location (file:line) of the first few rows left out for it."""
    noise_driven: bool | None = None
    """Whether the interval of null_share lies above one half; None if null_share is None."""
    net_of_null: NetOfNull | None = None
    silent_share: Interval | None = None
    """Mean over the run of the share of groups whose variance is zero or below the floor."""
    at_onset: AtOnset | None = None
    onset_probe: Onset | None = None
    """The onset on entropy/probe, which does not depend on the states that the run visits."""
    reliability_from_se: float | None = None
    """1 - noise variance of exp(H) (from entropy_se) / variance of exp(H): the value of
    `reliability` expected if the law holds and all noise is sampling noise."""
    remedy_acted: float | None = None
    """Mean share of tokens that the remedy acted on; 0 if it never acted."""
    same_batch: bool | None = None
    """Whether R and H were measured on the same batch; a policy gradient alone then makes the law
    likely."""

    against_linear: str | None = None
    """law_better, linear_better or not_distinguishable, by the AICc in `rivals`."""
    difficulty: Mapping[str, Interval] | None = None
    """acceptance, need_expression and population_final_emotion from the difficulty card of the
    run's level; None without cards.json."""
    transfer: Mapping[str, LevelEnds] | None = None
    """Named level -> eval/LEVEL/reward at the first evaluation and at the last."""
    unfinished: UnfinishedRun | None = None
    """None if the run is done, or if there is no run.json."""
    ended_by_rule: int | None = None
    """The step at which trainer.stop_when ended the run. The end values belong to that step, and
    the onset is censored there for a reason that is not chance."""
    checksums: str | None = None
    """Whether all, some or none of the rows have a checksum; None for logs of other programs."""
    validity: Validity | None = None
    """Validity of the simulated users, by level; None if run.json does not hold it."""
    policy_verdict: str | None = None
    """One of POLICY_VERDICTS; None if listening or its anchor was not measured."""
    spikes: Spikes | None = None
    yardsticks: Mapping[str, Yardsticks] | None = None
    """`own` and each named level -> the end of the run there; None if none was evaluated."""
    stages: Sequence[StageLaw] | None = None
    """None if the users did not change in stages."""
    stages_a: str | None = None
    """common or separate: whether all stages can share one a, by `stages_a_p`."""
    stages_a_p: float | None = None
    ceiling_over_forms: CeilingOverForms | None = None
    """The reward at H = 0 averaged over forms of the law; None if the law fails."""

    @property
    def until(self) -> float | None:
        """The step before which the law was judged; None if it was judged on the whole run."""
        return self.onset.step if self.whole_run is not None and self.onset is not None else None

    def setting(self, group: str, key: str) -> Any:
        """Return the value of GROUP.KEY in the config; None if it is not known."""
        return setting(self.config, group, key)


@dataclass(frozen=True, slots=True)
class RunSeries:
    """The cleaned points a run was fitted on, for figures; shape (n_valid,) unless stated."""

    run: str
    label: str
    """Level and seed if the config is known, else the last part of the path."""
    level: str
    """The panel in which figures draw the run."""
    seed: int | None
    steps: Floats
    entropy: Floats
    reward: Floats
    course_steps: Floats
    """All steps with a valid H, with or without an evaluation, shape (n_course,)."""
    course_entropy: Floats
    held_out_steps: Floats = field(default_factory=lambda: np.empty(0))
    """Steps with a reward on held-out users, if R is another column; shape (n_held_out,)."""
    held_out_reward: Floats = field(default_factory=lambda: np.empty(0))
