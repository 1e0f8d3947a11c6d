"""Analyse one run, from its metrics file to its row of law.json.

A run that cannot be read gets an error row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.law import law_span, run_laws
from harness.law.compare import replicates
from harness.law.compare.replicates import Replicate, VerdictInputs
from harness.law.estimate import (
    ceiling,
    forecast,
    regime,
    rivals,
    signals,
    spikes,
    stages,
    yardsticks,
)
from harness.law.io import columns, integrity, reading
from harness.law.io.clean import Cleaned
from harness.law.io.columns import ColumnOptions
from harness.law.io.discover import DiscoveredRun
from harness.law.io.identity import FolderIdentity
from harness.law.io.integrity import Integrity
from harness.law.io.table import FAULTS, LogTable, ReadError
from harness.law.law_span import JudgedLaw
from harness.law.result_parts import ReadProblem, Spikes, Yardsticks
from harness.law.results import ColumnLaw, RunResult, RunSeries
from harness.law.run_laws import RunLaws, RunLog
from harness.law.settings import setting
from harness.law.verdict import Verdict
from harness.records.outcomes import OWN


@dataclass(frozen=True)
class RunAnalysis:
    """A run's row, and the points the law was fitted on, if any."""

    result: RunResult
    series: RunSeries | None
    replicate: Replicate = field(default_factory=Replicate)


def analyse(run: DiscoveredRun, identity: FolderIdentity, options: ColumnOptions) -> RunAnalysis:
    """Read, clean, fit and judge one run."""
    if run.problem is not None or run.metrics is None:
        return _failed(run, run.problem, {}, integrity.without_log(identity))
    try:
        auxiliary = (*columns.AUXILIARY, *replicates.COLUMNS, *yardsticks.COLUMNS, *stages.COLUMNS)
        names = columns.columns_to_read(options, auxiliary)
        table = reading.read(run.metrics, names, identity.status == "running", options.step)
    except ReadError as error:
        return _failed(run, error.problem, {}, integrity.without_log(identity))
    log_integrity = integrity.check(table, identity)
    try:
        log_columns = columns.choose_columns(table, options, identity.is_ours)
    except ReadError as error:
        return _failed(run, error.problem, {}, log_integrity)
    log = run_laws.log_of(table, log_columns, options.reward_range)
    cleaned = log.cleaned
    if len(cleaned.points) == 0:
        dropped = {**cleaned.dropped, **log_integrity.dropped}
        return _failed(run, _nothing_valid(log, options), dropped, log_integrity)
    laws = run_laws.fit(log, identity.intervened)
    result = _result(run, identity, log, options, log_integrity, laws)
    verdict_inputs = VerdictInputs(laws.onset, log.course, identity.intervened)
    replicate = replicates.replicate_of(
        table, log_columns, cleaned, verdict_inputs, laws.spans(log_columns.reward)
    )
    return RunAnalysis(result, _series(run, identity, log), replace(replicate, folder=run.folder))


def _nothing_valid(log: RunLog, options: ColumnOptions) -> ReadProblem:
    cleaned = log.cleaned
    reasons = ", ".join(f"{count} {reason}" for reason, count in cleaned.dropped.items())
    line = min((min(lines) for lines in cleaned.first_lines.values()), default=1)
    rewards = "a finite reward"
    if options.reward_range is not None:
        rewards = "a reward in [{:g}, {:g}]".format(*options.reward_range)
    rule = f"a valid row has a finite step, an entropy in [0, 20] and {rewards}"
    left_out = f"left out: {reasons or 'every row, not evaluated'}"
    names = ("step", log.columns.entropy, log.columns.reward)
    first = ", ".join(f"{name} {_first_value(log.table, name)}" for name in names)
    message = f"{log.table.path}:{line}: {rule}; {left_out}; the first row has {first}"
    return ReadProblem("no_valid_rows", message)


def _first_value(table: LogTable, name: str) -> str:
    fault = FAULTS[table.faults[name][0]]
    return table.first.get(name) or fault or f"{table.columns[name][0]:g}"


def _failed(
    run: DiscoveredRun,
    problem: ReadProblem | None,
    dropped: Mapping[str, int],
    log_integrity: Integrity,
) -> RunAnalysis:
    result = RunResult(run.run, "error", problem, 0, dict(dropped))
    complete = replace(
        result, unfinished=log_integrity.unfinished, checksums=log_integrity.checksums
    )
    return RunAnalysis(complete, None)


