"""How much of the spread of reward and of listening is seed, user, repeat, level and simulator."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from harness.law.compare import groups
from harness.law.variance import critical_batch, parts, runs, sizes
from harness.law.variance.results import Arm, Variance
from harness.law.variance.runs import Outcome
from harness.law.variance.sizes import Cost


def measure(paths: Sequence[Path], level: str, wanted: float) -> Variance:
    """The components of the finished runs at or below `paths`; `wanted`: half-width to plan for."""
    outcomes, skipped = runs.read(paths, level)
    by_arm: dict[str, list[Outcome]] = {}
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
        plans += [sizes.with_doubt(plan, draws)] if plan else []
    return Variance(
        level=level,
        arms=_arms(arms),
        reward=parts.parts_of({**within.parts, **among}, within.why),
        listening=parts.of_listening(arms),
        cost=cost,
        is_cpu=is_cpu,
        wanted=wanted,
        plans=tuple(plans),
        conservative=within.conservative,
        skipped=tuple(skipped),
    )


def _arms(arms: Sequence[Sequence[Outcome]]) -> tuple[Arm, ...]:
    axes = [arm[0].axes for arm in arms]
    told = groups.telling(axes)
    return tuple(_arm(arm, {key: arm[0].axes.get(key) for key in told}) for arm in arms)


def _arm(arm: Sequence[Outcome], key: Mapping[str, Any]) -> Arm:
    values = [one.columns["reward"] for one in arm]
    pool = groups.pooled(values, 0)
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
        critical_batch=critical_batch.of_arm(arm),
    )


def _cost(outcomes: Sequence[Outcome]) -> tuple[Cost | None, bool]:
    """The mean over runs; the number of evaluations and levels is that of most of them."""
    told = [(one, one.spent) for one in outcomes if one.spent and one.users and one.repeats]
    held = [
        spent.evaluations * one.levels * (one.users or 0) * (one.repeats or 0)
        for one, spent in told
    ]
    if not told or not sum(held):
        return None, False
    evaluations = int(np.median([spent.evaluations for _, spent in told]))
    return (
        Cost(
            training=float(np.mean([spent.training for _, spent in told])),
            conversation=sum(spent.evaluating for _, spent in told) / sum(held),
            evaluations=max(1, evaluations),
            levels=int(np.median([one.levels for one, _ in told])),
        ),
        all(spent.is_cpu for _, spent in told),
    )
