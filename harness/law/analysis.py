"""From paths to an Analysis: discover the runs, set repeats aside, analyse each, group them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from harness.law import many_runs
from harness.law.compare import contrasts, groups
from harness.law.compare.groups import Member
from harness.law.compare.margins import DEFAULT
from harness.law.estimate import null_control
from harness.law.io import discover
from harness.law.io.column_choice import Choice
from harness.law.io.discover import Found
from harness.law.io.identity import Identity
from harness.law.results import Analysis, RunResult, RunSeries


@dataclass(frozen=True)
class _Counting:
    """Which runs count for others, as the user asked."""

    pool_unlike: bool
    with_unfinished: bool


@dataclass(frozen=True)
class _Read:
    """The runs, each judged by itself and beside its null controls."""

    runs: tuple[RunResult, ...]
    members: tuple[Member, ...]
    series: Mapping[str, RunSeries]
    repeats: Mapping[str, str]
    """Run -> the one that counts in its place."""
    skipped: tuple[Mapping[str, str], ...]


def analyse(
    paths: Sequence[Path],
    *,
    reward: str | None = None,
    entropy: str | None = None,
    forecast_from: float | None = None,
    pool_unlike: bool = False,
    margins: Mapping[str, float] | None = None,
    pool: Executor | None = None,
    with_unfinished: bool = False,
) -> Analysis:
    """Fit the law to every run at or below `paths`. A run that cannot be read is a row.

    `reward` and `entropy` name columns; by default entropy, and eval/reward where it has at
    least 16 values, else reward. A run's numbers do not depend on the other runs, but for what
    `null_control` fills in. `forecast_from` is the share of each run from which its end is
    predicted. `margins`: how small a difference between groups counts as none, as in DEFAULT.
    Unfinished runs are in no mean and no contrast unless `with_unfinished`.
    Processes of the `pool` (workers.others) share the runs where there are many; a script that
    gives one needs `if __name__ == "__main__":`, since each of them imports it.
    """
    choice = Choice(reward, entropy, forecast_from)
    read = _read(paths, choice, _Counting(pool_unlike, with_unfinished), pool)
    members, series = read.members, read.series
    grouping = groups.group(members, pool_unlike, with_unfinished)
    repeated = tuple(
        {"path": path, "reason": f"repeat of {chosen}"} for path, chosen in read.repeats.items()
    )
    return Analysis(
        runs=read.runs,
        groups=contrasts.contrasted(grouping.groups, members, margins or DEFAULT, pool_unlike),
        skipped=(*read.skipped, *repeated, *grouping.skipped),
        series=series,
    )


def members(paths: Sequence[Path], pool: Executor | None = None) -> tuple[Member, ...]:
    """The finished runs at or below `paths` that could be read, each as one of several seeds."""
    read = _read(paths, Choice(None, None, None), _Counting(False, False), pool)
    return tuple(member for member in read.members if groups.counts(member, False))


def _read(
    paths: Sequence[Path], choice: Choice, counting: _Counting, pool: Executor | None
) -> _Read:
    found = discover.discover(paths)
    every = many_runs.analyse(found.runs, choice, pool)
    who = {run.run: one.who for run, one in zip(found.runs, every, strict=True)}
    repeats = _repeats(found.runs, who, [one.analysed.result for one in every])
    done = [one.analysed for one in every if one.analysed.result.run not in repeats]
    series = {d.result.run: d.series for d in done if d.series is not None}
    results = [d.result for d in done]
    partial = () if counting.with_unfinished else _unfinished(results)
    nulls = null_control.null_controls(results, who, counting.pool_unlike, partial)
    runs = null_control.compared(results, nulls, series)
    replicates = {d.result.run: d.replicate for d in done}
    own = null_control.of_own_seed(nulls, who)
    compared = tuple(
        Member(r, who[r.run], replicates[r.run], tuple(replicates[n] for n in own.get(r.run, ())))
        for r in runs
        if r.run in series or r.unfinished is not None
    )
    return _Read(runs, compared, series, repeats, found.skipped)


def _unfinished(results: Sequence[RunResult]) -> frozenset[str]:
    return frozenset(result.run for result in results if result.unfinished is not None)


def _repeats(
    runs: Sequence[Found], who: Mapping[str, Identity], every: Sequence[RunResult]
) -> dict[str, str]:
    """Run -> the one of the same config and seed that counts: the newest finished one.

    One that could not be read counts only where none could.
    """
    partial = _unfinished(every)
    readable = {result.run: result.status == "ok" for result in every}
    alike: dict[str, list[str]] = {}
    for run in runs:
        name = who[run.run]
        if name.config is not None and name.seed is not None:
            alike.setdefault(json.dumps(name.config, sort_keys=True), []).append(run.run)
    counts = {
        run: max(same, key=lambda r: (readable[r], r not in partial, *_rank(who[r])))
        for same in alike.values()
        for run in same
    }
    return {run: chosen for run, chosen in counts.items() if run != chosen}


def _rank(who: Identity) -> tuple[bool, float]:
    return who.status == "done", who.changed_at
