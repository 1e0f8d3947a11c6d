"""The analysis of many runs: discover them, set repeats aside, fit each, group and compare them.

Each run is fitted by itself, here or in other processes where there are enough to pay for them: a
process costs half a second before its first run, so a few dozen runs are fitted in this one.
Which process fits a run changes nothing in its numbers, and the order is that of the runs.
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
from harness.law.io.columns import Choice
from harness.law.io.discover import Found
from harness.law.io.identity import Identity
from harness.law.one_run import Analysed
from harness.law.population import levels
from harness.law.result_parts import Skipped
from harness.law.results import RunResult, RunSeries
from harness.utils import process_pool
from harness.utils.process_pool import FEWEST_RUNS

CHUNK = 5
"""Runs handed over at once: few, since a process still has one chunk in hand and two in its queue
when nothing is left to be taken from it, and the others wait for these. Sending 500 runs by fives
takes no longer than by twenties.
"""


@dataclass(frozen=True)
class AnalysedRun:
    """A run's folder, and what was found of it."""

    who: Identity
    analysed: Analysed


def each_alone(
    runs: Sequence[Found], choice: Choice, pool: Executor | None = None
) -> list[AnalysedRun]:
    """One for each run, in their order."""
    if len(runs) < FEWEST_RUNS:
        return _in_turn(choice, runs)
    chunks = [runs[at : at + CHUNK] for at in range(0, len(runs), CHUNK)]
    begun = process_pool.begin(pool, partial(_in_turn, choice), chunks)
    return [done for chunk in begun.results() for done in chunk]


def _in_turn(choice: Choice, runs: Sequence[Found]) -> list[AnalysedRun]:
    done = []
    for run in runs:
        who = identity.read(run.folder)
        done.append(AnalysedRun(who, one_run.analyse(run, who, choice)))
    return done


@dataclass(frozen=True)
class _Counting:
    """Options of which runs count for others."""

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
    skipped: tuple[Skipped, ...]


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
    """Fit the law to every run at or below `paths`. A run that cannot be read is a row.

    `reward`, `entropy` and `step` name columns; by default entropy, and eval/reward where it has at
    least 16 values, else reward. A run's numbers do not depend on the other runs, but for what
    `null_control` fills in. `forecast_from` is the share of each run from which its end is
    predicted. `margins`: how small a difference between groups counts as none, as in DEFAULT.
    Unfinished runs are in no mean and no contrast unless `with_unfinished`. `reward_range`: the
    lowest and the highest R there can be; rows beyond are left out, and the ceiling lies within.
    `primary`: the quantity of contrasts that bears most of the error, instead of the ceiling.
    Processes of the `pool` (workers.others) share the runs where there are many; a script that
    gives one needs `if __name__ == "__main__":`, since each of them imports it.
    """
    choice = Choice(reward, entropy, forecast_from, step, reward_range)
    counting = _Counting(pool_unlike, with_unfinished)
    read = _read(paths, choice, counting, pool)
    return _compared(read, counting, margins or DEFAULT_MARGINS, primary)


def with_members(
    paths: Sequence[Path], choice: Choice, pool: Executor | None = None
) -> tuple[Analysis, tuple[Member, ...]]:
    """`analyse` with its defaults, and the runs that `members` gives, of one reading."""
    counting = _Counting(False, False)
    read = _read(paths, choice, counting, pool)
    return _compared(read, counting, DEFAULT_MARGINS, None), _finished(read)


def _compared(
    read: _Read, counting: _Counting, margins: Mapping[str, float], primary: str | None
) -> Analysis:
    members, unlike = read.members, counting.pool_unlike
    grouping = groups.group(members, unlike, counting.with_unfinished)
    compared = contrasts.contrasted(grouping.groups, members, margins, unlike, primary)
    repeated = tuple(Skipped(path, f"repeat of {chosen}") for path, chosen in read.repeats.items())
    return Analysis(
        runs=read.runs,
        groups=levels.described(compared, members),
        skipped=(*read.skipped, *repeated, *grouping.skipped),
        series=read.series,
    )


def members(paths: Sequence[Path], pool: Executor | None = None) -> tuple[Member, ...]:
    """The finished runs at or below `paths` that could be read, each as one of several seeds."""
    return members_and_others(paths, pool)[0]


def members_and_others(
    paths: Sequence[Path], pool: Executor | None = None
) -> tuple[tuple[Member, ...], dict[str, str]]:
    """The same, and for each of the other runs why it is none of them."""
    read = _read(paths, Choice(None, None, None), _Counting(False, False), pool)
    counted = _finished(read)
    inside = {member.result.run for member in counted}
    others = {run.run: _why_not(run) for run in read.runs if run.run not in inside}
    others |= {run: f"a repeat of {chosen}" for run, chosen in read.repeats.items()}
    return counted, others


def _finished(read: _Read) -> tuple[Member, ...]:
    return tuple(member for member in read.members if groups.counts(member, False))


def _why_not(run: RunResult) -> str:
    if run.unfinished is not None:
        return run.unfinished.reason or f"its status is {run.unfinished.status}"
    message = "it has no rows that can be used" if run.error is None else run.error.message
    return message.removeprefix(f"{run.run}: ")


def _read(
    paths: Sequence[Path], choice: Choice, counting: _Counting, pool: Executor | None
) -> _Read:
    discovered = discover.discover(paths)
    every = each_alone(discovered.runs, choice, pool)
    who = {run.run: one.who for run, one in zip(discovered.runs, every, strict=True)}
    repeats = _repeats(discovered.runs, who, [one.analysed.result for one in every])
    done = [one.analysed for one in every if one.analysed.result.run not in repeats]
    series = {d.result.run: d.series for d in done if d.series is not None}
    results = [d.result for d in done]
    partial = () if counting.with_unfinished else _unfinished(results)
    nulls = null_control.null_controls(results, who, counting.pool_unlike, partial)
    runs = null_control.compared(results, nulls, series)
    replicates = {d.result.run: d.replicate for d in done}
    paired = null_control.of_own_seed(nulls, who)
    compared = tuple(
        Member(
            r, who[r.run], replicates[r.run], tuple(replicates[n] for n in paired.get(r.run, ()))
        )
        for r in runs
        if r.run in series or r.unfinished is not None
    )
    return _Read(runs, compared, series, repeats, discovered.skipped)


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
            alike.setdefault(json.dumps(name.full_config, sort_keys=True), []).append(run.run)
    counts = {
        run: max(same, key=lambda r: (readable[r], r not in partial, *_rank(who[r])))
        for same in alike.values()
        for run in same
    }
    return {run: chosen for run, chosen in counts.items() if run != chosen}


def _rank(who: Identity) -> tuple[bool, float]:
    return who.status == "done", who.changed_at