def _result(
    run: DiscoveredRun,
    identity: FolderIdentity,
    log: RunLog,
    options: ColumnOptions,
    log_integrity: Integrity,
    laws: RunLaws,
) -> RunResult:
    cleaned, law, run_onset = log.cleaned, laws.law, laws.onset
    until, ceiling_law = law.span.until, None if law.span.fails else law.fitted
    by_level = _yardsticks(log, identity)
    share = options.forecast_from
    run_signals = signals.read(log.table, cleaned, run_onset, ceiling_law, until)
    return RunResult(
        run=run.run,
        status="ok",
        error=None,
        n_valid=len(cleaned.points),
        **law_span.numbers_of(law),
        dropped={**cleaned.dropped, **log_integrity.dropped},
        reward=log.columns.reward,
        entropy=log.columns.entropy,
        verdict=law.verdict.word,
        reasons=_reasons(law.verdict, identity),
        out_of_time_skill=law.verdict.skill,
        intervened=identity.intervened,
        onset=run_onset,
        **_course(log, laws),
        **_curves(log, laws, identity, options),
        **laws.of_stages,
        forecast=forecast.forecast(cleaned, share) if share is not None else None,
        fits=_other_fits(log, laws.others, identity),
        config=identity.config,
        level=identity.level,
        seed=identity.seed,
        difficulty=identity.cards.measures,
        whole_run=None if until is None else law_span.numbers_of_all(law),
        dropped_at=_dropped_at(run, cleaned, log_integrity),
        transfer=replicates.level_ends(log.table),
        same_batch=log.columns.reward == log.columns.training,
        unfinished=log_integrity.unfinished,
        ended_by_rule=identity.ended_by_rule,
        checksums=log_integrity.checksums,
        validity=identity.validity,
        policy_verdict=yardsticks.policy_verdict(cleaned.entropy, by_level.get(OWN)),
        yardsticks=by_level or None,
        at_onset=run_signals.at_onset,
        onset_probe=run_signals.onset_probe,
        reliability_from_se=run_signals.reliability_from_se,
        remedy_acted=run_signals.remedy_acted,
    )


def _course(log: RunLog, laws: RunLaws) -> dict[str, Any]:
    """Return the fields of the run's row on the course of H and R, which need no law."""
    points, plain = log.cleaned.points, log.plain
    gain = regime.gain(points, columns.is_evaluation(log.columns.reward))
    silent = signals.silent_share(log.table, log.cleaned)
    ends = regime.ends(laws.law.whole.points, laws.shape)
    return {
        "gain": gain,
        "silent_share": silent,
        "regime": regime.regime(log.course, gain, laws.onset, silent),
        "landmarks": regime.landmarks(log.course, laws.law.verdict.law_break, *ends),
        "spikes": Spikes(
            spikes.glitch_count(log.cleaned.entropy, plain.entropy),
            spikes.glitch_count(points.reward, plain.points.reward),
        ),
    }


def _curves(
    log: RunLog, laws: RunLaws, identity: FolderIdentity, options: ColumnOptions
) -> dict[str, Any]:
    """Return the fields of the run's row on curves other than exp(H)."""
    bounds = columns.reward_range(log.columns.reward, identity.is_ours, options)
    law, is_whole = laws.law, laws.law.span.until is None
    rival_scores = laws.compared if is_whole else rivals.compare(law.fitted.points)
    averaged = (
        None if law.span.fails else ceiling.average_over_forms(law.fitted, rival_scores, bounds)
    )
    return {
        "rivals": laws.compared,
        "against_linear": rivals.against_linear(laws.compared),
        "ceiling_over_forms": averaged,
    }


def _other_fits(
    log: RunLog, laws: Mapping[str, JudgedLaw], identity: FolderIdentity
) -> dict[str, ColumnLaw]:
    return {
        column: ColumnLaw(
            **law_span.numbers_of(law),
            n_valid=len(law.whole.points),
            verdict=law.verdict.word,
            reasons=_reasons(law.verdict, identity),
            out_of_time_skill=law.verdict.skill,
            same_batch=column == log.columns.training,
            gain=regime.gain(law.whole.points, columns.is_evaluation(column)),
        )
        for column, law in laws.items()
    }


def _yardsticks(log: RunLog, identity: FolderIdentity) -> dict[str, Yardsticks]:
    return yardsticks.read(
        log.table, identity.cards.anchors, setting(identity.config, "eval", "users")
    )


def _reasons(run_verdict: Verdict, identity: FolderIdentity) -> list[str]:
    """Return the reasons of a verdict, with `invalid_users` added if R is no reward for empathy."""
    return [*run_verdict.reasons, *(["invalid_users"] if identity.invalid_users else [])]


def _dropped_at(
    run: DiscoveredRun, cleaned: Cleaned, log_integrity: Integrity
) -> dict[str, list[str]]:
    """Reason -> the first few rows left out for it, by line number or else by step."""
    locations = {
        reason: [f"{run.metrics}:{line}" for line in lines]
        for reason, lines in cleaned.first_lines.items()
    }
    return locations | log_integrity.dropped_at(run.metrics)


def _series(run: DiscoveredRun, identity: FolderIdentity, log: RunLog) -> RunSeries:
    variants = (identity.remedy, "null control" if identity.null_control else None)
    panel = ", ".join((identity.level or "other logs", *filter(None, variants)))
    is_named = identity.level is not None and identity.seed is not None
    label = f"{panel}, seed {identity.seed}" if is_named else Path(run.run).name or run.run
    cleaned, points = log.cleaned, log.cleaned.points
    held_out = columns.held_out(log.table, cleaned, log.columns)
    return RunSeries(
        run=run.run,
        label=label,
        level=panel,
        seed=identity.seed,
        steps=points.steps,
        entropy=points.entropy,
        reward=points.reward,
        course_steps=cleaned.steps,
        course_entropy=cleaned.entropy,
        held_out_steps=held_out.steps,
        held_out_reward=held_out.values,
    )
