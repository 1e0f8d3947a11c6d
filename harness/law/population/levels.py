"""Describe the population of seeds of each group: its law, the share that follow it, the onset.

It uses the same runs as the group's means (compare/groups.py), and the same means of a and the
ceiling. A diverged run is censored in the onset at its last step, and is unknown for the law.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from harness.law.compare import random_effects, reward_column
from harness.law.compare.groups import Member
from harness.law.group_results import GroupResult, SeedMean
from harness.law.population import between_seeds, log_normal, survival
from harness.law.population.survival import OnsetTimes
from harness.law.population_results import (
    LawOverSeeds,
    LawShare,
    OnsetOverSeeds,
    OverSeeds,
    ParametricOnset,
    PooledRun,
    Population,
    RunOnset,
    StepShare,
)
from harness.law.results import BoundedEstimate, Interval, RunResult

LOG_NORMAL = "log_normal"


def add_population(
    every: Sequence[GroupResult], members: Sequence[Member]
) -> tuple[GroupResult, ...]:
    """Return the groups with the estimates for their population of seeds."""
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
        follows=_follows(group, runs, len(lost)),
        onset=_onset(counted, lost, bool(group.unknown_seeds)),
    )


def _follows(group: GroupResult, runs: Sequence[RunResult], lost: int) -> LawShare:
    """Return the share of seeds that follow the law. Diverged runs count as undetermined."""
    verdicts = [reward_column.verdict_on(run, group.reward) for run in runs]
    follows = between_seeds.share_following([*verdicts, *[None] * lost])
    if not group.unknown_seeds:
        return follows
    return replace(follows, share=None, decided=None, why="unknown_seeds")


def _over_seeds(
    group: GroupResult, runs: Sequence[RunResult], quantity: str, mean: SeedMean
) -> OverSeeds:
    """Return the estimates over the runs with a law, as in the mean of the group."""
    told = [
        (run, number)
        for run in runs
        if not reward_column.law_fails(run, group.reward)
        and (number := reward_column.number_on(run, quantity, group.reward)) is not None
    ]
    sample = random_effects.sample([number for _, number in told])
    known = not group.unknown_seeds
    drawn = between_seeds.partially_pool(sample) if known else [None] * len(told)
    return OverSeeds(
        mean=None if mean.mean is None else BoundedEstimate(mean.mean, mean.low, mean.high),
        between=between_seeds.spread(sample, random_effects.between(sample)) if known else None,
        runs=[
            PooledRun(run.run, run.seed, own, pooled)
            for (run, own), pooled in zip(told, drawn, strict=True)
        ],
        why=_why_no_spread(group, [number.value for _, number in told]),
    )


def _why_no_spread(group: GroupResult, told: Sequence[float]) -> str | None:
    if not group.runs:
        return "no_run"
    if group.reward is None:
        return "no_common_reward"
    if group.unknown_seeds:
        return "unknown_seeds"
    if len(told) > 1:
        return "seeds_alike" if between_seeds.are_alike(np.array(told)) else None
    return "one_seed" if told else "no_law"


def _onset(
    counted: Sequence[Member], lost: Sequence[Member], unknown_seeds: bool
) -> OnsetOverSeeds:
    judged = [member for member in counted if member.result.regime is not None]
    telling = [*judged, *lost]
    runs = [_run_onset(member) for member in telling]
    times = OnsetTimes(
        np.array([run.step for run in runs], dtype=float),
        np.array([run.collapsed for run in runs], dtype=bool),
    )
    last = max((_last_step(member) for member in telling), default=None)
    points = () if unknown_seeds or not telling else survival.incidence(times)
    free = [member for member, run in zip(telling, runs, strict=True) if not run.collapsed]
    return OnsetOverSeeds(
        events=len(runs) - len(free),
        censored=len(free),
        diverged=sum(member.diverged for member in free),
        not_judged=len(counted) - len(judged),
        runs=runs,
        last_step=last,
        before_end=_last(points),
        incidence=points,
        parametric=_parametric(times, last, _why_no_fit(times, len(counted), unknown_seeds)),
    )


def _run_onset(member: Member) -> RunOnset:
    onset = member.result.onset
    who = (member.result.run, member.result.seed)
    if onset is not None and onset.is_collapse:
        return RunOnset(*who, onset.step, collapsed=True)
    return RunOnset(*who, _last_step(member), collapsed=False)


def _last_step(member: Member) -> float:
    unfinished = member.result.unfinished
    if member.is_readable:
        return member.replicate.last_step
    return float(unfinished.last_step) if unfinished is not None else 0.0


def _last(points: Sequence[StepShare]) -> Interval | None:
    return Interval(points[-1].value, points[-1].low, points[-1].high) if points else None


def _parametric(times: OnsetTimes, last: float | None, why: str | None) -> ParametricOnset:
    found = None if why else log_normal.fit(times.onsets, times.free_until)
    if found is None or last is None:
        return ParametricOnset(LOG_NORMAL, None, None, why or "onsets_alike")
    median, spread = found.median(), found.spread().value
    if median.value > last:
        return ParametricOnset(LOG_NORMAL, None, spread, "beyond_the_runs")
    high = median.high if median.high <= last else None
    within = BoundedEstimate(median.value, median.low, high)
    return ParametricOnset(LOG_NORMAL, within, spread, None)


def _why_no_fit(times: OnsetTimes, counted: int, unknown_seeds: bool) -> str | None:
    if not len(times):
        return "too_few_steps" if counted else "no_run"
    if unknown_seeds:
        return "unknown_seeds"
    return {0: "no_onset", 1: "one_onset"}.get(len(times.onsets))
