"""Compute the parts of the variance: within arms (from outcomes or columns) and among arms."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.law.results import Floats
from harness.law.variance import components
from harness.law.variance.components import (
    DRAWS,
    REPEAT,
    REST,
    SEED,
    SEED_USER,
    USER,
    ArmMeanSquares,
    ComponentDraws,
    MeanSquare,
)
from harness.law.variance.results import VarianceComponent
from harness.law.variance.runs import RunAtLevel

LEVEL, SIMULATOR, SETTINGS = "level", "simulator", "settings"
WITHIN_ARM = (SEED, USER, SEED_USER, REPEAT, REST)
AMONG = {LEVEL: "difficulty", SIMULATOR: "simulator", SETTINGS: ""}
"""Factor in which arms can differ -> its config group. All other keys are settings."""
ONE_SEED = "not identifiable: no arm has two seeds, which are the replicates"
ONE_REPEAT = "not identifiable: with eval.repeats=1 it is part of {inside}"
NO_OUTCOMES = (
    "not identifiable from metrics.jsonl: it has means only, and every run has the same users; new "
    "runs write outcomes.json"
)
NO_PAIR = "not identifiable: no two arms with two seeds each differ only in this"
OF_ALL = "not identifiable: listening is computed over all conversations together"


@dataclass(frozen=True)
class WithinArm:
    """Components within an arm, pooled over arms, and the reasons for missing ones."""

    parts: Mapping[str, ComponentDraws]
    why: Mapping[str, str]
    plannable: bool = True
    conservative: bool = False


def within_arms(arms: Sequence[Sequence[RunAtLevel]]) -> WithinArm:
    """Return the components from outcomes if arms have them, else those that columns identify.

    If some arms have outcomes of several repeats, only these arms are used.
    """
    tables = [table for table in map(outcome_table, arms) if table is not None]
    if not tables:
        return _from_columns(arms)
    repeated = [table for table in tables if table.shape[2] > 1]
    merged_into = {} if repeated else {REPEAT: "user", REST: "seed x user"}
    why = {name: ONE_REPEAT.format(inside=factor) for name, factor in merged_into.items()}
    return WithinArm(components.from_crossed_outcomes(*(repeated or tables)), why)


def outcome_table(arm: Sequence[RunAtLevel]) -> Floats | None:
    """Return outcomes of shape (seeds, users, repeats), without users that a run lost.

    None if a run has no outcomes, shapes differ, or too few seeds or users are left.
    """
    tables = [run.outcomes for run in arm if run.outcomes is not None]
    if len(tables) < 2 or len(tables) < len(arm) or len({table.shape for table in tables}) > 1:
        return None
    stacked = np.stack(tables)
    complete = np.isfinite(stacked).all(axis=(0, 2))
    return stacked[:, complete] if complete.sum() > 1 else None


def _from_columns(arms: Sequence[Sequence[RunAtLevel]]) -> WithinArm:
    """Return the components of runs without outcomes.json: seeds, users, repeats, no crossing."""
    replicated = [arm for arm in arms if len(arm) > 1]
    if not replicated:
        return WithinArm({}, dict.fromkeys(WITHIN_ARM, ONE_SEED), plannable=False)
    pooled = components.from_mean_squares([_arm_mean_squares(arm) for arm in replicated])
    why = dict.fromkeys((SEED_USER, REST), NO_OUTCOMES)
    for name in (USER, REPEAT):
        if name not in pooled:
            why[name] = NO_OUTCOMES
    return WithinArm(pooled, why, plannable=USER in pooled, conservative=True)


def _arm_mean_squares(arm: Sequence[RunAtLevel]) -> ArmMeanSquares:
    squares = {
        SEED: _seed_mean_square([run.columns["reward"] for run in arm]),
        **_user_mean_squares(arm, arm[0].users, arm[0].repeats),
    }
    return ArmMeanSquares(len(arm) - 1, squares, {name: {name: 1.0} for name in squares})


def _seed_mean_square(values: Sequence[float]) -> MeanSquare:
    """Return the variance over at least two seeds."""
    return MeanSquare(float(np.var(values, ddof=1)), len(values) - 1.0)


def _user_mean_squares(
    arm: Sequence[RunAtLevel], users: int | None, repeats: int | None
) -> dict[str, MeanSquare]:
    """Return the variances of users and repeats with the degrees of freedom of one evaluation,
    because all runs share the users.
    """
    if users is None or repeats is None or users < 2:
        return {}
    between, within, errors = (
        [run.columns[name] ** 2 for run in arm if name in run.columns]
        for name in ("between_sd", "within_sd", "reward_se")
    )
    if between and within and repeats > 1:
        return {
            USER: MeanSquare(float(np.mean(between)), users - 1.0),
            REPEAT: MeanSquare(float(np.mean(within)), users * (repeats - 1.0)),
        }
    return {USER: MeanSquare(float(np.mean(errors)) * users, users - 1.0)} if errors else {}


def among_arms(arms: Sequence[Sequence[RunAtLevel]], measure: str) -> dict[str, ComponentDraws]:
    """Return the components of level, simulator and settings, among arms that differ in one."""
    parts = {}
    for number, name in enumerate(AMONG):
        blocks: dict[str, list[tuple[float, float, int]]] = {}
        for arm in arms:
            values = [run.columns[measure] for run in arm if measure in run.columns]
            if len(values) > 1:
                error = float(np.std(values, ddof=1)) / len(values) ** 0.5
                other_axes = {
                    axis: value for axis, value in arm[0].axes.items() if _factor(axis) != name
                }
                key = json.dumps(other_axes, sort_keys=True, default=str)
                blocks.setdefault(key, []).append((float(np.mean(values)), error, len(values)))
        part = components.among_means(list(blocks.values()), number)
        if part is not None:
            parts[name] = part
    return parts


def _factor(key: str) -> str:
    factors = (name for name, group in AMONG.items() if group and key.split(".")[0] == group)
    return next(factors, SETTINGS)


def parts_of(
    draws: Mapping[str, ComponentDraws], why: Mapping[str, str]
) -> tuple[VarianceComponent, ...]:
    total = sum(part.value for part in draws.values())
    total_draws = sum((part.draws for part in draws.values()), np.zeros(DRAWS))
    parts = []
    for name in (*WITHIN_ARM, *AMONG):
        part = draws.get(name)
        if part is None:
            parts.append(VarianceComponent(name, None, None, why.get(name, NO_PAIR)))
            continue
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = np.nan_to_num(part.draws / total_draws)
        # the only identifiable part is all of the sum, whatever it is: that is no finding
        has_share = total > 0 and len(draws) > 1
        share = components.interval(part.value / total, shares) if has_share else None
        parts.append(VarianceComponent(name, part.interval(), share))
    return tuple(parts)


def listening_parts(arms: Sequence[Sequence[RunAtLevel]]) -> tuple[VarianceComponent, ...]:
    """Return the parts of the variance of listening, empty if it was not measured.

    Components within a run are not identifiable.
    """
    by_arm = [
        [run.columns["listening"] for run in arm if "listening" in run.columns] for arm in arms
    ]
    if not any(by_arm):
        return ()
    replicated = [values for values in by_arm if len(values) > 1]
    pooled = components.from_mean_squares(
        [
            ArmMeanSquares(len(values) - 1, {SEED: _seed_mean_square(values)}, {SEED: {SEED: 1.0}})
            for values in replicated
        ]
    )
    why = dict.fromkeys((USER, SEED_USER, REPEAT, REST), OF_ALL)
    return parts_of({**pooled, **among_arms(arms, "listening")}, {SEED: ONE_SEED, **why})
