"""From paths to an Analysis: discover, read, clean, fit, judge, group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.law import (
    clean,
    discover,
    gates,
    groups,
    identity,
    onset,
    reading,
    regime,
    rivals,
    verdict,
)
from harness.law.discover import Found
from harness.law.gates import Fitted
from harness.law.groups import Member
from harness.law.identity import Identity
from harness.law.reading import ReadError, Table
from harness.law.results import Analysis, Interval, Onset, ReadProblem, RunResult, RunSeries
from harness.law.verdict import Verdict

EVALUATION = "eval/reward"
TRAINING = "reward"
ENTROPY = "entropy"
SILENT = ("groups/below_floor", "frac_reward_zero_std")
"""Shares of groups that carry no signal; the larger one counts."""
FEWEST_EVALUATIONS = 16


@dataclass(frozen=True)
class _Columns:
    """The columns the user named; None leaves the choice to the log."""

    reward: str | None
    entropy: str


@dataclass(frozen=True)
class _Done:
    member: Member
    series: RunSeries | None


def analyse(
    paths: Sequence[Path],
    *,
    reward: str | None = None,
    entropy: str | None = None,
    pool_unlike: bool = False,
) -> Analysis:
    """Fit the law to every run at or below `paths`. A run that cannot be read is a row."""
    found = discover.discover(paths)
    who = [identity.read(run.folder) for run in found.runs]
    repeats = _repeats(found.runs, who)
    columns = _Columns(reward, entropy or ENTROPY)
    done = [
        _analyse_one(run, name, columns)
        for run, name in zip(found.runs, who, strict=True)
        if run.run not in repeats
    ]
    fitted = [d.member for d in done if d.series is not None]
    grouping = groups.group(fitted, pool_unlike)
    repeated = tuple({"path": path, "reason": "repeat"} for path in repeats)
    return Analysis(
        runs=tuple(d.member.result for d in done),
        groups=grouping.groups,
        skipped=(*found.skipped, *repeated, *grouping.skipped),
        series={d.member.result.run: d.series for d in done if d.series is not None},
    )


def _repeats(runs: Sequence[Found], who: Sequence[Identity]) -> list[str]:
    """Runs whose config and seed another one shares that is finished, or newer, or both."""
    best: dict[tuple[str, int], int] = {}
    repeated = []
    for index, name in enumerate(who):
        if not name.config_hash or name.seed is None:
            continue
        key = (name.config_hash, name.seed)
        other = best.setdefault(key, index)
        if other != index:
            newer, older = (
                (index, other) if _rank(who[index]) > _rank(who[other]) else (other, index)
            )
            best[key] = newer
            repeated.append(runs[older].run)
    return repeated


def _rank(name: Identity) -> tuple[bool, float]:
    return name.status == "done", name.changed_at


def _analyse_one(run: Found, name: Identity, columns: _Columns) -> _Done:
    if run.problem is not None or run.metrics is None:
        return _failed(run, name, run.problem, {})
    try:
        wanted = dict.fromkeys(["step", columns.entropy, TRAINING, EVALUATION, *SILENT])
        if columns.reward:
            wanted[columns.reward] = None
        table = reading.read(run.metrics, list(wanted), name.status == "running")
        headline = _headline(table, columns)
    except ReadError as error:
        return _failed(run, name, error.problem, {})
    cleaned = clean.clean(table, columns.entropy, headline)
    if len(cleaned.points) == 0:
        return _failed(run, name, _nothing_valid(table, cleaned), cleaned.dropped)
    return _fitted(run, name, table, columns, headline, cleaned)


def _headline(table: Table, columns: _Columns) -> str:
    """The reward column the verdict is about. Raises ReadError with missing_column."""
    reward = columns.reward
    if reward is None:
        evaluated = np.isfinite(table.columns[EVALUATION]) & np.isfinite(
            table.columns[columns.entropy]
        )
        enough = evaluated.sum() >= FEWEST_EVALUATIONS or TRAINING not in table.names
        reward = EVALUATION if EVALUATION in table.names and enough else TRAINING
    for needed in ("step", columns.entropy, reward):
        if needed not in table.names:
            has = ", ".join(table.names[:12]) + (", ..." if len(table.names) > 12 else "")
            message = f"{table.path}: needs a column {needed!r}, has {has or 'none'}"
            raise ReadError("missing_column", message)
    return reward


def _nothing_valid(table: Table, cleaned: clean.Cleaned) -> ReadProblem:
    reasons = ", ".join(f"{n} {reason}" for reason, n in cleaned.dropped.items())
    line = min(cleaned.first_line.values(), default=1)
    rule = "a valid row has a finite step, an entropy in [0, 20] and a finite reward"
    return ReadProblem(
        "no_valid_rows", f"{table.path}:{line}: {rule}; left out: {reasons or 'all'}"
    )


def _failed(
    run: Found, name: Identity, problem: ReadProblem | None, dropped: Mapping[str, int]
) -> _Done:
    result = RunResult(run.run, "error", problem, 0, dict(dropped))
    return _Done(Member(result, name), None)


def _fitted(
    run: Found,
    name: Identity,
    table: Table,
    columns: _Columns,
    headline: str,
    cleaned: clean.Cleaned,
) -> _Done:
    points = cleaned.points
    steps, entropy = clean.entropy_points(table, columns.entropy)
    course = onset.course(steps, entropy)
    found = onset.find(course, points) if course is not None else None
    fitted = gates.fit(points)
    judged = verdict.judge(fitted, found, course, name.intervened)
    won = regime.gain(points)
    result = RunResult(
        run=run.run,
        status="ok",
        error=None,
        n_valid=len(points),
        dropped=dict(cleaned.dropped),
        reward=headline,
        entropy=columns.entropy,
        **_numbers(fitted, judged),
        regime=regime.regime(entropy, won, found, _silent_share(table)),
        intervened=name.intervened,
        onset=found,
        landmarks=_landmarks(course, judged),
        rivals=rivals.compare(points),
        fits=_other_fits(table, columns, headline, name, course, found),
        config=name.config,
        level=name.level,
        seed=name.seed,
        gain=won,
    )
    return _Done(Member(result, name), _series(run, name, points))


def _numbers(fitted: Fitted, judged: Verdict) -> dict[str, Any]:
    """The fields of a RunResult that one fit decides."""
    line, spread, ols = fitted.line, fitted.spread, fitted.ols
    return {
        "n_eff": spread.n_eff if spread else None,
        "verdict": judged.word,
        "reasons": list(judged.reasons),
        "a": spread.a if spread else None,
        "b": spread.b if spread else None,
        "ceiling": spread.ceiling if spread else None,
        "cov_ab": spread.cov_ab if spread else None,
        "identified": gates.identified(fitted),
        "reliability": ols.a / line.a if ols and line and line.a else None,
        "out_of_time_skill": judged.skill,
        "ols": {"a": ols.a, "b": ols.b, "r2": ols.r2} if ols else None,
    }


def _other_fits(
    table: Table,
    columns: _Columns,
    headline: str,
    name: Identity,
    course: onset.Course | None,
    found: Onset | None,
) -> dict[str, Any]:
    """The law on the log's other reward column; only where the log has one."""
    fits = {}
    for column in (EVALUATION, TRAINING):
        if column == headline or column not in table.names:
            continue
        points = clean.clean(table, columns.entropy, column).points
        if len(points):
            fitted = gates.fit(points)
            judged = verdict.judge(fitted, found, course, name.intervened)
            fits[column] = {"n_valid": len(points), **_plain(_numbers(fitted, judged))}
    return fits


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        key: {"value": v.value, "low": v.low, "high": v.high} if isinstance(v, Interval) else v
        for key, v in values.items()
    }


def _landmarks(course: onset.Course | None, judged: Verdict) -> dict[str, float | None]:
    """Steps at which headroom, and H itself, come to stay below a share of their start."""
    marks: dict[str, float | None] = {}
    for percent in (50, 20, 10, 5):
        spent = onset.last_crossing(course, percent / 100) if course else None
        marks[f"headroom_{percent}"] = spent
    for percent in (50, 20, 10, 5):
        fallen = onset.last_entropy_crossing(course, percent / 100) if course else None
        marks[f"entropy_{percent}"] = fallen
    marks["law_break"] = judged.law_break
    return marks


def _silent_share(table: Table) -> float | None:
    """Mean share of groups without a signal; None where the log does not hold it."""
    finite = [c[np.isfinite(c)] for c in (table.columns[name] for name in SILENT)]
    return max((float(c.mean()) for c in finite if len(c)), default=None)


def _series(run: Found, name: Identity, points: clean.Points) -> RunSeries:
    known = name.level is not None and name.seed is not None
    level = name.level or "other logs"
    panel = f"{level}, null control" if name.null_control else level
    label = f"{panel}, seed {name.seed}" if known else Path(run.run).name or run.run
    return RunSeries(run.run, label, panel, name.seed, points.steps, points.entropy, points.reward)
