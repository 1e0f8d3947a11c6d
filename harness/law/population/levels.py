"""One answer per group over its seeds: its law, how many follow it, and when they collapse.

What counts is what counts in the group's means (compare/groups.py), and the means of a and of the
ceiling are those means. A run that diverged says that its onset lies after its last step, and of
the law nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from harness.law.compare import groups, random_effects
from harness.law.compare.groups import Member
from harness.law.group_results import GroupResult, Pooled
from harness.law.population import between_seeds, followers, log_normal, survival
from harness.law.population.survival import Times
from harness.law.population_results import (
    LawOverSeeds,
    OnsetOverSeeds,
    OverSeeds,
    ParametricOnset,
    PooledRun,
    Population,
)
from harness.law.results import Bounded, Interval, RunResult

LOG_NORMAL = "log_normal"


def described(
    every: Sequence[GroupResult], members: Sequence[Member]
) -> tuple[GroupResult, ...]:
    """The groups, each with what its seeds say of all seeds of its kind."""
    by_run = {member.result.run: member for member in members}
    return tuple(replace(group, population=_population(group, by_run)) for group in every)


def _population(group: GroupResult, by_run: Mapping[str, Member]) -> Population:
    counted = [by_run[run] for run in group.runs]
    lost = [by_run[run] for run in group.diverged if run not in group.runs]
    runs = [member.result for member in counted]
    return Population(
        law=LawOverSeeds(
            a=_over_seeds(group, runs, "a", group.a),
            ceiling=_over_seeds(group, runs, "ceiling", group.ceiling),
            failing=len(group.law_fails),
        ),
        follows=followers.share(
            [*(groups.verdict_on(run, group.reward) for run in runs), *[None] * len(lost)]
        ),
        onset=_onset(counted, lost, bool(group.unknown_seeds)),
    )


def _over_seeds(
    group: GroupResult, runs: Sequence[RunResult], quantity: str, mean: Pooled
) -> OverSeeds:
    """Of the runs with a law, as in the mean of the group."""
    told = [
        (run, number)
        for run in runs
        if not groups.law_fails(run, group.reward)
        and (number := groups.number_on(run, quantity, group.reward)) is not None
    ]
    sample = random_effects.sample([number for _, number in told])
    known = not group.unknown_seeds
    drawn = between_seeds.pooled(sample) if known else [None] * len(told)
    return OverSeeds(
        mean=None if mean.mean is None else Bounded(mean.mean, mean.low, mean.high),
        between=between_seeds.spread(sample, random_effects.between(sample)) if known else None,
        runs=[
            PooledRun(run.run, run.seed, own, pooled)
            for (run, own), pooled in zip(told, drawn, strict=True)
        ],
        why=_why_no_spread(group, len(told)),
    )


def _why_no_spread(group: GroupResult, told: int) -> str | None:
    if not group.runs:
        return "no_run"
    if group.reward is None:
        return "no_common_reward"
    if group.unknown_seeds:
        return "unknown_seeds"
    return {0: "no_law", 1: "one_seed"}.get(told)


def _onset(
    counted: Sequence[Member], lost: Sequence[Member], unknown_seeds: bool
) -> OnsetOverSeeds:
    judged = [member for member in counted if member.result.regime is not None]
    telling = [*judged, *lost]
    times = Times(
        np.array([_time(member) for member in telling], dtype=float),
        np.array([_collapsed(member) for member in telling], dtype=bool),
    )
    last = max((_last_step(member) for member in telling), default=None)
    points = () if unknown_seeds or not telling else survival.incidence(times)
    return OnsetOverSeeds(
        events=int(times.collapsed.sum()),
        censored=int((~times.collapsed).sum()),
        diverged=sum(not _collapsed(member) for member in telling if member.diverged),
        not_judged=len(counted) - len(judged),
        last_step=last,
        before_end=_last(points),
        incidence=points,
        parametric=_parametric(times, last, unknown_seeds),
    )


def _collapsed(member: Member) -> bool:
    onset = member.result.onset
    return onset is not None and onset.is_collapse


def _time(member: Member) -> float:
    """The step of its onset, or the last at which it had none."""
    onset = member.result.onset
    return onset.step if onset is not None and onset.is_collapse else _last_step(member)


def _last_step(member: Member) -> float:
    unfinished = member.result.unfinished
    if member.readable:
        return member.replicate.last_step
    return float(unfinished.last_step) if unfinished is not None else 0.0


def _last(points: Sequence[survival.StepShare]) -> Interval | None:
    return Interval(points[-1].value, points[-1].low, points[-1].high) if points else None


def _parametric(times: Times, last: float | None, unknown_seeds: bool) -> ParametricOnset:
    why = _why_no_fit(times, unknown_seeds)
    found = None if why else log_normal.fit(times.onsets, times.free_until)
    if found is None or last is None:
        return ParametricOnset(LOG_NORMAL, None, None, None, why or "onsets_alike")
    median = found.median()
    beyond = median.value > last
    within = None if beyond else Bounded(
        median.value, median.low, median.high if median.high <= last else None
    )  # fmt: skip
    why = "beyond_the_runs" if beyond else None
    return ParametricOnset(LOG_NORMAL, within, found.spread(), found.before(last), why)


def _why_no_fit(times: Times, unknown_seeds: bool) -> str | None:
    if not len(times):
        return "no_run"
    if unknown_seeds:
        return "unknown_seeds"
    return {0: "no_onset", 1: "one_onset"}.get(len(times.onsets))
