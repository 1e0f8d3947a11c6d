"""What the law stage says of a run, of a group of runs, and of a whole analysis.

The fields of RunResult and GroupResult are the keys of law.json, in order; `to_json` only
renames `kind` of an error to `class`. A value nobody could compute is None, never NaN.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

SCHEMA = 1
VERDICTS = ("holds", "holds_until_onset", "fails", "undetermined")
REGIMES = ("exploded", "starved", "collapsed", "spent", "learning", "drifting")
ERROR_KINDS = ("empty_input", "missing_file", "missing_column", "no_valid_rows", "unreadable")

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate and its 95% interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class ReadProblem:
    """Why a run has no numbers."""

    kind: str
    """One of ERROR_KINDS."""
    message: str


@dataclass(frozen=True, slots=True)
class Onset:
    """Where collapse (or explosion) begins, in steps."""

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
class Unfinished:
    """How a run stands that is not done, or is and has lost its last rows."""

    status: str | None
    """As in run.json; None where that cannot be read."""
    reason: str | None
    exit_code: int | None
    last_step: int
    """Of its last row."""
    steps: int | None
    """Planned, where its config says."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """One run of law.json (docs/law.md); of a failed one, None from `dropped` to `transfer`."""

    run: str
    status: str
    """ok or error"""
    error: ReadProblem | None
    n_valid: int | None
    dropped: Mapping[str, int]
    """Rows left out, by reason."""
    reward: str | None = None
    entropy: str | None = None
    n_eff: float | None = None
    verdict: str | None = None
    reasons: Sequence[str] | None = None
    regime: str | None = None
    a: Interval | None = None
    b: Interval | None = None
    ceiling: Interval | None = None
    cov_ab: float | None = None
    identified: Mapping[str, bool] | None = None
    """Keys a and ceiling."""
    reliability: float | None = None
    """a by least squares / a by instrumental variable: the reliability of exp(H)."""
    out_of_time_skill: float | None = None
    intervened: bool | None = None
    ols: Mapping[str, float] | None = None
    """Keys a, b, r2."""
    onset: Onset | None = None
    landmarks: Mapping[str, float | None] | None = None
    rivals: Mapping[str, Any] | None = None
    forecast: Mapping[str, float | bool | None] | None = None
    """value, low, high, from_step, identified, last_value, truth, error, last_value_error."""
    fits: Mapping[str, Any] | None = None
    """The law on other reward columns: column -> a, b, ceiling, verdict, ..."""
    config: Mapping[str, Any] | None = None
    null_share: Interval | None = None
    level: str | None = None
    seed: int | None = None
    gain: Interval | None = None
    """Reward at the end minus at the start."""
    until_onset: Mapping[str, Any] | None = None
    """The law on the rows before the onset, keys as in `fits`; only where it holds until then."""
    dropped_at: Mapping[str, Sequence[str]] | None = None
    """Reason in `dropped` -> file:line of the first few rows left out for it."""
    noise_driven: bool | None = None
    """Whether the interval of null_share lies above one half; None without a share."""
    net_of_null: Mapping[str, Interval | None] | None = None
    """Fall of H (key fall, nats) and gain of R (key gain) minus those of the null control."""
    silent_share: Interval | None = None
    """Mean share of groups without variance or below the floor, over the run."""
    at_onset: Mapping[str, Any] | None = None
    """reward_left as {value, low, high}, then metrics.jsonl columns -> their mean around it."""
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
    difficulty: Mapping[str, Any] | None = None
    """Of the difficulty card of its level: acceptance, need_expression, population_final_emotion,
    each {value, low, high}; None without cards.json."""
    transfer: Mapping[str, Mapping[str, float]] | None = None
    """Named level -> eval/LEVEL/reward at the first evaluation (start) and at the last (end)."""
    unfinished: Unfinished | None = None
    """None of a run that is done, and where no run.json says how it stands."""
    checksums: str | None = None
    """all, some or none of its rows have one; None of other programs' logs."""

    def to_json(self) -> dict[str, Any]:
        values: dict[str, Any] = _plain(self)
        if self.error is not None:
            values["error"] = {"class": self.error.kind, "message": self.error.message}
        return values


@dataclass(frozen=True, slots=True)
class Pooled:
    """A quantity over the seeds of a group."""

    mean: float | None
    low: float | None
    high: float | None
    n: int
    censored: int


@dataclass(frozen=True, slots=True)
class GroupResult:
    """Runs alike in all but the seed."""

    key: Mapping[str, Any]
    runs: Sequence[str]
    a: Pooled
    ceiling: Pooled
    onset: Pooled
    gain: Pooled
    contrasts: Sequence[Mapping[str, Any]] = ()
    """This group minus an earlier one, a quantity each."""
    compared: Mapping[str, Any] | None = None
    """The number of each seed, and their means, on one footing for all groups."""
    unknown_seeds: int = 0
    """Of several runs, those whose seed is not known: they may be repeats, so no mean has an
    interval."""
    reward: str | None = None
    """The column that a, ceiling and gain are of; None where the runs share none."""
    why: str | None = None
    """Why there is no mean of a, ceiling and gain, where there is none."""
    unfinished: Sequence[str] = ()
    """Runs that are not done; not in `runs`, and in no mean, unless they were asked for."""
    diverged: Sequence[str] = ()
    """Of these, those that diverged: censored in a, ceiling, gain, and in onset but for those that
    had one before."""

    @property
    def every(self) -> list[str]:
        """Its runs, also those that are in no mean."""
        return list(dict.fromkeys((*self.runs, *self.unfinished)))

    @property
    def left_out(self) -> list[str]:
        """Its runs that are in no mean."""
        return [run for run in self.unfinished if run not in self.runs]


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


@dataclass(frozen=True, slots=True)
class Analysis:
    """All that `harness fit-entropy-law` knows: law.json, law.csv, tables and figures show it."""

    runs: tuple[RunResult, ...]
    groups: tuple[GroupResult, ...]
    skipped: tuple[Mapping[str, str], ...]
    """Keys path and reason."""
    series: Mapping[str, RunSeries] = field(default_factory=dict)
    """Run path -> its points; only runs with status ok."""

    @property
    def left_out(self) -> frozenset[str]:
        """Unfinished runs that are in no mean."""
        return frozenset(run for group in self.groups for run in group.left_out)

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "runs": [r.to_json() for r in self.runs],
            "groups": _plain(self.groups),
            "skipped": _plain(self.skipped),
        }


def _plain(value: Any) -> Any:
    """Dataclasses and mappings as dicts, sequences as lists; dataclasses.asdict copies all else."""
    if dataclasses.is_dataclass(value):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return value
