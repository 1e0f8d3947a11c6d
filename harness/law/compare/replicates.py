"""A run as one of several seeds: what comparisons take from its log beyond its row of law.json."""

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
from harness.law.estimate.identifiability import Fitted
from harness.law.estimate.onset import BinnedEntropy
from harness.law.io import clean
from harness.law.io.clean import Cleaned, Points
from harness.law.io.columns import EVALUATION, NO_SERIES, Chosen, ColumnSeries
from harness.law.io.table import Table
from harness.law.law_span import WHOLE, Span
from harness.law.result_parts import LevelEnds
from harness.law.results import Floats, Onset

Number = TypeVar("Number")
COMMON = ("eval/medium/reward", "eval/hard/reward", "eval/easy/reward")
"""Evaluations on the same users in every run; the first that all compared runs hold is used.

medium comes first: there neither a floor nor a ceiling of emotion squeezes what policies gained.
"""
PROBE = "entropy/probe"
FAILED = "sim/failed"
SOLVING = ("strategy/suggest", "strategy/inform")
GROUNDING, QUESTION_VALUE = "grounding/per_100_turns", "grounding/question_value"
SOLVING_AFTER_FEELING, DIVERGENCE, ALLIANCE = "solving/after_feeling", "kl", "alliance/mean"
SOLVING_WHERE_WANTED, SOLVING_WHERE_UNWANTED = "solving/where_wanted", "solving/where_unwanted"
YARDSTICKS = ("listening", "within_sd", "best_at_16")
"""Columns of an evaluation beside its reward."""
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
"""Columns whose mean over the last tenth of the run a study may ask for."""
COLUMNS = (*COMMON, PROBE, FAILED, *ENDS, *entropy_ledger.COLUMNS)


@dataclass(frozen=True)
class ProbeCourse:
    """H on frozen prefixes over a run was measured often enough to look for an onset."""

    onset: Onset | None
    course: BinnedEntropy | None = None


@dataclass(frozen=True)
class Judging:
    """What a verdict on a run takes beside its points."""

    onset: Onset | None
    course: BinnedEntropy | None
    intervened: bool


@dataclass(frozen=True)
class Replicate:
    """A run as one of several seeds."""

    points: Mapping[str, Points] = field(default_factory=dict)
    """Reward column -> its points with H on the states visited."""
    on_probe: Mapping[str, Points] = field(default_factory=dict)
    """Reward column -> the same with H on the frozen prefixes."""
    course: ColumnSeries = NO_SERIES
    """H on the states visited at every step, whether R was evaluated there or not."""
    probe_course: ProbeCourse | None = None
    first_step: float = 1.0
    last_step: float = 1.0
    failed_a_step: float | None = None
    """Conversations without a reward, mean over steps; None where the log does not say."""
    ends: Mapping[str, ColumnSeries] = field(default_factory=dict)
    """Each of ENDS at every step, NaN where it was not measured."""
    ledger: EntropyLedger | None = None
    """What became of H on the probe; None where the run kept no ledger."""
    judging: Judging | None = None
    """None: no law of it is judged."""
    folder: Path | None = None
    """Of the run, where what others found of it lies; None of a log without one."""
    _spans: dict[str, Span] = field(default_factory=dict, repr=False, compare=False)
    _laws: dict[tuple[str, bool], Fitted] = field(default_factory=dict, repr=False, compare=False)
    _numbers: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    def points_on(self, column: str, probe: bool) -> Points | None:
        return (self.on_probe if probe else self.points).get(column)

    def span(self, column: str) -> Span:
        """The part of the run in which its law on a reward column was judged.

        A column that is no one's headline is judged here, once, when first asked for.
        """
        points = self.points_on(column, False)
        if column not in self._spans and points is not None and self.judging is not None:
            how = self.judging
            whole = identifiability.fit(points)
            law = law_span.judge(whole, how.onset, how.course, how.intervened)
            self._spans[column], self._laws[column, False] = law.span, law.fitted
        return self._spans.get(column, WHOLE)

    def once(self, key: Hashable, reckon: Callable[[], Number]) -> Number:
        """A number of this run that depends on `key` alone: reckoned when first asked for, however
        many groups the run is compared with.
        """
        if key not in self._numbers:
            self._numbers[key] = reckon()
        number: Number = self._numbers[key]
        return number

    def law_points(self, column: str, probe: bool) -> Points | None:
        """The points of that part; None where there are none, or the law fails."""
        points, span = self.points_on(column, probe), self.span(column)
        return None if points is None or span.fails else span.of(points)

    def law(self, column: str, probe: bool) -> Fitted | None:
        """Fitted once, however many groups the run is compared with; None without such points."""
        points = self.law_points(column, probe)
        if points is None:
            return None
        if (column, probe) not in self._laws:
            self._laws[column, probe] = identifiability.fit(points)
        return self._laws[column, probe]


def of(
    table: Table, chosen: Chosen, headline: Cleaned, judging: Judging, spans: Mapping[str, Span]
) -> Replicate:
    """The replicate of a run whose verdict is about the columns `chosen`; `spans` are of those
    columns that were judged already.
    """
    entropy, reward = chosen.entropy, chosen.reward
    others = (EVALUATION, chosen.training, *COMMON)
    held = [c for c in dict.fromkeys((reward, *others)) if c in table.names]
    probed = {c: clean.clean(table, PROBE, c) for c in held} if PROBE in table.names else {}
    points = {c: clean.clean(table, entropy, c).points for c in held if c != reward}
    return Replicate(
        points={reward: headline.points} | {c: p for c, p in points.items() if len(p)},
        on_probe={c: p.points for c, p in probed.items() if len(p.points)},
        course=ColumnSeries(headline.steps, headline.entropy),
        probe_course=_probe_course(probed.get(reward), headline.points),
        first_step=float(headline.steps[0]),
        last_step=float(headline.steps[-1]),
        failed_a_step=mean_of_measured(table.columns[FAILED]),
        ends={name: _at_every_step(table, name) for name in ENDS},
        ledger=entropy_ledger.read(table.columns),
        judging=judging,
        _spans=dict(spans),
    )


def _probe_course(probed: Cleaned | None, rewards: Points) -> ProbeCourse | None:
    course = onset.course(probed.steps, probed.entropy) if probed is not None else None
    return ProbeCourse(onset.find(course, rewards), course) if course is not None else None


def _at_every_step(table: Table, name: str) -> ColumnSeries:
    steps = table.columns["step"]
    rows = clean.last_of_each_step(steps, np.isfinite(steps))
    return ColumnSeries(steps[rows], table.columns[name][rows])


def mean_of_measured(values: Floats) -> float | None:
    """None where none was measured."""
    measured = values[np.isfinite(values)]
    return float(measured.mean()) if len(measured) else None


def level_ends(table: Table) -> dict[str, LevelEnds] | None:
    """Level -> eval/LEVEL/reward at its first evaluation (start) and at its last (end).

    Of rows with the same step the last counts. None where no level was evaluated twice.
    """
    by_level = {level: _ends(table, f"eval/{level}/reward") for level in LEVELS}
    return {level: ends for level, ends in by_level.items() if ends} or None


def _ends(table: Table, column: str) -> LevelEnds | None:
    if column not in table.names:
        return None
    steps, values = table.columns["step"], table.columns[column]
    evaluated = clean.last_of_each_step(steps, np.isfinite(steps) & np.isfinite(values))
    if len(evaluated) < 2:
        return None
    return LevelEnds(float(values[evaluated[0]]), float(values[evaluated[-1]]))
