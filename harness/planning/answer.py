"""Answer `harness plan`: what to run, its cost, its power, and the reasons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.config.run import SCHEMA
from harness.planning import (
    alternatives,
    lengths,
    matching,
    search,
    settings,
    shipped,
    sizes,
    study_file,
    unclear,
)
from harness.planning.alternatives import AlternativeDesign, CurvePoint, PilotDifference
from harness.planning.exclusions import EndedEarly, ExcludedRun
from harness.planning.pilot import Pilot
from harness.planning.search import OutOfReach, PlannedDesign
from harness.planning.settings import EVERY, REPEATS, STEPS, USERS, RequestedLevels
from harness.planning.task import DecisionRule, PlanningTask, TargetEffect, check_range
from harness.study import cost

PILOT_SEEDS = 5
"""Number of seeds of the pilot proposed if there is none."""


@dataclass(frozen=True)
class PlanResult:
    """The content of the output of `harness plan`."""

    effect: TargetEffect
    wanted: float
    levels: tuple[str, ...]
    decided_by: str
    source: str | None
    """The source of the spread over seeds; None if it is not known."""
    pilot_seeds: tuple[int, ...]
    """The number of seeds in each level of the pilot."""
    column: str | None
    """The reward column that the quantity is measured on."""
    command: str | None
    """The command to paste, for the design or for a pilot; None if no size suffices."""
    planned: PlannedDesign | None = None
    eval_every: int | None = None
    conversations: int = 0
    """Conversations per step."""
    why: str | None = None
    """The reason why there is no design; None if there is one."""
    pilot_cost: str | None = None
    reach: float | None = None
    """The smallest difference that power.MOST seeds decide, if no size suffices."""
    kept: Mapping[str, str] = field(default_factory=dict)
    """Key of a design -> the reason why it was not varied."""
    around: tuple[AlternativeDesign, ...] = ()
    own: tuple[PilotDifference, ...] = ()
    curve: tuple[CurvePoint, ...] = ()
    study: str | None = None
    """The text of the study file that the command runs, if a link decides."""
    left_out: tuple[ExcludedRun, ...] = ()
    """Runs of the pilot that the plan does not use."""
    ended_early: tuple[EndedEarly, ...] = ()
    """Runs of the pilot that trainer.stop_when ended."""
    null_controls: str | None = None
    """The setting that adds null controls, which double the hours; None if it was given."""

    def to_json(self) -> dict[str, Any]:
        """Return the output of --json. Unknown values are None."""
        return {"schema": SCHEMA, **asdict(self)}


@dataclass(frozen=True)
class PlanRequest:
    """The request to `harness plan`."""

    words: tuple[str, ...]
    effect: TargetEffect
    pilot: Path | None
    power: float
    primary: str | None = None
    """The quantity that will bear most of the error rate of the contrasts."""


def make_plan(question: PlanRequest) -> PlanResult:
    """Make a plan. Raise ConfigError for an invalid question, DataError for a pilot without a
    finished run.
    """
    typed = settings.typed_keys(question.words)
    if question.pilot is None:
        requested = settings.parse_levels(question.words)
        check_range(question.effect, requested.configs[0])
        pilot = shipped.of(requested.flat)
    else:
        requested, pilot = matching.match_pilot(question.pilot, question.words, typed)
        check_range(question.effect, requested.configs[0])
    if pilot is None:
        why = (
            "the spread over seeds is not known for these settings, and no pilot was named: "
            "run one, then plan with --from"
        )
        return _plan_without_design(question, requested, None, why)
    return _plan_with_design(question, requested, pilot)


def task_of(question: PlanRequest, requested: RequestedLevels, pilot: Pilot) -> PlanningTask:
    """Return the task of the search."""
    effect = question.effect
    others = tuple(q for q in pilot.tested if q != effect.quantity)
    rule = DecisionRule(
        effect.quantity,
        requested.pairs,
        others if effect.is_contrast else (),
        not effect.is_contrast,
        question.primary,
    )
    return PlanningTask(effect, rule, pilot, requested.configs, question.power, requested.typed)


def _plan_with_design(
    question: PlanRequest, requested: RequestedLevels, pilot: Pilot
) -> PlanResult:
    task = task_of(question, requested, pilot)
    why, hopeless = unclear.why_no_plan(task)
    studies = search.simulated_studies(task)
    planned = why or search.plan(task, studies)
    if isinstance(planned, OutOfReach):
        reason = unclear.out_of_reach(task, planned)
        reach = replace(_plan_without_design(question, requested, pilot, reason), command=None)
        return replace(reach, reach=planned.least, pilot_cost=None)
    if isinstance(planned, str):
        without_design = _plan_without_design(question, requested, pilot, planned)
        return (
            replace(without_design, command=None, pilot_cost=None) if hopeless else without_design
        )
    design = planned.design
    eval_every = _eval_every(pilot, design.size.steps)
    design_sizes = {
        STEPS: design.size.steps,
        USERS: design.size.users,
        REPEATS: design.size.repeats,
    }
    words = settings.with_sizes(
        requested, {EVERY: eval_every, **design_sizes} if eval_every else design_sizes
    )
    first_seed = _first_seed(pilot, design.seeds)
    differences = alternatives.pilot_differences(task, requested)
    study = None
    if not question.effect.is_contrast:
        study = study_file.text(
            task, requested, words, alternatives.directions(differences, requested)
        )
    program = "harness sweep" if study is None else f"harness study {study_file.NAME}"
    return PlanResult(
        effect=question.effect,
        wanted=question.power,
        levels=requested.names,
        decided_by=task.rule.words,
        source=pilot.source,
        pilot_seeds=tuple(len(level.seeds) for level in pilot.levels),
        column=pilot.column_of(question.effect.quantity),
        command=settings.command(program, words if study is None else [], first_seed, design.seeds),
        planned=planned,
        eval_every=eval_every,
        conversations=requested.configs[0].trainer.conversations,
        kept=_fixed_settings(task),
        around=alternatives.alternative_designs(task, planned, studies),
        own=differences,
        curve=tuple(alternatives.power_curve(task, planned)),
        study=study,
        left_out=pilot.left_out,
        ended_early=pilot.ended_early,
        null_controls=_null_controls(requested, study),
    )


def _null_controls(requested: RequestedLevels, study: str | None) -> str | None:
    """Return the setting that adds null controls; None if it was typed.

    Plans do not include them, because they double the cost and are not needed for the decision.
    """
    key = settings.NULL_CONTROLS.partition("=")[0]
    if key in requested.typed:
        return None
    if study is None:
        return settings.NULL_CONTROLS
    return f"the line `{study_file.NULL_CONTROLS}` in {study_file.FILE}"


def _plan_without_design(
    question: PlanRequest, requested: RequestedLevels, pilot: Pilot | None, why: str
) -> PlanResult:
    """Return an answer without a design, with the command for a pilot."""
    first_seed = 1 if pilot is None else _first_seed(pilot, PILOT_SEEDS)
    eval_every = (
        None if pilot is None else unclear.pilot_eval_every(task_of(question, requested, pilot))
    )
    words = (
        requested.words
        if eval_every is None
        else settings.with_sizes(requested, {EVERY: eval_every})
    )
    configs = [config for config in requested.configs for _ in range(PILOT_SEEDS)]
    return PlanResult(
        effect=question.effect,
        wanted=question.power,
        levels=requested.names,
        decided_by=task_of(question, requested, pilot).rule.words if pilot else "",
        source=pilot.source if pilot else None,
        pilot_seeds=tuple(len(level.seeds) for level in pilot.levels) if pilot else (),
        column=pilot.column_of(question.effect.quantity) if pilot else None,
        command=settings.command("harness sweep", words, first_seed, PILOT_SEEDS),
        why=why,
        pilot_cost=cost.sentence(configs),
        own=alternatives.pilot_differences(task_of(question, requested, pilot), requested)
        if pilot
        else (),
        left_out=pilot.left_out if pilot else (),
        ended_early=pilot.ended_early if pilot else (),
    )


def _eval_every(pilot: Pilot, steps: int) -> int | None:
    """Return the trainer.eval_every with which the design is evaluated like the pilot."""
    config = pilot.levels[0].config
    eval_every, length = config.get(EVERY), int(config[STEPS])
    if eval_every is not None:
        return int(eval_every)
    return None if steps == length else max(1, length // 20)


def _first_seed(pilot: Pilot, seeds: int) -> int:
    """Return the first seed of a range without the pilot's seeds, so that all data are new."""
    used = {seed for level in pilot.levels for seed in level.seeds}
    return 1 if not used & set(range(1, seeds + 1)) else max(used) + 1


def _fixed_settings(task: PlanningTask) -> dict[str, str]:
    reasons = {
        STEPS: lengths.why_length(task),
        USERS: sizes.why_users(task),
        "trainer.conversations": "the effect of other batch sizes was not measured",
    }
    if reasons[STEPS] is None and len(lengths.lengths(task)) == 1:
        reasons[STEPS] = "the algorithm takes no shorter length at which the pilot was evaluated"
    if reasons[STEPS] is None and not _any_shorter(task):
        reasons[STEPS] = "the pilot does not show the difference in shorter runs"
    if reasons[USERS] is None and any(
        level.per_conversation is None for level in task.pilot.levels
    ):
        reasons[REPEATS] = "a pilot with eval.repeats=1 does not show the effect of more repeats"
    return {key: why for key, why in reasons.items() if why is not None}


def _any_shorter(task: PlanningTask) -> bool:
    return any(
        all(lengths.share_there(task, pair, steps) > 0 for pair in task.rule.pairs)
        for steps in lengths.lengths(task)[1:]
    )
