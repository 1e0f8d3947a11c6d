"""Results of one run, typed: its row of law.json, and the points it was fitted on.

Fields stand in the order of the keys in law.json (law_json.py writes them). A value that could
not be computed is None, never NaN. Steps are training steps, H is in nats, R in reward.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.law.result_parts import Bounded as Bounded
from harness.law.result_parts import (
    CeilingOverForms,
    Forecast,
    LevelEnds,
    ReadProblem,
    Rival,
    Spikes,
    Unfinished,
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
        """An explosion of H begins somewhere too, and is none."""
        return self.kind != "explosion"


@dataclass(frozen=True, slots=True)
class Identified:
    """Whether a and the ceiling are known well enough to be quoted; never of a law that fails."""

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
    """R = -a exp(H) + b on some rows of a run; None where a number could not be computed."""

    n_fitted: int
    """Rows it was fitted on."""
    n_eff: float | None
    """The number of independent rows these are worth."""
    a: Interval | None
    b: Interval | None
    ceiling: Interval | None
    """b - a, the reward at H = 0."""
    cov_ab: float | None
    identified: Identified
    reliability: float | None
    """The same as RunResult.reliability."""
    ols: LeastSquares | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnLaw(LawNumbers):
    """The law on a reward column other than the run's own; its numbers are those of the rows
    that its verdict speaks of, as RunResult's are."""

    n_valid: int
    """Rows with a value in the column."""
    verdict: str
    reasons: Sequence[str]
    out_of_time_skill: float | None
    same_batch: bool
    gain: Interval | None


@dataclass(frozen=True, slots=True)
class StageLaw:
    """The law on the training reward where it met the same users, from step to step."""

    from_step: float
    to_step: float
    what: Mapping[str, float]
    """Column of the curriculum -> its mean."""
    a: Interval | None
    ceiling: Interval | None
    verdict: str
    reasons: Sequence[str]


@dataclass(frozen=True, slots=True)
class AtOnset:
    """The state of a run around its onset."""

    reward_left: Bounded | None
    """Ceiling minus the reward then."""
    columns: Mapping[str, float | None]
    """Columns of metrics.jsonl -> their mean around it; None where the log does not hold one."""


@dataclass(frozen=True, slots=True)
class NetOfNull:
    """A run's fall of H, nats, and gain of R, minus those of its null controls."""

    fall: Interval | None
    gain: Interval | None


