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
    known = [table for table in map(outcome_table, arms) if table is not None]
    if not known:
        return _by_columns(arms)
    repeated = [table for table in known if table.shape[2] > 1]
    inside = {} if repeated else {REPEAT: "user", REST: "seed x user"}
    why = {name: ONE_REPEAT.format(inside=place) for name, place in inside.items()}
    return WithinArm(components.from_crossed_outcomes(*(repeated or known)), why)


def outcome_table(arm: Sequence[RunAtLevel]) -> Floats | None:
    """Return outcomes of shape (seeds, users, repeats), without users that a run lost.

    None if a run has no outcomes, shapes differ, or too few seeds or users are left.
    """
    kept = [one.outcomes for one in arm if one.outcomes is not None]
    if len(kept) < 2 or len(kept) < len(arm) or len({table.shape for table in kept}) > 1:
        return None
    stacked = np.stack(kept)
    whole = np.isfinite(stacked).all(axis=(0, 2))
    return stacked[:, whole] if whole.sum() > 1 else None


def _by_columns(arms: Sequence[Sequence[RunAtLevel]]) -> WithinArm:
    """Return the components of runs without outcomes.json: seeds, users, repeats, no crossing."""
    several = [arm for arm in arms if len(arm) > 1]
    if not several:
        return WithinArm({}, dict.fromkeys(WITHIN_ARM, ONE_SEED), plannable=False)
    pooled = components.from_mean_squares([_of_columns(arm) for arm in several])
    why = dict.fromkeys((SEED_USER, REST), NO_OUTCOMES)
    for name in (USER, REPEAT):
        if name not in pooled:
            why[name] = NO_OUTCOMES
    return WithinArm(pooled, why, plannable=USER in pooled, conservative=True)


def _of_columns(arm: Sequence[RunAtLevel]) -> ArmMeanSquares:
    spreads = {
        SEED: _over_seeds([one.columns["reward"] for one in arm]),
        **_of_users(arm, arm[0].users, arm[0].repeats),
    }
    return ArmMeanSquares(len(arm) - 1, spreads, {name: {name: 1.0} for name in spreads})


def _over_seeds(values: Sequence[float]) -> MeanSquare:
    """Return the variance over at least two seeds."""
    return MeanSquare(float(np.var(values, ddof=1)), len(values) - 1.0)


def _of_users(
    arm: Sequence[RunAtLevel], users: int | None, repeats: int | None
) -> dict[str, MeanSquare]:
    """Return the variances of users and repeats with the degrees of freedom of one evaluation,
    because all runs share the users.
    """
    if users is None or repeats is None or users < 2:
        return {}
    between, within, errors = (
        [one.columns[name] ** 2 for one in arm if name in one.columns]
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
    found = {}
    for number, name in enumerate(AMONG):
        blocks: dict[str, list[tuple[float, float, int]]] = {}
        for arm in arms:
            values = [one.columns[measure] for one in arm if measure in one.columns]
            if len(values) > 1:
                error = float(np.std(values, ddof=1)) / len(values) ** 0.5
                alike = {k: v for k, v in arm[0].axes.items() if _axis(k) != name}
                key = json.dumps(alike, sort_keys=True, default=str)
                blocks.setdefault(key, []).append((float(np.mean(values)), error, len(values)))
        part = components.among_means(list(blocks.values()), number)
        if part is not None:
            found[name] = part
    return found


def _axis(key: str) -> str:
    named = (name for name, group in AMONG.items() if group and key.split(".")[0] == group)
    return next(named, SETTINGS)


def parts_of(
    known: Mapping[str, ComponentDraws], why: Mapping[str, str]
) -> tuple[VarianceComponent, ...]:
    total = sum(part.value for part in known.values())
    drawn = sum((part.draws for part in known.values()), np.zeros(DRAWS))
    parts = []
    for name in (*WITHIN_ARM, *AMONG):
        part = known.get(name)
        if part is None:
            parts.append(VarianceComponent(name, None, None, why.get(name, NO_PAIR)))
            continue
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = np.nan_to_num(part.draws / drawn)
        share = components.interval(part.value / total, shares) if total > 0 else None
        parts.append(VarianceComponent(name, part.interval(), share))
    return tuple(parts)


def listening_parts(arms: Sequence[Sequence[RunAtLevel]]) -> tuple[VarianceComponent, ...]:
    """Return the parts of the variance of listening, empty if it was not measured.

    Components within a run are not identifiable.
    """
    heard = [[one.columns["listening"] for one in a if "listening" in one.columns] for a in arms]
    if not any(heard):
        return ()
    several = [values for values in heard if len(values) > 1]
    known = components.from_mean_squares(
        [ArmMeanSquares(len(v) - 1, {SEED: _over_seeds(v)}, {SEED: {SEED: 1.0}}) for v in several]
    )
    why = dict.fromkeys((USER, SEED_USER, REPEAT, REST), OF_ALL)
    return parts_of({**known, **among_arms(arms, "listening")}, {SEED: ONE_SEED, **why})
