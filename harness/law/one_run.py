"""One run, from its metrics file to its row of law.json. A run that cannot be read is a row."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from harness.law import law_span, stage_laws, verdict
from harness.law.compare import replicates
from harness.law.compare.replicates import Judging, Replicate
from harness.law.estimate import (
    breaks,
    ceiling,
    forecast,
    glitches,
    identifiability,
    onset,
    regime,
    rivals,
    signals,
    stages,
    yardsticks,
)
from harness.law.estimate.estimate import Line
from harness.law.estimate.identifiability import Fitted
from harness.law.estimate.onset import BinnedEntropy
from harness.law.io import clean, columns, integrity, reading
from harness.law.io.clean import FEWEST_POINTS, Cleaned
from harness.law.io.columns import EVALUATION, Choice
from harness.law.io.discover import Found
from harness.law.io.identity import Identity
from harness.law.io.importers.aliases import EVALUATIONS
from harness.law.io.integrity import Integrity
from harness.law.io.table import FAULTS, ReadError, Table
from harness.law.law_span import JudgedLaw, Span
from harness.law.prediction_results import Rival
from harness.law.results import (
    ColumnLaw,
    Identified,
    LawNumbers,
    LeastSquares,
    Onset,
    ReadProblem,
    RunResult,
    RunSeries,
    Spikes,
    Yardsticks,
)
from harness.law.settings import setting
from harness.law.verdict import Verdict
from harness.records.outcomes import OWN


@dataclass(frozen=True)
class Analysed:
    """A run's row, and the points it was fitted on if there are any."""

    result: RunResult
    series: RunSeries | None
    replicate: Replicate = field(default_factory=Replicate)


@dataclass(frozen=True)
class _Log:
    """A table with the columns that were decided on, and the course H takes in it."""

    table: Table
    entropy: str
    reward: str
    training: str
    course: BinnedEntropy | None


def analyse(run: Found, who: Identity, choice: Choice) -> Analysed:
    """Read, clean, fit and judge one run."""
    if run.problem is not None or run.metrics is None:
        return _failed(run, run.problem, {}, integrity.without_log(who))
    try:
        beside = (*columns.AUXILIARY, *replicates.COLUMNS, *yardsticks.COLUMNS, *stages.COLUMNS)
        wanted = columns.to_read(choice, beside)
        table = reading.read(run.metrics, wanted, who.status == "running", choice.step)
    except ReadError as error:
        return _failed(run, error.problem, {}, integrity.without_log(who))
    standing = integrity.check(table, who)
    try:
        chosen = columns.choose(table, choice, who.ours)
    except ReadError as error:
        return _failed(run, error.problem, {}, standing)
    cleaned = clean.clean(table, chosen.entropy, chosen.reward)
    course = onset.course(cleaned.steps, cleaned.entropy)
    log = _Log(table, chosen.entropy, chosen.reward, chosen.training, course)
    if len(cleaned.points) == 0:
        dropped = {**cleaned.dropped, **standing.dropped}
        return _failed(run, _nothing_valid(log, cleaned), dropped, standing)
    run_onset = onset.find(course, cleaned.points) if course is not None else None
    fitted = _fitted(log, cleaned, run_onset, who)
    result = _result(run, who, log, cleaned, choice, standing, fitted)
    result = replace(result, **fitted.of_stages)
    judging = Judging(run_onset, course, who.intervened)
    replicate = replicates.of(table, chosen, cleaned, judging, fitted.spans(log.reward))
    return Analysed(result, _series(run, who, cleaned), replicate)


@dataclass(frozen=True)
class _Fits:
    """The laws of a run, each with its verdict."""

    onset: Onset | None
    law: JudgedLaw
    """On the column that the run's row is about."""
    shape: breaks.Binned | None
    compared: Mapping[str, Rival] | None
    """The law and its rivals on all points of that column."""
    others: Mapping[str, JudgedLaw]
    of_stages: Mapping[str, Any] = field(default_factory=dict)
    """Fields of RunResult: the law on the training reward by stages of a curriculum."""

    def spans(self, reward: str) -> dict[str, Span]:
        """Reward column -> the part of the run that its law was judged on."""
        return {reward: self.law.span} | {c: law.span for c, law in self.others.items()}


