"""Measure the variance of reward and listening due to seed, user, repeat, level and simulator.

Also compute the critical batch of entropy of each arm from the ledgers of its runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harness.law.compare import groups, seed_means
from harness.law.estimate import entropy_ledger, numbers
from harness.law.estimate.entropy_ledger import PARTS
from harness.law.results import Floats, Interval
from harness.law.variance import parts, runs, sizes
from harness.law.variance.results import Arm, CriticalBatch, Variance
from harness.law.variance.runs import RunAtLevel
from harness.law.variance.sizes import Cost


def measure(paths: Sequence[Path], level: str, wanted: float) -> Variance:
    """Return the components of the finished runs at or below `paths`, and plans.

    `wanted` is the half-width of the 95% interval to plan for.
    """
    outcomes, skipped = runs.read(paths, level)
    by_arm: dict[str, list[RunAtLevel]] = {}
    for run in outcomes:
        by_arm.setdefault(json.dumps(run.axes, sort_keys=True, default=str), []).append(run)
    arms = list(by_arm.values())
    within = parts.within_arms(arms)
    among = parts.among_arms(arms, "reward")
    cost, is_cpu = _cost(outcomes)
    variances = {name: part.value for name, part in within.parts.items()}
    draws = {name: part.draws for name, part in within.parts.items()}
    plans = []
    for target in (sizes.MEAN, sizes.DIFFERENCE) if cost and within.plannable else ():
        plan = sizes.cheapest(target, variances, wanted, cost) if cost else None
        plans += [sizes.with_upper_half_width(plan, draws)] if plan else []
    return Variance(
        level=level,
        arms=_arms(arms),
        reward=parts.parts_of({**within.parts, **among}, within.why),
        listening=parts.listening_parts(arms),
        cost=cost,
        is_cpu=is_cpu,
        wanted=wanted,
        plans=tuple(plans),
        conservative=within.conservative,
        skipped=tuple(skipped),
    )


def _arms(arms: Sequence[Sequence[RunAtLevel]]) -> tuple[Arm, ...]:
    axes = [arm[0].axes for arm in arms]
    names = groups.distinguishing_axes(axes)
    return tuple(_arm(arm, {key: arm[0].axes.get(key) for key in names}) for arm in arms)


def _arm(arm: Sequence[RunAtLevel], key: Mapping[str, Any]) -> Arm:
    values = [run.columns["reward"] for run in arm]
    seed_mean = seed_means.mean_over_seeds(values, 0)
    listening = [run.columns["listening"] for run in arm if "listening" in run.columns]
    table = parts.outcome_table(arm)
    outcomes = arm[0].outcomes
    return Arm(
        name=", ".join(f"{axis}={value}" for axis, value in key.items()) or "all runs",
        seeds=len(arm),
        users=arm[0].users,
        repeats=arm[0].repeats,
        mean=float(np.mean(values)),
        low=seed_mean.low,
        high=seed_mean.high,
        listening=float(np.mean(listening)) if listening else None,
        has_outcomes=table is not None,
        lost=0 if table is None or outcomes is None else len(outcomes) - table.shape[1],
        critical_batch=critical_batch(arm),
    )


def _cost(outcomes: Sequence[RunAtLevel]) -> tuple[Cost | None, bool]:
    """Return the mean cost over runs, with median numbers of evaluations and levels, and whether it
    is CPU time.
    """
    with_cost = [(run, run.cost) for run in outcomes if run.cost and run.users and run.repeats]
    conversations = [
        cost.evaluations * run.levels * (run.users or 0) * (run.repeats or 0)
        for run, cost in with_cost
    ]
    if not with_cost or not sum(conversations):
        return None, False
    evaluations = int(np.median([cost.evaluations for _, cost in with_cost]))
    return (
        Cost(
            training=float(np.mean([cost.training for _, cost in with_cost])),
            conversation=sum(cost.evaluating for _, cost in with_cost) / sum(conversations),
            evaluations=max(1, evaluations),
            levels=int(np.median([run.levels for run, _ in with_cost])),
        ),
        all(cost.is_cpu for _, cost in with_cost),
    )


def critical_batch(arm: Sequence[RunAtLevel]) -> CriticalBatch | None:
    """Return the critical batch by the ledgers of an arm; None if no run has one.

    For several runs the parts are means over seeds, and intervals come from the spread over seeds.
    For one run the intervals come from the errors of its ledger.
    """
    ledgers = [run.ledger for run in arm if run.ledger is not None]
    conversations = arm[0].conversations
    if not ledgers or conversations is None:
        return None
    if len(ledgers) == 1:
        noise_share, batch = ledgers[0].noise_share, ledgers[0].critical_batch(conversations)
        return CriticalBatch(1, conversations, noise_share, batch)
    signal, noise, remedy = (
        np.array([-getattr(ledger, part).value for ledger in ledgers]) for part in PARTS
    )
    ratio = ratio_of_means(noise, signal + remedy)
    return CriticalBatch(
        runs=len(ledgers),
        conversations=conversations,
        noise_share=ratio_of_means(noise, signal + noise + remedy),
        batch=None if ratio is None else entropy_ledger.critical_batch(ratio, conversations),
    )


def ratio_of_means(part: Floats, whole: Floats) -> Interval | None:
    """Return mean of `part` / mean of `whole`, shapes (seeds,), at least two seeds.

    None if the mean of `whole` is not significantly above 0. The 95% interval is that of Fieller
    1954 for paired samples: all ratios r for which a t test does not reject that part - r whole has
    mean 0.
    """
    mean_part, mean_whole = float(part.mean()), float(whole.mean())
    (part_variance, covariance), (_, whole_variance) = np.cov(part, whole) / len(part)
    t_squared = numbers.t_quantile(0.975, len(part) - 1) ** 2
    square, linear, constant = (
        mean_whole**2 - t_squared * whole_variance,
        mean_part * mean_whole - t_squared * covariance,
        mean_part**2 - t_squared * part_variance,
    )
    if mean_whole <= 0 or square <= 0:
        return None
    root = max(0.0, linear**2 - square * constant) ** 0.5
    low, high = float((linear - root) / square), float((linear + root) / square)
    return Interval(mean_part / mean_whole, low, high)
