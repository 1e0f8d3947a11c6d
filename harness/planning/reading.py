"""Read a pilot from run folders, with the numbers that contrasts would use."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

from harness.errors import DataError
from harness.law import analysis
from harness.law.compare import contrasts, groups, pairs, quantities, scales
from harness.law.compare.claims import DEFAULT_MARGINS
from harness.law.compare.comparison_basis import ComparisonBasis, restrict_to_shared_range
from harness.law.compare.groups import Member
from harness.law.compare.pairs import ComparedGroup
from harness.law.compare.quantities import CONTRASTED, QUANTITIES
from harness.law.compare.replicates import COMMON
from harness.law.io.clean import FEWEST_POINTS
from harness.law.io.columns import EVALUATION
from harness.law.results import Interval
from harness.law.settings import setting
from harness.law.variance import components, parts, runs
from harness.law.variance.runs import RunAtLevel
from harness.planning import costs, exclusions
from harness.planning.exclusions import SHOWN, EndedEarly, ExcludedRun
from harness.planning.pilot import Pilot, PilotLevel
from harness.planning.pilot_runs import Candidate
from harness.planning.task import EFFECTS
from harness.records.outcomes import OWN
from harness.records.study_file import EVALUATION as STUDIED_ON

NOTHING: Mapping[str, str] = {}
UNLIKE = "measured differently from the earlier runs of its level"
OF_OWN_USERS = ("gain", "final_reward")
BY_STEP = ("gain", "final_reward", "entropy_lost")
"""Quantities that are also known for shorter runs. A law is judged over the whole run, so its
ceiling and slope are not."""


def read(source: str, runs_by_level: Sequence[Sequence[Candidate]]) -> Pilot:
    """Read the pilot of the requested levels, each given by its runs.

    Raise DataError if no run of a level can be used.
    """
    folders = [candidate.folder for level in runs_by_level for candidate in level]
    members, why_not = analysis.load_members_and_reasons(folders)
    names = [[str(candidate.folder) for candidate in level] for level in runs_by_level]
    for level in names:
        if not any(member.result.run in level for member in members):
            reasons = "; ".join(f"{run}: {why_not.get(run, UNLIKE)}" for run in level[:SHOWN])
            rule = "a plan needs a complete run of each level, but none of these is complete"
            raise DataError(f"{source}: {rule}: {reasons}")
    configs = [level[0].config for level in runs_by_level]
    return of_members(source, members, names, configs, why_not)


def of_members(
    source: str,
    members: Sequence[Member],
    names: Sequence[Sequence[str]],
    configs: Sequence[Mapping[str, Any]],
    others: Mapping[str, str] = NOTHING,
) -> Pilot:
    """Return the pilot of analysed runs. `names` and `configs` are the runs and settings of each
    level, `others` maps a run to the reason why it is not in `members`.
    """
    grouping = groups.group(members, pool_unlike=False).groups
    by_level = _sides(pairs.compared_groups(grouping, members), names)
    sides = [side for side in by_level if side is not None]
    tested, why_not = _testable_quantities(
        contrasts.add_contrasts(grouping, members, DEFAULT_MARGINS, pool_unlike=False)
    )
    column = scales.column_for(sides) if sides else None
    outcomes = _outcomes([Path(member.result.run) for member in members], column)
    shared_basis = restrict_to_shared_range(sides, ComparisonBasis(column)) if sides else None
    levels = tuple(
        _level(side, config, column, shared_basis, outcomes)
        for side, config in zip(by_level, configs, strict=True)
    )
    members_used = [member for side in sides for member in side.members]
    return Pilot(
        source, levels, column, tested, why_not,
        _excluded_runs(names, {member.result.run for member in members_used}, others),
        _ended_early(members_used),
    )  # fmt: skip


def _excluded_runs(
    names: Sequence[Sequence[str]], runs_used: Set[str], others: Mapping[str, str]
) -> tuple[ExcludedRun, ...]:
    return tuple(
        ExcludedRun(run, others.get(run, UNLIKE), index)
        for index, level in enumerate(names)
        for run in level
        if run not in runs_used
    )


def _ended_early(members: Sequence[Member]) -> tuple[EndedEarly, ...]:
    ended = [
        exclusions.ended_early(
            member.result.run,
            member.identity.stopped_by_rule,
            member.identity.last_step,
            int(setting(member.identity.full_config, "trainer", "steps")),
        )
        for member in members
    ]
    return tuple(run for run in ended if run is not None)


def _sides(
    sides: Sequence[ComparedGroup], names: Sequence[Sequence[str]]
) -> list[ComparedGroup | None]:
    """Return the side of each level; None if none of its runs has numbers."""
    by_run = {member.result.run: side for side in sides for member in side.members}
    return [next((by_run[run] for run in level if run in by_run), None) for level in names]


def _testable_quantities(compared_groups: Sequence[Any]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the quantities that a contrast could test, and the reasons for the others."""
    results = [contrast for group in compared_groups for contrast in group.contrasts]
    tested = {contrast.quantity for contrast in results if contrast.p is not None}
    reasons = {
        contrast.quantity: contrast.why
        for contrast in results
        if contrast.quantity not in tested and contrast.why is not None
    }
    return tuple(q for q in quantities.CONTRASTED if q in tested), reasons