def _fitted(log: _Log, cleaned: Cleaned, run_onset: Onset | None, who: Identity) -> _Fits:
    whole = identifiability.fit(cleaned.points)
    shape = breaks.binned(whole.calm) if len(cleaned.points) >= FEWEST_POINTS else None
    compared = rivals.compare(whole.points)
    law = law_span.judge(whole, run_onset, log.course, who.intervened, shape, compared)
    fits = _Fits(run_onset, law, shape, compared, _other_laws(log, run_onset, who))
    return _by_stages(fits, log, cleaned, who)


def _by_stages(fits: _Fits, log: _Log, cleaned: Cleaned, who: Identity) -> _Fits:
    """The law on the training reward judged anew where the users changed in stages."""
    is_evaluation = log.reward.startswith(EVALUATIONS)
    law = fits.others.get(log.training) if is_evaluation else fits.law
    if law is None:
        return fits
    staged = stage_laws.judge(law, log.table, cleaned, fits.onset, who.intervened)
    if is_evaluation:
        others = {**fits.others, log.training: staged.law}
        return replace(fits, others=others, of_stages=staged.fields)
    return replace(fits, law=staged.law, of_stages=staged.fields)


def _nothing_valid(log: _Log, cleaned: Cleaned) -> ReadProblem:
    reasons = ", ".join(f"{n} {reason}" for reason, n in cleaned.dropped.items())
    line = min((min(lines) for lines in cleaned.first_lines.values()), default=1)
    rule = "a valid row has a finite step, an entropy in [0, 20] and a finite reward"
    left_out = f"left out: {reasons or 'every row, not evaluated'}"
    names = ("step", log.entropy, log.reward)
    first = ", ".join(f"{name} {_of_first_row(log.table, name)}" for name in names)
    message = f"{log.table.path}:{line}: {rule}; {left_out}; the first row has {first}"
    return ReadProblem("no_valid_rows", message)


def _of_first_row(table: Table, name: str) -> str:
    fault = FAULTS[table.faults[name][0]]
    return table.first.get(name) or fault or f"{table.columns[name][0]:g}"


def _failed(
    run: Found, problem: ReadProblem | None, dropped: Mapping[str, int], standing: Integrity
) -> Analysed:
    result = RunResult(run.run, "error", problem, 0, dict(dropped))
    complete = replace(result, unfinished=standing.unfinished, checksums=standing.checksums)
    return Analysed(complete, None)


def _result(
    run: Found,
    who: Identity,
    log: _Log,
    cleaned: Cleaned,
    choice: Choice,
    standing: Integrity,
    fits: _Fits,
) -> RunResult:
    points, course, run_onset, law = cleaned.points, log.course, fits.onset, fits.law
    told, until = law.verdict, law.span.until
    won = regime.gain(points, columns.is_evaluation(log.reward))
    ends = _ends(log, who)
    silent = signals.silent_share(log.table, cleaned)
    share = choice.forecast_from
    heading = None if law.span.fails else law.fitted
    signs = signals.read(log.table, cleaned, run_onset, heading, until)
    return RunResult(
        run=run.run,
        status="ok",
        error=None,
        n_valid=len(points),
        **_by_name(_numbers(law)),
        dropped={**cleaned.dropped, **standing.dropped},
        reward=log.reward,
        entropy=log.entropy,
        verdict=told.word,
        reasons=_reasons(told, who),
        regime=regime.regime(course, won, run_onset, silent),
        out_of_time_skill=told.skill,
        intervened=who.intervened,
        onset=run_onset,
        landmarks=regime.landmarks(
            course, told.law_break, *regime.ends(law.whole.points, fits.shape)
        ),
        spikes=Spikes(glitches.count(cleaned.entropy), glitches.count(points.reward)),
        **_curves(log, fits, who),
        forecast=forecast.forecast(cleaned, share) if share is not None else None,
        fits=_other_fits(log, fits.others, who),
        config=who.config,
        level=who.level,
        seed=who.seed,
        difficulty=who.cards.measures,
        gain=won,
        whole_run=None if until is None else _on(law.whole, identifiability.identified(law.whole)),
        dropped_at=_dropped_at(run, cleaned, standing),
        silent_share=silent,
        transfer=replicates.level_ends(log.table),
        same_batch=log.reward == log.training,
        unfinished=standing.unfinished,
        checksums=standing.checksums,
        validity=who.validity,
        policy_verdict=verdict.of_policy(cleaned.entropy, ends.get(OWN)),
        yardsticks=ends or None,
        at_onset=signs.at_onset,
        onset_probe=signs.onset_probe,
        reliability_from_se=signs.reliability_from_se,
        remedy_acted=signs.remedy_acted,
    )


