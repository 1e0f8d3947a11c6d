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
    runs: Sequence[DiscoveredRun], options: ColumnOptions, pool: Executor | None = None
) -> list[AnalysedRun]:
    """Analyse each run by itself. Return the results in the order of `runs`."""
    if len(runs) < FEWEST_RUNS:
        return _analyse_in_turn(options, runs)
    chunks = [runs[start : start + CHUNK] for start in range(0, len(runs), CHUNK)]
    pending = process_pool.submit(pool, partial(_analyse_in_turn, options), chunks)
    return [analysed for chunk in pending.results() for analysed in chunk]


def _analyse_in_turn(options: ColumnOptions, runs: Sequence[DiscoveredRun]) -> list[AnalysedRun]:
    analysed = []
    for run in runs:
        folder_identity = identity.read(run.folder)
        analysed.append(
            AnalysedRun(folder_identity, one_run.analyse(run, folder_identity, options))
        )
    return analysed


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
    options = ColumnOptions(reward, entropy, forecast_from, step, reward_range)
    mean_options = _MeanOptions(pool_unlike, with_unfinished)
    comparable = _read(paths, options, mean_options, pool)
    return _compare(comparable, mean_options, margins or DEFAULT_MARGINS, primary)


def analyse_with_members(
    paths: Sequence[Path], options: ColumnOptions, pool: Executor | None = None
) -> tuple[Analysis, tuple[Member, ...]]:
    """Return the results of `analyse` with its defaults and of `load_members`; read runs once."""
    mean_options = _MeanOptions(False, False)
    comparable = _read(paths, options, mean_options, pool)
    return _compare(comparable, mean_options, DEFAULT_MARGINS, None), _finished(comparable)


def _compare(
    comparable: _ComparableRuns,
    mean_options: _MeanOptions,
    margins: Mapping[str, float],
    primary: str | None,
) -> Analysis:
    members, pool_unlike = comparable.members, mean_options.pool_unlike
    grouping = groups.group(members, pool_unlike, mean_options.with_unfinished)
    with_contrasts = contrasts.add_contrasts(
        grouping.groups, members, margins, pool_unlike, primary
    )
    repeated = tuple(
        SkippedPath(path, f"repeat of {chosen}") for path, chosen in comparable.repeats.items()
    )
    return Analysis(
        runs=comparable.runs,
        groups=levels.add_population(with_contrasts, members),
        skipped=(*comparable.skipped, *repeated, *grouping.skipped),
        series=comparable.series,
    )


def load_members(paths: Sequence[Path], pool: Executor | None = None) -> tuple[Member, ...]:
    """Return the readable finished runs at or below `paths`, without repeats."""
    return load_members_and_reasons(paths, pool)[0]


def load_members_and_reasons(
    paths: Sequence[Path], pool: Executor | None = None
) -> tuple[tuple[Member, ...], dict[str, str]]:
    """Return the members, and run -> reason for each of the runs that is not one."""
    comparable = _read(paths, ColumnOptions(None, None, None), _MeanOptions(False, False), pool)
    members = _finished(comparable)
    names = {member.result.run for member in members}
    reasons = {run.run: _reason_left_out(run) for run in comparable.runs if run.run not in names}
    reasons |= {run: f"a repeat of {chosen}" for run, chosen in comparable.repeats.items()}
    return members, reasons


def _finished(comparable: _ComparableRuns) -> tuple[Member, ...]:
    return tuple(member for member in comparable.members if groups.is_counted(member, False))


def _reason_left_out(run: RunResult) -> str:
    if run.unfinished is not None:
        return run.unfinished.reason or f"its status is {run.unfinished.status}"
    message = "no usable rows" if run.error is None else run.error.message
    return message.removeprefix(f"{run.run}: ")


def _read(
    paths: Sequence[Path], options: ColumnOptions, mean_options: _MeanOptions, pool: Executor | None
) -> _ComparableRuns:
    discovered = discover.discover(paths)
    analysed_runs = analyse_each(discovered.runs, options, pool)
    identities = {
        run.run: analysed.identity
        for run, analysed in zip(discovered.runs, analysed_runs, strict=True)
    }
    repeats = _repeats(
        discovered.runs, identities, [analysed.analysis.result for analysed in analysed_runs]
    )
    analyses = [
        analysed.analysis
        for analysed in analysed_runs
        if analysed.analysis.result.run not in repeats
    ]
    series = {
        analysis.result.run: analysis.series for analysis in analyses if analysis.series is not None
    }
    results = [analysis.result for analysis in analyses]
    unfinished = () if mean_options.with_unfinished else _unfinished(results)
    nulls = null_control.null_controls(results, identities, mean_options.pool_unlike, unfinished)
    runs = null_control.add_null_comparison(results, nulls, series)
    replicates = {analysis.result.run: analysis.replicate for analysis in analyses}
    own_nulls = null_control.nulls_of_own_seed(nulls, identities)
    members = tuple(
        Member(
            result,
            identities[result.run],
            replicates[result.run],
            tuple(replicates[null] for null in own_nulls.get(result.run, ())),
        )
        for result in runs
        if result.run in series or result.unfinished is not None
    )
    return _ComparableRuns(runs, members, series, repeats, discovered.skipped)


def _unfinished(results: Sequence[RunResult]) -> frozenset[str]:
    return frozenset(result.run for result in results if result.unfinished is not None)


def _repeats(
    runs: Sequence[DiscoveredRun],
    identities: Mapping[str, FolderIdentity],
    results: Sequence[RunResult],
) -> dict[str, str]:
    """Map each repeat to the run of the same config and seed that is used: the newest finished one.

    An unreadable run is used only if all its repeats are unreadable.
    """
    unfinished = _unfinished(results)
    readable = {result.run: result.status == "ok" for result in results}
    by_config: dict[str, list[str]] = {}
    for run in runs:
        folder_identity = identities[run.run]
        if folder_identity.config is not None and folder_identity.seed is not None:
            by_config.setdefault(
                json.dumps(folder_identity.full_config, sort_keys=True), []
            ).append(run.run)
    used = {
        run: max(repeated, key=lambda r: (readable[r], r not in unfinished, *_rank(identities[r])))
        for repeated in by_config.values()
        for run in repeated
    }
    return {run: chosen for run, chosen in used.items() if run != chosen}


def _rank(folder_identity: FolderIdentity) -> tuple[bool, float]:
    return folder_identity.status == "done", folder_identity.changed_at
