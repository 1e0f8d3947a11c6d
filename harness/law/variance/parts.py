"""The parts of the spread: within arms by outcomes or by columns, and among arms."""

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
    Component,
    MeanSquare,
)
from harness.law.variance.results import Part
from harness.law.variance.runs import Outcome

LEVEL, SIMULATOR, SETTINGS = "level", "simulator", "settings"
WITHIN_ARM = (SEED, USER, SEED_USER, REPEAT, REST)
AMONG = {LEVEL: "difficulty", SIMULATOR: "simulator", SETTINGS: ""}
"""What arms can differ in alone -> the config group it is; all other keys are settings."""
ONE_SEED = "not identifiable: a seed is the replicate, and no arm has two"
ONE_REPEAT = "not identifiable: with eval.repeats=1 it is in {inside}"
NO_OUTCOMES = (
    "not identifiable from metrics.jsonl: it has means, and every run meets the same users; runs "
    "made from now on keep outcomes.json"
)
NO_PAIR = "not identifiable: no two arms with two seeds each differ in it alone"
OF_ALL = "not identifiable: listening is a number of all conversations together"


@dataclass(frozen=True)
class WithinArm:
    """Components within an arm, pooled over arms, and why those are missing that are."""

    parts: Mapping[str, Component]
    why: Mapping[str, str]
    plannable: bool = True
    conservative: bool = False


def within_arms(arms: Sequence[Sequence[Outcome]]) -> WithinArm:
    """From outcomes where arms keep them, else what the columns identify.

    Of arms with outcomes those with several repeats count alone, where there are any.
    """
    known = [table for table in map(outcome_table, arms) if table is not None]
    if not known:
        return _by_columns(arms)
    repeated = [table for table in known if table.shape[2] > 1]
    each = [(len(t) - 1, components.crossed(t, n)) for n, t in enumerate(repeated or known)]
    inside = {} if repeated else {REPEAT: "user", REST: "seed x user"}
    why = {name: ONE_REPEAT.format(inside=place) for name, place in inside.items()}
    return WithinArm(_pooled(each), why)


def outcome_table(arm: Sequence[Outcome]) -> Floats | None:
    """Outcomes of shape (seeds, users, repeats) without users that somebody lost; None without."""
    kept = [one.outcomes for one in arm if one.outcomes is not None]
    if len(kept) < 2 or len(kept) < len(arm) or len({table.shape for table in kept}) > 1:
        return None
    stacked = np.stack(kept)
    whole = np.isfinite(stacked).all(axis=(0, 2))
    return stacked[:, whole] if whole.sum() > 1 else None


def _by_columns(arms: Sequence[Sequence[Outcome]]) -> WithinArm:
    """Of runs without outcomes.json: what lies between seeds, users and repeats, not crossed."""
    parts: dict[str, list[tuple[float, Component]]] = {}
    for number, arm in enumerate(arms):
        if len(arm) < 2:
            continue
        rewards = np.array([one.columns["reward"] for one in arm])
        spreads = {
            SEED: (float(rewards.var(ddof=1)), len(arm) - 1.0),
            **_of_users(arm, arm[0].users, arm[0].repeats),
        }
        squares = {name: MeanSquare(value, df) for name, (value, df) in spreads.items()}
        own = components.of_squares(squares, {name: {name: 1.0} for name in squares}, number)
        for name, part in own.items():
            parts.setdefault(name, []).append((len(arm) - 1, part))
    why = dict.fromkeys((SEED_USER, REST), NO_OUTCOMES)
    if not parts:
        return WithinArm({}, dict.fromkeys(WITHIN_ARM, ONE_SEED), plannable=False)
    pooled = {name: _mean_of(of_arms) for name, of_arms in parts.items()}
    for name in (USER, REPEAT):
        if name not in pooled:
            why[name] = NO_OUTCOMES
    return WithinArm(pooled, why, plannable=USER in pooled, conservative=True)


def _of_users(
    arm: Sequence[Outcome], users: int | None, repeats: int | None
) -> dict[str, tuple[float, float]]:
    """Variances and their degrees of freedom: one evaluation's, since all runs share the users."""
    if users is None or repeats is None or users < 2:
        return {}
    between, within, errors = (
        [one.columns[name] ** 2 for one in arm if name in one.columns]
        for name in ("between_sd", "within_sd", "reward_se")
    )
    if between and within and repeats > 1:
        return {
            USER: (float(np.mean(between)), users - 1.0),
            REPEAT: (float(np.mean(within)), users * (repeats - 1.0)),
        }
    return {USER: (float(np.mean(errors)) * users, users - 1.0)} if errors else {}


def _pooled(each: Sequence[tuple[int, Mapping[str, Component]]]) -> dict[str, Component]:
    """Means over arms, weighted by the degrees of freedom of their seeds."""
    names = [name for name in WITHIN_ARM if all(name in parts for _, parts in each)]
    return {name: _mean_of([(w, parts[name]) for w, parts in each]) for name in names}


def _mean_of(weighted: Sequence[tuple[float, Component]]) -> Component:
    total = sum(weight for weight, _ in weighted)
    return Component(
        sum(weight * part.value for weight, part in weighted) / total,
        sum((w * part.draws for w, part in weighted), np.zeros(DRAWS)) / total,
    )


def among_arms(arms: Sequence[Sequence[Outcome]], measure: str) -> dict[str, Component]:
    """Components of what arms differ in, each among arms that differ in it alone."""
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


def parts_of(known: Mapping[str, Component], why: Mapping[str, str]) -> tuple[Part, ...]:
    total = sum(part.value for part in known.values())
    drawn = sum((part.draws for part in known.values()), np.zeros(DRAWS))
    parts = []
    for name in (*WITHIN_ARM, *AMONG):
        part = known.get(name)
        if part is None:
            parts.append(Part(name, None, None, why.get(name, NO_PAIR)))
            continue
        with np.errstate(invalid="ignore", divide="ignore"):
            shares = np.nan_to_num(part.draws / drawn)
        share = components.interval(part.value / total, shares) if total > 0 else None
        parts.append(Part(name, part.interval(), share))
    return tuple(parts)


def of_listening(arms: Sequence[Sequence[Outcome]]) -> tuple[Part, ...]:
    """The same of listening, where it was measured: nothing within a run is identifiable."""
    heard = [[one.columns["listening"] for one in a if "listening" in one.columns] for a in arms]
    if not any(heard):
        return ()
    of_seeds: list[tuple[float, Component]] = []
    for number, values in enumerate(heard):
        if len(values) > 1:
            square = MeanSquare(float(np.var(values, ddof=1)), len(values) - 1.0)
            own = components.of_squares({SEED: square}, {SEED: {SEED: 1.0}}, number)
            of_seeds.append((square.df, own[SEED]))
    known = {SEED: _mean_of(of_seeds)} if of_seeds else {}
    why = dict.fromkeys((USER, SEED_USER, REPEAT, REST), OF_ALL)
    return parts_of({**known, **among_arms(arms, "listening")}, {SEED: ONE_SEED, **why})
