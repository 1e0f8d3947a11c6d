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
    for one in outcomes:
        by_arm.setdefault(json.dumps(one.axes, sort_keys=True, default=str), []).append(one)
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
    known = groups.distinguishing_axes(axes)
    return tuple(_arm(arm, {key: arm[0].axes.get(key) for key in known}) for arm in arms)


def _arm(arm: Sequence[RunAtLevel], key: Mapping[str, Any]) -> Arm:
    values = [one.columns["reward"] for one in arm]
    pool = seed_means.mean_over_seeds(values, 0)
    heard = [one.columns["listening"] for one in arm if "listening" in one.columns]
    table = parts.outcome_table(arm)
    kept = arm[0].outcomes
    return Arm(
        name=", ".join(f"{axis}={value}" for axis, value in key.items()) or "all runs",
        seeds=len(arm),
        users=arm[0].users,
        repeats=arm[0].repeats,
        mean=float(np.mean(values)),
        low=pool.low,
        high=pool.high,
        listening=float(np.mean(heard)) if heard else None,
        has_outcomes=table is not None,
        lost=0 if table is None or kept is None else len(kept) - table.shape[1],
        critical_batch=critical_batch(arm),
    )


def _cost(outcomes: Sequence[RunAtLevel]) -> tuple[Cost | None, bool]:
    """Return the mean cost over runs, with median numbers of evaluations and levels, and whether it
    is CPU time.
    """
    known = [(one, one.cost) for one in outcomes if one.cost and one.users and one.repeats]
    held = [
        cost.evaluations * one.levels * (one.users or 0) * (one.repeats or 0) for one, cost in known
    ]
    if not known or not sum(held):
        return None, False
    evaluations = int(np.median([cost.evaluations for _, cost in known]))
    return (
        Cost(
            training=float(np.mean([cost.training for _, cost in known])),
            conversation=sum(cost.evaluating for _, cost in known) / sum(held),
            evaluations=max(1, evaluations),
            levels=int(np.median([one.levels for one, _ in known])),
        ),
        all(cost.is_cpu for _, cost in known),
    )


def critical_batch(arm: Sequence[RunAtLevel]) -> CriticalBatch | None:
    """Return the critical batch by the ledgers of an arm; None if no run has one.

    For several runs the parts are means over seeds, and intervals come from the spread over seeds.
    For one run the intervals come from the errors of its ledger.
    """
    ledgers = [one.ledger for one in arm if one.ledger is not None]
    conversations = arm[0].conversations
    if not ledgers or conversations is None:
        return None
    if len(ledgers) == 1:
        of_noise, batch = ledgers[0].noise_share, ledgers[0].critical_batch(conversations)
        return CriticalBatch(1, conversations, of_noise, batch)
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
    (of_part, both), (_, of_whole) = np.cov(part, whole) / len(part)
    t = numbers.t_quantile(0.975, len(part) - 1) ** 2
    square, linear, constant = (
        mean_whole**2 - t * of_whole,
        mean_part * mean_whole - t * both,
        mean_part**2 - t * of_part,
    )
    if mean_whole <= 0 or square <= 0:
        return None
    root = max(0.0, linear**2 - square * constant) ** 0.5
    low, high = float((linear - root) / square), float((linear + root) / square)
    return Interval(mean_part / mean_whole, low, high)