def _curves(log: _Log, fits: _Fits, who: Identity) -> dict[str, Any]:
    """Fields of the run's row about other curves than exp(H)."""
    bounds = columns.reward_range(log.reward, who.ours)
    whole = fits.law.span.until is None
    compared = fits.compared if whole else rivals.compare(fits.law.fitted.points)
    known = None if fits.law.span.fails else ceiling.over_forms(fits.law.fitted, compared, bounds)
    return {
        "rivals": fits.compared,
        "against_linear": rivals.against_linear(fits.compared),
        "ceiling_over_forms": known,
    }


def _ends(log: _Log, who: Identity) -> dict[str, Yardsticks]:
    return yardsticks.read(log.table, who.cards.anchors, setting(who.config, "eval", "users"))


def _reasons(told: Verdict, who: Identity) -> list[str]:
    """The reasons of a verdict, which is about another reward where the users are not valid."""
    return [*told.reasons, *(["invalid_users"] if who.invalid_users else [])]


def _dropped_at(run: Found, cleaned: Cleaned, standing: Integrity) -> dict[str, list[str]]:
    """Reason -> the first few rows, by line, or where there is none, by step."""
    lines = {
        reason: [f"{run.metrics}:{n}" for n in numbers]
        for reason, numbers in cleaned.first_lines.items()
    }
    return lines | standing.dropped_at(run.metrics)


def _numbers(law: JudgedLaw) -> LawNumbers:
    """Of the rows that the verdict speaks of."""
    return _on(law.fitted, law.identified)


def _on(fitted: Fitted, identified: Identified) -> LawNumbers:
    line, spread, ols = fitted.line, fitted.spread, fitted.ols
    return LawNumbers(
        n_fitted=len(fitted.points),
        n_eff=spread.n_eff if spread else None,
        a=spread.a if spread else None,
        b=spread.b if spread else None,
        ceiling=spread.ceiling if spread else None,
        cov_ab=spread.cov_ab if spread else None,
        identified=identified,
        reliability=_reliability(ols, line) if ols and line else None,
        ols=ols,
    )


def _reliability(ols: LeastSquares, line: Line) -> float | None:
    ratio = ols.a / line.a if line.a else math.inf
    return ratio if math.isfinite(ratio) else None


def _other_laws(log: _Log, run_onset: Onset | None, who: Identity) -> dict[str, JudgedLaw]:
    """The law on the log's other reward columns, where it has them."""
    laws = {}
    for column in (EVALUATION, log.training):
        if column == log.reward or column not in log.table.names:
            continue
        points = clean.clean(log.table, log.entropy, column).points
        if len(points):
            whole = identifiability.fit(points)
            laws[column] = law_span.judge(whole, run_onset, log.course, who.intervened)
    return laws


def _other_fits(log: _Log, laws: Mapping[str, JudgedLaw], who: Identity) -> dict[str, ColumnLaw]:
    return {
        column: ColumnLaw(
            **_by_name(_numbers(law)),
            n_valid=len(law.whole.points),
            verdict=law.verdict.word,
            reasons=_reasons(law.verdict, who),
            out_of_time_skill=law.verdict.skill,
            same_batch=column == log.training,
            gain=regime.gain(law.whole.points, columns.is_evaluation(column)),
        )
        for column, law in laws.items()
    }


def _by_name(numbers: LawNumbers) -> dict[str, Any]:
    return {field.name: getattr(numbers, field.name) for field in fields(numbers)}


def _series(run: Found, who: Identity, cleaned: Cleaned) -> RunSeries:
    kind = (who.remedy, "null control" if who.null_control else None)
    panel = ", ".join((who.level or "other logs", *filter(None, kind)))
    named = who.level is not None and who.seed is not None
    label = f"{panel}, seed {who.seed}" if named else Path(run.run).name or run.run
    points = cleaned.points
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
    )
