"""Analyse many runs: discover them, set repeats aside, fit each, group and compare them.

Each run is fitted by itself, in this process or, for many runs, in worker processes. A worker
needs half a second before its first run, so a few dozen runs are fitted in this process. The
numbers and their order do not depend on which process fits a run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from harness.law import one_run
from harness.law.compare import contrasts, groups
from harness.law.compare.claims import DEFAULT_MARGINS
from harness.law.compare.groups import Member
from harness.law.estimate import null_control
from harness.law.group_results import Analysis
from harness.law.io import discover, identity
from harness.law.io.columns import ColumnOptions
from harness.law.io.discover import DiscoveredRun
from harness.law.io.identity import FolderIdentity
from harness.law.one_run import RunAnalysis
from harness.law.population import levels
from harness.law.result_parts import SkippedPath
from harness.law.results import RunResult, RunSeries
from harness.utils import process_pool
from harness.utils.process_pool import FEWEST_RUNS

CHUNK = 5
"""Runs sent to a worker at once. Small chunks balance the load: at the end, a worker still holds
one chunk and two queued ones that idle workers cannot take over. Sending 500 runs in chunks of 5
takes no longer than in chunks of 20.
"""


@dataclass(frozen=True)
class AnalysedRun:
    """The identity of a run, and the result of its analysis."""

    identity: FolderIdentity
    analysis: RunAnalysis


def analyse_each(
    runs: Sequence[DiscoveredRun], choice: ColumnOptions, pool: Executor | None = None
) -> list[AnalysedRun]:
    """Analyse each run by itself. Return the results in the order of `runs`."""
    if len(runs) < FEWEST_RUNS:
        return _in_turn(choice, runs)
    chunks = [runs[at : at + CHUNK] for at in range(0, len(runs), CHUNK)]
    begun = process_pool.submit(pool, partial(_in_turn, choice), chunks)
    return [done for chunk in begun.results() for done in chunk]


def _in_turn(choice: ColumnOptions, runs: Sequence[DiscoveredRun]) -> list[AnalysedRun]:
    done = []
    for run in runs:
        who = identity.read(run.folder)
        done.append(AnalysedRun(who, one_run.analyse(run, who, choice)))
    return done


@dataclass(frozen=True)
class _MeanOptions:
    """Options that select the runs that enter groups and means."""

    pool_unlike: bool
    with_unfinished: bool


@dataclass(frozen=True)
class _ComparableRuns:
    """The runs, each judged by itself and compared with its null controls."""

    runs: tuple[RunResult, ...]
    members: tuple[Member, ...]
    series: Mapping[str, RunSeries]
    repeats: Mapping[str, str]
    """Run that repeats another -> the run that is used in its place."""
    skipped: tuple[SkippedPath, ...]


def analyse(
    paths: Sequence[Path],
    *,
    reward: str | None = None,
    entropy: str | None = None,
    step: str | None = None,
    forecast_from: float | None = None,
    pool_unlike: bool = False,
    margins: Mapping[str, float] | None = None,
    pool: Executor | None = None,
    with_unfinished: bool = False,
    reward_range: tuple[float, float] | None = None,
    primary: str | None = None,
) -> Analysis:
    """Fit the law to every run at or below `paths`. A run that cannot be read gets an error row.

    `reward`, `entropy` and `step` name columns. Defaults: `entropy`, and `eval/reward` if it has at
    least 16 values, else `reward`. A run's numbers do not depend on other runs, except those that
    `null_control` fills in. `forecast_from` is the share of each run from which its end is
    predicted. `margins` are the differences between groups that count as equivalent, by default
    DEFAULT_MARGINS. Unfinished runs enter means and contrasts only with `with_unfinished`.
    `reward_range` is the lowest and highest possible R: rows outside are left out, and the ceiling
    lies inside. `primary` names the quantity of contrasts that bears most of the error rate, by
    default the ceiling. Workers of `pool` (process_pool.worker_pool) share the runs if there are
    many; a script that passes one needs `if __name__ == "__main__":`, because each worker imports
    it.
    """
    choice = ColumnOptions(reward, entropy, forecast_from, step, reward_range)
    counting = _MeanOptions(pool_unlike, with_unfinished)
    read = _read(paths, choice, counting, pool)
    return _compare(read, counting, margins or DEFAULT_MARGINS, primary)


def analyse_with_members(
    paths: Sequence[Path], choice: ColumnOptions, pool: Executor | None = None
) -> tuple[Analysis, tuple[Member, ...]]:
    """Return the results of `analyse` with its defaults and of `load_members`; read runs once."""
    counting = _MeanOptions(False, False)
    read = _read(paths, choice, counting, pool)
    return _compare(read, counting, DEFAULT_MARGINS, None), _finished(read)


def _compare(
    read: _ComparableRuns, counting: _MeanOptions, margins: Mapping[str, float], primary: str | None
) -> Analysis:
    members, unlike = read.members, counting.pool_unlike
    grouping = groups.group(members, unlike, counting.with_unfinished)
    compared = contrasts.add_contrasts(grouping.groups, members, margins, unlike, primary)
    repeated = tuple(
        SkippedPath(path, f"repeat of {chosen}") for path, chosen in read.repeats.items()
    )
    return Analysis(
        runs=read.runs,
        groups=levels.add_population(compared, members),
        skipped=(*read.skipped, *repeated, *grouping.skipped),
        series=read.series,
    )


def load_members(paths: Sequence[Path], pool: Executor | None = None) -> tuple[Member, ...]:
    """Return the readable finished runs at or below `paths`, without repeats."""
    return load_members_and_reasons(paths, pool)[0]


def load_members_and_reasons(
    paths: Sequence[Path], pool: Executor | None = None
) -> tuple[tuple[Member, ...], dict[str, str]]:
    """Return the members, and run -> reason for each of the runs that is not one."""
    read = _read(paths, ColumnOptions(None, None, None), _MeanOptions(False, False), pool)
    counted = _finished(read)
    inside = {member.result.run for member in counted}
    others = {run.run: _why_not(run) for run in read.runs if run.run not in inside}
    others |= {run: f"a repeat of {chosen}" for run, chosen in read.repeats.items()}
    return counted, others


def _finished(read: _ComparableRuns) -> tuple[Member, ...]:
    return tuple(member for member in read.members if groups.is_counted(member, False))


def _why_not(run: RunResult) -> str:
    if run.unfinished is not None:
        return run.unfinished.reason or f"its status is {run.unfinished.status}"
    message = "no usable rows" if run.error is None else run.error.message
    return message.removeprefix(f"{run.run}: ")


def _read(
    paths: Sequence[Path], choice: ColumnOptions, counting: _MeanOptions, pool: Executor | None
) -> _ComparableRuns:
    discovered = discover.discover(paths)
    every = analyse_each(discovered.runs, choice, pool)
    who = {run.run: one.identity for run, one in zip(discovered.runs, every, strict=True)}
    repeats = _repeats(discovered.runs, who, [one.analysis.result for one in every])
    done = [one.analysis for one in every if one.analysis.result.run not in repeats]
    series = {d.result.run: d.series for d in done if d.series is not None}
    results = [d.result for d in done]
    partial = () if counting.with_unfinished else _unfinished(results)
    nulls = null_control.null_controls(results, who, counting.pool_unlike, partial)
    runs = null_control.add_null_comparison(results, nulls, series)
    replicates = {d.result.run: d.replicate for d in done}
    paired = null_control.nulls_of_own_seed(nulls, who)
    compared = tuple(
        Member(
            r, who[r.run], replicates[r.run], tuple(replicates[n] for n in paired.get(r.run, ()))
        )
        for r in runs
        if r.run in series or r.unfinished is not None
    )
    return _ComparableRuns(runs, compared, series, repeats, discovered.skipped)


def _unfinished(results: Sequence[RunResult]) -> frozenset[str]:
    return frozenset(result.run for result in results if result.unfinished is not None)


def _repeats(
    runs: Sequence[DiscoveredRun], who: Mapping[str, FolderIdentity], every: Sequence[RunResult]
) -> dict[str, str]:
    """Map each repeat to the run of the same config and seed that is used: the newest finished one.

    An unreadable run is used only if all its repeats are unreadable.
    """
    partial = _unfinished(every)
    readable = {result.run: result.status == "ok" for result in every}
    alike: dict[str, list[str]] = {}
    for run in runs:
        name = who[run.run]
        if name.config is not None and name.seed is not None:
            alike.setdefault(json.dumps(name.full_config, sort_keys=True), []).append(run.run)
    counts = {
        run: max(same, key=lambda r: (readable[r], r not in partial, *_rank(who[r])))
        for same in alike.values()
        for run in same
    }
    return {run: chosen for run, chosen in counts.items() if run != chosen}


def _rank(who: FolderIdentity) -> tuple[bool, float]:
    return who.status == "done", who.changed_at
