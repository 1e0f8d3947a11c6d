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


def analyse(run: DiscoveredRun, who: FolderIdentity, choice: ColumnOptions) -> RunAnalysis:
    """Read, clean, fit and judge one run."""
    if run.problem is not None or run.metrics is None:
        return _failed(run, run.problem, {}, integrity.without_log(who))
    try:
        beside = (*columns.AUXILIARY, *replicates.COLUMNS, *yardsticks.COLUMNS, *stages.COLUMNS)
        wanted = columns.columns_to_read(choice, beside)
        table = reading.read(run.metrics, wanted, who.status == "running", choice.step)
    except ReadError as error:
        return _failed(run, error.problem, {}, integrity.without_log(who))
    standing = integrity.check(table, who)
    try:
        chosen = columns.choose_columns(table, choice, who.is_ours)
    except ReadError as error:
        return _failed(run, error.problem, {}, standing)
    log = run_laws.log_of(table, chosen, choice.reward_range)
    cleaned = log.cleaned
    if len(cleaned.points) == 0:
        dropped = {**cleaned.dropped, **standing.dropped}
        return _failed(run, _nothing_valid(log, choice), dropped, standing)
    laws = run_laws.fit(log, who.intervened)
    result = _result(run, who, log, choice, standing, laws)
    judging = VerdictInputs(laws.onset, log.course, who.intervened)
    replicate = replicates.replicate_of(table, chosen, cleaned, judging, laws.spans(chosen.reward))
    return RunAnalysis(result, _series(run, who, log), replace(replicate, folder=run.folder))


def _nothing_valid(log: RunLog, choice: ColumnOptions) -> ReadProblem:
    cleaned = log.cleaned
    reasons = ", ".join(f"{n} {reason}" for reason, n in cleaned.dropped.items())
    line = min((min(lines) for lines in cleaned.first_lines.values()), default=1)
    rewards = "a finite reward"
    if choice.reward_range is not None:
        rewards = "a reward in [{:g}, {:g}]".format(*choice.reward_range)
    rule = f"a valid row has a finite step, an entropy in [0, 20] and {rewards}"
    left_out = f"left out: {reasons or 'every row, not evaluated'}"
    names = ("step", log.columns.entropy, log.columns.reward)
    first = ", ".join(f"{name} {_of_first_row(log.table, name)}" for name in names)
    message = f"{log.table.path}:{line}: {rule}; {left_out}; the first row has {first}"
    return ReadProblem("no_valid_rows", message)


def _of_first_row(table: LogTable, name: str) -> str:
    fault = FAULTS[table.faults[name][0]]
    return table.first.get(name) or fault or f"{table.columns[name][0]:g}"


def _failed(
    run: DiscoveredRun, problem: ReadProblem | None, dropped: Mapping[str, int], standing: Integrity
) -> RunAnalysis:
    result = RunResult(run.run, "error", problem, 0, dict(dropped))
    complete = replace(result, unfinished=standing.unfinished, checksums=standing.checksums)
    return RunAnalysis(complete, None)


