"""Fit and judge the laws of one run, one for each reward column."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from harness.law import law_span, stage_laws
from harness.law.estimate import breaks, identifiability, onset, rivals, spikes
from harness.law.estimate.onset import BinnedEntropy
from harness.law.io import clean
from harness.law.io.clean import FEWEST_POINTS, Cleaned
from harness.law.io.columns import EVALUATION, LogColumns
from harness.law.io.importers.aliases import EVALUATIONS
from harness.law.io.table import LogTable
from harness.law.law_span import JudgedLaw, Span
from harness.law.result_parts import Rival
from harness.law.results import Onset


@dataclass(frozen=True)
class RunLog:
    """A run's table with the chosen columns and their valid rows."""

    table: LogTable
    columns: LogColumns
    cleaned: Cleaned
    """The values as logged."""
    plain: Cleaned
    """The values without glitches."""
    course: BinnedEntropy | None
    """H in time bins."""


@dataclass(frozen=True)
class RunLaws:
    """The laws of a run, each with its verdict."""

    onset: Onset | None
    law: JudgedLaw
    """The law on the run's own reward column."""
    shape: breaks.BinnedRun | None
    compared: Mapping[str, Rival] | None
    """The scores of the law and its rivals on all points of the run's own reward column."""
    others: Mapping[str, JudgedLaw]
    of_stages: Mapping[str, Any] = field(default_factory=dict)
    """Fields of RunResult: the law on the training reward by stages of a curriculum."""

    def spans(self, reward: str) -> dict[str, Span]:
        """Map each reward column to the part of the run that its law was judged on."""
        return {reward: self.law.span} | {c: law.span for c, law in self.others.items()}


def log_of(
    table: LogTable, columns: LogColumns, reward_range: tuple[float, float] | None
) -> RunLog:
    """Clean the chosen columns and remove their glitches.

    `reward_range`: the lowest and highest possible reward, if the user gave them.
    """
    cleaned = clean.clean(table, columns.entropy, columns.reward, reward_range)
    plain = spikes.remove_log_glitches(cleaned)
    return RunLog(
        table, columns, cleaned, plain, onset.bin_plain_entropy(plain.steps, plain.entropy)
    )


def fit(log: RunLog, intervened: bool) -> RunLaws:
    """Fit and judge the law on every reward column that has at least one point."""
    points, course = log.plain.points, log.course
    run_onset = onset.find_onset(course, points) if course is not None else None
    whole = identifiability.fit(log.cleaned.points, plain=points)
    shape = breaks.bin_run(whole.calm) if len(points) >= FEWEST_POINTS else None
    compared = rivals.compare(points)
    law = law_span.judge(whole, run_onset, course, intervened, shape, compared)
    laws = RunLaws(run_onset, law, shape, compared, _other_laws(log, run_onset, intervened))
    return _judge_by_stages(laws, log, intervened)


def _other_laws(log: RunLog, run_onset: Onset | None, intervened: bool) -> dict[str, JudgedLaw]:
    """Fit and judge the law on eval/reward and the training reward, except the run's own column."""
    laws = {}
    for column in (EVALUATION, log.columns.training):
        if column == log.columns.reward or column not in log.table.names:
            continue
        points = clean.clean(log.table, log.columns.entropy, column).points
        if len(points):
            whole = identifiability.fit(points)
            laws[column] = law_span.judge(whole, run_onset, log.course, intervened)
    return laws


def _judge_by_stages(laws: RunLaws, log: RunLog, intervened: bool) -> RunLaws:
    """Judge the law on the training reward again by stages, if the users changed in stages."""
    training = log.columns.training
    is_evaluation = log.columns.reward.startswith(EVALUATIONS)
    law = laws.others.get(training) if is_evaluation else laws.law
    if law is None:
        return laws
    by_stages = stage_laws.judge(law, log.table, log.cleaned, laws.onset, intervened)
    if is_evaluation:
        others = {**laws.others, training: by_stages.law}
        return replace(laws, others=others, of_stages=by_stages.fields)
    return replace(laws, law=by_stages.law, of_stages=by_stages.fields)