@dataclass(frozen=True, slots=True)
class RunResult:
    """One run of law.json (docs/law_json.md); of a failed one, None from `dropped` to `transfer`.

    The numbers of the law (n_fitted, n_eff, a, b, ceiling, cov_ab, identified, reliability, ols)
    are of the rows that the verdict speaks of: those before the onset where the law broke there.
    """

    run: str
    status: str
    """ok or error"""
    error: ReadProblem | None
    n_valid: int | None
    dropped: Mapping[str, int]
    """Rows left out, by reason."""
    reward: str | None = None
    entropy: str | None = None
    n_fitted: int | None = None
    """Rows that the law was fitted on."""
    n_eff: float | None = None
    verdict: str | None = None
    reasons: Sequence[str] | None = None
    regime: str | None = None
    a: Interval | None = None
    b: Interval | None = None
    ceiling: Interval | None = None
    cov_ab: float | None = None
    identified: Identified | None = None
    reliability: float | None = None
    """a by least squares / a by instrumental variable: the reliability of exp(H)."""
    out_of_time_skill: float | None = None
    intervened: bool | None = None
    ols: LeastSquares | None = None
    onset: Onset | None = None
    landmarks: Mapping[str, float | None] | None = None
    """Name -> step (estimate/regime.py); None where the run does not reach it."""
    rivals: Mapping[str, Rival] | None = None
    """Model -> how well it does, the law among them."""
    forecast: Forecast | None = None
    fits: Mapping[str, ColumnLaw] | None = None
    """Other reward column -> the law on it."""
    config: Mapping[str, Any] | None = None
    """The content of config.yaml, of whatever version; `setting` reads a key of it."""
    null_share: Interval | None = None
    level: str | None = None
    seed: int | None = None
    gain: Interval | None = None
    """Reward at the end minus at the start."""
    whole_run: LawNumbers | None = None
    """The same numbers on all rows, where those above are of the rows before the onset."""
    dropped_at: Mapping[str, Sequence[str]] | None = None
    """Reason in `dropped` -> file:line of the first few rows left out for it."""
    noise_driven: bool | None = None
    """Whether the interval of null_share lies above one half; None without a share."""
    net_of_null: NetOfNull | None = None
    silent_share: Interval | None = None
    """Mean share of groups without variance or below the floor, over the run."""
    at_onset: AtOnset | None = None
    onset_probe: Onset | None = None
    """The onset on entropy/probe: of the policy, whatever states the run visits."""
    reliability_from_se: float | None = None
    """1 - noise variance of exp(H), from entropy_se, / its variance: what `reliability` ought to
    be if the law held and all noise were sampling noise."""
    remedy_acted: float | None = None
    """Mean share of tokens that its remedy acted upon; 0: a remedy that never did anything."""
    same_batch: bool | None = None
    """Whether R is of the batch that H was measured on: a policy gradient then makes the law
    likely by itself."""

    against_linear: str | None = None
    """law_better, linear_better or not_distinguishable, by the AICc in `rivals`."""
    difficulty: Mapping[str, Interval] | None = None
    """From the difficulty card of its level: acceptance, need_expression,
    population_final_emotion; None without cards.json."""
    transfer: Mapping[str, LevelEnds] | None = None
    """Named level -> eval/LEVEL/reward at the first evaluation and at the last."""
    unfinished: Unfinished | None = None
    """None of a run that is done, and where no run.json says how it stands."""
    ended_by_rule: int | None = None
    """The step at which trainer.stop_when ended it: what it comes to at its end is of that step,
    and an onset is censored there for a reason that is not chance."""
    checksums: str | None = None
    """all, some or none of its rows have one; None of other programs' logs."""
    validity: Validity | None = None
    """How valid the users are that it trains on, by level; None where run.json does not say."""
    policy_verdict: str | None = None
    """One of POLICY_VERDICTS; None where listening or its anchor was not measured."""
    spikes: Spikes | None = None
    yardsticks: Mapping[str, Yardsticks] | None = None
    """`own` and each named level -> the end of the run there; None where none was evaluated."""
    stages: Sequence[StageLaw] | None = None
    """None where its users did not change in stages."""
    stages_a: str | None = None
    """common or separate: whether the stages can have one a, by `stages_a_p`."""
    stages_a_p: float | None = None
    ceiling_over_forms: CeilingOverForms | None = None
    """The reward at H = 0 where the form of the law is not known; None where it fails."""

    @property
    def until(self) -> float | None:
        """The step before which its law was judged; None where that is the whole run."""
        return self.onset.step if self.whole_run is not None and self.onset is not None else None

    def setting(self, group: str, key: str) -> Any:
        """The value of GROUP.KEY in its config; None where that is not known."""
        return setting(self.config, group, key)


@dataclass(frozen=True, slots=True)
class RunSeries:
    """The cleaned points a run was fitted on, for drawing; shape (n_valid,) unless said."""

    run: str
    label: str
    """Level and seed where the config is known, else the path's last part."""
    level: str
    """Panel the run is drawn in."""
    seed: int | None
    steps: Floats
    entropy: Floats
    reward: Floats
    course_steps: Floats
    """Every step with a valid H, evaluated or not, shape (n_course,)."""
    course_entropy: Floats
    held_out_steps: Floats = field(default_factory=lambda: np.empty(0))
    """Where the log holds the reward on held-out users beside another R, shape (n_held_out,)."""
    held_out_reward: Floats = field(default_factory=lambda: np.empty(0))
