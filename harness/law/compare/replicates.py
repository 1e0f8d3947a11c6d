"""Hold the data of a run that comparisons over seeds need beyond its row of law.json."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from harness.config.run import LEVELS
from harness.law import law_span
from harness.law.estimate import entropy_ledger, identifiability, onset
from harness.law.estimate.entropy_ledger import EntropyLedger
from harness.law.estimate.identifiability import LawFit
from harness.law.estimate.onset import BinnedEntropy
from harness.law.io import clean
from harness.law.io.clean import Cleaned, Points
from harness.law.io.columns import EVALUATION, NO_SERIES, ColumnSeries, LogColumns
from harness.law.io.table import LogTable
from harness.law.law_span import WHOLE, Span
from harness.law.result_parts import LevelEnds
from harness.law.results import Floats, Onset

Number = TypeVar("Number")
COMMON = ("eval/medium/reward", "eval/hard/reward", "eval/easy/reward")
"""Evaluations on the same users in every run. The first one that all compared runs have is used.

medium comes first because neither a floor nor a ceiling of emotion compresses differences there.
"""
PROBE = "entropy/probe"
FAILED = "sim/failed"
SOLVING = ("strategy/suggest", "strategy/inform")
GROUNDING, QUESTION_VALUE = "grounding/per_100_turns", "grounding/question_value"
SOLVING_AFTER_FEELING, DIVERGENCE, ALLIANCE = "solving/after_feeling", "kl", "alliance/mean"
SOLVING_WHERE_WANTED, SOLVING_WHERE_UNWANTED = "solving/where_wanted", "solving/where_unwanted"
YARDSTICKS = ("listening", "within_sd", "best_at_16")
"""Columns of an evaluation other than its reward."""
ADAPTED = ("adapt/before", "adapt/after")
ENDS = (
    *SOLVING,
    GROUNDING,
    QUESTION_VALUE,
    SOLVING_AFTER_FEELING,
    SOLVING_WHERE_WANTED,
    SOLVING_WHERE_UNWANTED,
    DIVERGENCE,
    ALLIANCE,
    *(column.replace("reward", name) for column in COMMON for name in YARDSTICKS),
    *ADAPTED,
)
"""Columns whose mean over the last tenth of the run studies can use."""
COLUMNS = (*COMMON, PROBE, FAILED, *ENDS, *entropy_ledger.COLUMNS)


@dataclass(frozen=True)
class ProbeCourse:
    """H on frozen prefixes over a run with enough values to look for an onset."""

    onset: Onset | None
    course: BinnedEntropy | None = None


@dataclass(frozen=True)
class VerdictInputs:
    """The data that a verdict on a run needs in addition to its points."""

    onset: Onset | None
    course: BinnedEntropy | None
    intervened: bool


@dataclass(frozen=True)
class Replicate:
    """A run as one of several seeds."""

    points: Mapping[str, Points] = field(default_factory=dict)
    """Reward column -> its points with H on the states visited."""
    on_probe: Mapping[str, Points] = field(default_factory=dict)
    """Reward column -> its points with H on the frozen prefixes."""
    course: ColumnSeries = NO_SERIES
    """H on the visited states at every step, with or without an evaluation of R."""
    probe_course: ProbeCourse | None = None
    first_step: float = 1.0
    last_step: float = 1.0
    failed_a_step: float | None = None
    """Mean number of conversations per step without a reward; None if it was not logged."""
    ends: Mapping[str, ColumnSeries] = field(default_factory=dict)
    """Column of ENDS -> its values at every step, NaN where not measured."""
    ledger: EntropyLedger | None = None
    """The entropy ledger on the probe; None if the run kept none."""
    judging: VerdictInputs | None = None
    """None if no law of the run is judged."""
    folder: Path | None = None
    """The folder of the run, with its probe answers; None for a log without one."""
    _spans: dict[str, Span] = field(default_factory=dict, repr=False, compare=False)
    _laws: dict[tuple[str, bool], LawFit] = field(default_factory=dict, repr=False, compare=False)
    _numbers: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    def points_on(self, column: str, probe: bool) -> Points | None:
        return (self.on_probe if probe else self.points).get(column)

    def span(self, column: str) -> Span:
        """Return the part of the run in which its law on a reward column was judged.

        A column that the analysis of the run did not judge is judged here and cached.
        """
        points = self.points_on(column, False)
        if column not in self._spans and points is not None and self.judging is not None:
            inputs = self.judging
            law_fit = identifiability.fit(points)
            law = law_span.judge(law_fit, inputs.onset, inputs.course, inputs.intervened)
            self._spans[column], self._laws[column, False] = law.span, law.fitted
        return self._spans.get(column, WHOLE)

    def cached(self, key: Hashable, compute: Callable[[], Number]) -> Number:
        """Return a number of this run that depends only on `key`, computed once and cached."""
        if key not in self._numbers:
            self._numbers[key] = compute()
        number: Number = self._numbers[key]
        return number

    def law_points(self, column: str, probe: bool) -> Points | None:
        """Return the points of `span`; None if there are none, or the law fails."""
        points, span = self.points_on(column, probe), self.span(column)
        return None if points is None or span.fails else span.of(points)

    def law(self, column: str, probe: bool) -> LawFit | None:
        """Return the law fitted to `law_points`, cached; None if these are None."""
        points = self.law_points(column, probe)
        if points is None:
            return None
        if (column, probe) not in self._laws:
            self._laws[column, probe] = identifiability.fit(points)
        return self._laws[column, probe]


def replicate_of(
    table: LogTable,
    columns: LogColumns,
    headline: Cleaned,
    verdict_inputs: VerdictInputs,
    spans: Mapping[str, Span],
) -> Replicate:
    """Return the replicate of a run analysed on `columns`. `spans` holds the columns whose law
    was judged already.
    """
    entropy, reward = columns.entropy, columns.reward
    other_columns = (EVALUATION, columns.training, *COMMON)
    reward_columns = [
        column for column in dict.fromkeys((reward, *other_columns)) if column in table.names
    ]
    probed = (
        {column: clean.clean(table, PROBE, column) for column in reward_columns}
        if PROBE in table.names
        else {}
    )
    points = {
        column: clean.clean(table, entropy, column).points
        for column in reward_columns
        if column != reward
    }
    return Replicate(
        points={reward: headline.points}
        | {column: valid for column, valid in points.items() if len(valid)},
        on_probe={
            column: cleaned.points for column, cleaned in probed.items() if len(cleaned.points)
        },
        course=ColumnSeries(headline.steps, headline.entropy),
        probe_course=_probe_course(probed.get(reward), headline.points),
        first_step=float(headline.steps[0]),
        last_step=float(headline.steps[-1]),
        failed_a_step=mean_of_measured(table.columns[FAILED]),
        ends={name: _at_every_step(table, name) for name in ENDS},
        ledger=entropy_ledger.read(table.columns),
        judging=verdict_inputs,
        _spans=dict(spans),
    )


def _probe_course(probed: Cleaned | None, rewards: Points) -> ProbeCourse | None:
    course = onset.bin_entropy(probed.steps, probed.entropy) if probed is not None else None
    return ProbeCourse(onset.find_onset(course, rewards), course) if course is not None else None


def _at_every_step(table: LogTable, name: str) -> ColumnSeries:
    steps = table.columns["step"]
    rows = clean.last_of_each_step(steps, np.isfinite(steps))
    return ColumnSeries(steps[rows], table.columns[name][rows])


def mean_of_measured(values: Floats) -> float | None:
    """Return the mean of the measured values; None if there are none."""
    measured = values[np.isfinite(values)]
    return float(measured.mean()) if len(measured) else None


def level_ends(table: LogTable) -> dict[str, LevelEnds] | None:
    """Return level -> eval/LEVEL/reward at its first and last evaluation.

    The last of several rows of a step is used. None if no level was evaluated twice.
    """
    by_level = {level: _ends(table, f"eval/{level}/reward") for level in LEVELS}
    return {level: ends for level, ends in by_level.items() if ends} or None


def _ends(table: LogTable, column: str) -> LevelEnds | None:
    if column not in table.names:
        return None
    steps, values = table.columns["step"], table.columns[column]
    evaluated = clean.last_of_each_step(steps, np.isfinite(steps) & np.isfinite(values))
    if len(evaluated) < 2:
        return None
    return LevelEnds(float(values[evaluated[0]]), float(values[evaluated[-1]]))