def _result(
    run: DiscoveredRun,
    who: FolderIdentity,
    log: RunLog,
    choice: ColumnOptions,
    standing: Integrity,
    laws: RunLaws,
) -> RunResult:
    cleaned, law, run_onset = log.cleaned, laws.law, laws.onset
    until, heading = law.span.until, None if law.span.fails else law.fitted
    ends = _ends(log, who)
    share = choice.forecast_from
    signs = signals.read(log.table, cleaned, run_onset, heading, until)
    return RunResult(
        run=run.run,
        status="ok",
        error=None,
        n_valid=len(cleaned.points),
        **law_span.numbers_of(law),
        dropped={**cleaned.dropped, **standing.dropped},
        reward=log.columns.reward,
        entropy=log.columns.entropy,
        verdict=law.verdict.word,
        reasons=_reasons(law.verdict, who),
        out_of_time_skill=law.verdict.skill,
        intervened=who.intervened,
        onset=run_onset,
        **_course(log, laws),
        **_curves(log, laws, who, choice),
        **laws.of_stages,
        forecast=forecast.forecast(cleaned, share) if share is not None else None,
        fits=_other_fits(log, laws.others, who),
        config=who.config,
        level=who.level,
        seed=who.seed,
        difficulty=who.cards.measures,
        whole_run=None if until is None else law_span.numbers_of_all(law),
        dropped_at=_dropped_at(run, cleaned, standing),
        transfer=replicates.level_ends(log.table),
        same_batch=log.columns.reward == log.columns.training,
        unfinished=standing.unfinished,
        ended_by_rule=who.ended_by_rule,
        checksums=standing.checksums,
        validity=who.validity,
        policy_verdict=yardsticks.policy_verdict(cleaned.entropy, ends.get(OWN)),
        yardsticks=ends or None,
        at_onset=signs.at_onset,
        onset_probe=signs.onset_probe,
        reliability_from_se=signs.reliability_from_se,
        remedy_acted=signs.remedy_acted,
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
    log: RunLog, laws: RunLaws, who: FolderIdentity, choice: ColumnOptions
) -> dict[str, Any]:
    """Return the fields of the run's row on curves other than exp(H)."""
    bounds = columns.reward_range(log.columns.reward, who.is_ours, choice)
    law, whole = laws.law, laws.law.span.until is None
    compared = laws.compared if whole else rivals.compare(law.fitted.points)
    known = None if law.span.fails else ceiling.average_over_forms(law.fitted, compared, bounds)
    return {
        "rivals": laws.compared,
        "against_linear": rivals.against_linear(laws.compared),
        "ceiling_over_forms": known,
    }


def _other_fits(
    log: RunLog, laws: Mapping[str, JudgedLaw], who: FolderIdentity
) -> dict[str, ColumnLaw]:
    return {
        column: ColumnLaw(
            **law_span.numbers_of(law),
            n_valid=len(law.whole.points),
            verdict=law.verdict.word,
            reasons=_reasons(law.verdict, who),
            out_of_time_skill=law.verdict.skill,
            same_batch=column == log.columns.training,
            gain=regime.gain(law.whole.points, columns.is_evaluation(column)),
        )
        for column, law in laws.items()
    }


def _ends(log: RunLog, who: FolderIdentity) -> dict[str, Yardsticks]:
    return yardsticks.read(log.table, who.cards.anchors, setting(who.config, "eval", "users"))


def _reasons(told: Verdict, who: FolderIdentity) -> list[str]:
    """Return the reasons of a verdict, with `invalid_users` added if R is no reward for empathy."""
    return [*told.reasons, *(["invalid_users"] if who.invalid_users else [])]


def _dropped_at(run: DiscoveredRun, cleaned: Cleaned, standing: Integrity) -> dict[str, list[str]]:
    """Reason -> the first few rows left out for it, by line number or else by step."""
    lines = {
        reason: [f"{run.metrics}:{n}" for n in numbers]
        for reason, numbers in cleaned.first_lines.items()
    }
    return lines | standing.dropped_at(run.metrics)


def _series(run: DiscoveredRun, who: FolderIdentity, log: RunLog) -> RunSeries:
    kind = (who.remedy, "null control" if who.null_control else None)
    panel = ", ".join((who.level or "other logs", *filter(None, kind)))
    named = who.level is not None and who.seed is not None
    label = f"{panel}, seed {who.seed}" if named else Path(run.run).name or run.run
    cleaned, points = log.cleaned, log.cleaned.points
    held_out = columns.held_out(log.table, cleaned, log.columns)
    return RunSeries(
        run=run.run,
        label=label,
        level=panel,
        seed=who.seed,
        steps=points.steps,
        entropy=points.entropy,
        reward=points.reward,
        course_steps=cleaned.steps,
        course_entropy=cleaned.entropy,
        held_out_steps=held_out.steps,
        held_out_reward=held_out.values,
    )