def _level(
    side: ComparedGroup | None,
    config: Mapping[str, Any],
    column: str | None,
    shared_basis: ComparisonBasis | None,
    outcomes: Mapping[str, RunAtLevel],
) -> PilotLevel:
    if side is None:
        return PilotLevel(config, (), {})
    members = side.members
    evaluated = _evaluations(members, column)
    steps = int(config["trainer.steps"])
    values: dict[str, dict[int, tuple[float | None, ...]]] = {}
    errors: dict[str, tuple[float | None, ...]] = {}
    for name in EFFECTS:
        quantity = QUANTITIES[name]
        for step in _cuts(evaluated, steps) if name in BY_STEP else (steps,):
            reward_column = column if name in CONTRASTED or column in COMMON else STUDIED_ON
            basis = ComparisonBasis(reward_column, until=float(step) if step < steps else None)
            if name == "a":
                basis = shared_basis or basis
            intervals = [quantity.value(member, basis) for member in members]
            values.setdefault(name, {})[step] = tuple(map(_value, intervals))
        if quantity.weighed:
            errors[name] = tuple(map(_half_width, intervals))
    level_outcomes = [outcomes[m.result.run] for m in members if m.result.run in outcomes]
    per_user, per_conversation = _user_variances(level_outcomes)
    seeds = tuple(int(member.identity.seed or 0) for member in members)
    return PilotLevel(
        config, seeds, values, errors, evaluated, per_user, per_conversation,
        costs.mean_run_cost([Path(m.result.run) for m in members], level_outcomes, _gpus(config)),
        {name: _values_on(EVALUATION, name, members) for name in OF_OWN_USERS},
    )  # fmt: skip


def _gpus(config: Mapping[str, Any]) -> int:
    """Return the GPUs of a run on all of its nodes. Runs of older versions have one node."""
    return int(config["trainer.gpus"]) * int(config.get("trainer.nodes") or 1)


def _values_on(column: str, name: str, members: Sequence[Member]) -> tuple[float | None, ...]:
    """Return the value of a quantity of each run at its end, on a reward column."""
    quantity = QUANTITIES[name]
    return tuple(_value(quantity.value(member, ComparisonBasis(column))) for member in members)


def _value(interval: Interval | None) -> float | None:
    return None if interval is None else interval.value


def _half_width(interval: Interval | None) -> float | None:
    return None if interval is None else (interval.high - interval.low) / 2


def _evaluations(members: Sequence[Member], column: str | None) -> tuple[int, ...]:
    """Return the steps at which every run was evaluated."""
    points = [m.replicate.points_on(column or m.column, False) for m in members]
    if any(p is None for p in points):
        return ()
    common = set.intersection(*({int(step) for step in p.steps} for p in points if p is not None))
    return tuple(sorted(common))


def _cuts(evaluated: Sequence[int], steps: int) -> list[int]:
    """Return the lengths to which a run could be cut with enough evaluations, and its own."""
    return sorted({*evaluated[FEWEST_POINTS - 1 :], steps})


def _outcomes(folders: Sequence[Path], column: str | None) -> dict[str, RunAtLevel]:
    """Return run folder -> outcomes of its last evaluation at the level of `column`."""
    level = OWN if column in (None, EVALUATION) else str(column).split("/")[1]
    return {outcome.run: outcome for outcome in runs.read(folders, level)[0]}


def _user_variances(level: Sequence[RunAtLevel]) -> tuple[float | None, float | None]:
    """Return PilotLevel.per_user and PilotLevel.per_conversation."""
    table = parts.outcome_table(level)
    if table is None:
        return None, None
    estimates = components.from_crossed_outcomes(table)
    seed_user, repeats = estimates[components.SEED_USER].value, table.shape[2]
    if repeats == 1:
        return seed_user, None
    rest = estimates[components.REST].value
    return seed_user + rest / repeats, rest


def differing_keys(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """Return the keys in which two settings differ."""
    return sorted(k for k in one.keys() | other.keys() if _text(one.get(k)) != _text(other.get(k)))


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
