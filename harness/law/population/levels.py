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
    groups: Sequence[GroupResult], members: Sequence[Member]
) -> tuple[GroupResult, ...]:
    """Return the groups with the estimates for their population of seeds."""
    by_run = {member.result.run: member for member in members}
    return tuple(replace(group, population=_population(group, by_run)) for group in groups)


def _population(group: GroupResult, by_run: Mapping[str, Member]) -> Population:
    members = [by_run[run] for run in group.runs]
    diverged = [by_run[run] for run in group.diverged if run not in group.runs]
    runs = [member.result for member in members]
    return Population(
        law=LawOverSeeds(
            a=_over_seeds(group, runs, "a", group.a),
            ceiling=_over_seeds(group, runs, "ceiling", group.ceiling),
            failing=len(group.law_fails),
        ),
        follows=_law_share(group, runs, len(diverged)),
        onset=_onset(members, diverged, bool(group.unknown_seeds)),
    )


def _law_share(group: GroupResult, runs: Sequence[RunResult], diverged: int) -> LawShare:
    """Return the share of seeds that follow the law. Diverged runs count as undetermined."""
    verdicts = [reward_column.verdict_on(run, group.reward) for run in runs]
    follows = between_seeds.share_following([*verdicts, *[None] * diverged])
    if not group.unknown_seeds:
        return follows
    return replace(follows, share=None, decided=None, why="unknown_seeds")


def _over_seeds(
    group: GroupResult, runs: Sequence[RunResult], quantity: str, mean: SeedMean
) -> OverSeeds:
    """Return the estimates over the runs with a law, as in the mean of the group."""
    numbers = [
        (run, number)
        for run in runs
        if not reward_column.law_fails(run, group.reward)
        and (number := reward_column.number_on(run, quantity, group.reward)) is not None
    ]
    sample = random_effects.sample([number for _, number in numbers])
    known_seeds = not group.unknown_seeds
    pooled_numbers = between_seeds.partially_pool(sample) if known_seeds else [None] * len(numbers)
    return OverSeeds(
        mean=None if mean.mean is None else BoundedEstimate(mean.mean, mean.low, mean.high),
        between=between_seeds.spread(sample, random_effects.between(sample))
        if known_seeds
        else None,
        runs=[
            PooledRun(run.run, run.seed, own, pooled)
            for (run, own), pooled in zip(numbers, pooled_numbers, strict=True)
        ],
        why=_why_no_spread(group, [number.value for _, number in numbers]),
    )


def _why_no_spread(group: GroupResult, values: Sequence[float]) -> str | None:
    if not group.runs:
        return "no_run"
    if group.reward is None:
        return "no_common_reward"
    if group.unknown_seeds:
        return "unknown_seeds"
    if len(values) > 1:
        return "seeds_alike" if between_seeds.are_alike(np.array(values)) else None
    return "one_seed" if values else "no_law"


def _onset(
    members: Sequence[Member], diverged: Sequence[Member], unknown_seeds: bool
) -> OnsetOverSeeds:
    judged = [member for member in members if member.result.regime is not None]
    observed = [*judged, *diverged]
    runs = [_run_onset(member) for member in observed]
    times = OnsetTimes(
        np.array([run.step for run in runs], dtype=float),
        np.array([run.collapsed for run in runs], dtype=bool),
    )
    last = max((_last_step(member) for member in observed), default=None)
    points = () if unknown_seeds or not observed else survival.incidence(times)
    collapse_free = [
        member for member, run in zip(observed, runs, strict=True) if not run.collapsed
    ]
    return OnsetOverSeeds(
        events=len(runs) - len(collapse_free),
        censored=len(collapse_free),
        diverged=sum(member.diverged for member in collapse_free),
        not_judged=len(members) - len(judged),
        runs=runs,
        last_step=last,
        before_end=_final_interval(points),
        incidence=points,
        parametric=_parametric(times, last, _why_no_fit(times, len(members), unknown_seeds)),
    )


def _run_onset(member: Member) -> RunOnset:
    onset = member.result.onset
    run_and_seed = (member.result.run, member.result.seed)
    if onset is not None and onset.is_collapse:
        return RunOnset(*run_and_seed, onset.step, collapsed=True)
    return RunOnset(*run_and_seed, _last_step(member), collapsed=False)


def _last_step(member: Member) -> float:
    unfinished = member.result.unfinished
    if member.is_readable:
        return member.replicate.last_step
    return float(unfinished.last_step) if unfinished is not None else 0.0


def _final_interval(points: Sequence[StepShare]) -> Interval | None:
    return Interval(points[-1].value, points[-1].low, points[-1].high) if points else None


def _parametric(times: OnsetTimes, last: float | None, why: str | None) -> ParametricOnset:
    fitted = None if why else log_normal.fit(times.onsets, times.free_until)
    if fitted is None or last is None:
        return ParametricOnset(LOG_NORMAL, None, None, why or "onsets_alike")
    median, spread = fitted.median(), fitted.spread().value
    if median.value > last:
        return ParametricOnset(LOG_NORMAL, None, spread, "beyond_the_runs")
    high = median.high if median.high <= last else None
    within = BoundedEstimate(median.value, median.low, high)
    return ParametricOnset(LOG_NORMAL, within, spread, None)


def _why_no_fit(times: OnsetTimes, member_count: int, unknown_seeds: bool) -> str | None:
    if not len(times):
        return "too_few_steps" if member_count else "no_run"
    if unknown_seeds:
        return "unknown_seeds"
    return {0: "no_onset", 1: "one_onset"}.get(len(times.onsets))
