"""The answer to `harness plan`: what to run, what it costs, how sure it decides, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from harness.config.run import SCHEMA
from harness.law.compare import random_effects
from harness.planning import (
    lengths,
    matching,
    power,
    search,
    settings,
    shipped,
    study_file,
    unclear,
)
from harness.planning.costs import Hours, Size
from harness.planning.decision import Rule
from harness.planning.effects import Effect, check_range
from harness.planning.made_studies import MadeStudies, Power
from harness.planning.pilot import Pilot
from harness.planning.search import OutOfReach, Planned
from harness.planning.settings import EVERY, REPEATS, STEPS, USERS, Asked
from harness.planning.task import Task
from harness.study import cost

PILOT_SEEDS = 5
"""Seeds of the pilot that is asked for where there is none."""
SHOWN = (0.5, 1.0, 2.0)
"""Multiples of the stated difference that the curve is drawn for."""


@dataclass(frozen=True)
class Around:
    """A design beside the planned one."""

    what: str
    seeds: int
    size: Size
    power: Power | None
    hours: Hours


@dataclass(frozen=True)
class OwnGap:
    """What the pilot itself shows of a pair, with its 95% interval over seeds."""

    later: str
    baseline: str
    value: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class CurvePoint:
    """Power against seeds: its mean over what the spread may be, and the middle 95% of it."""

    effect: float
    seeds: int
    power: float
    low: float
    high: float


@dataclass(frozen=True)
class Answer:
    """What `harness plan` prints."""

    effect: Effect
    wanted: float
    levels: tuple[str, ...]
    decided_by: str
    source: str | None
    """Where the spread is from; None where it is not known."""
    pilot_seeds: tuple[int, ...]
    """Of each level."""
    column: str | None
    """The reward column that the quantity was taken on."""
    command: str | None
    """What to paste: the design's sweep, or that of a pilot; None where no size is enough."""
    planned: Planned | None = None
    eval_every: int | None = None
    conversations: int = 0
    """Of a step."""
    why: str | None = None
    """Why there is no design, where there is none."""
    pilot_cost: str | None = None
    reach: float | None = None
    """Where no size is enough: the smallest difference that power.MOST seeds decide."""
    kept: Mapping[str, str] = field(default_factory=dict)
    """Key of a design -> why it was not varied."""
    around: tuple[Around, ...] = ()
    own: tuple[OwnGap, ...] = ()
    curve: tuple[CurvePoint, ...] = ()
    study: str | None = None
    """The study file that the command runs, where a link decides."""

    def to_json(self) -> dict[str, Any]:
        """The value of --json; what is not known is None."""
        return {"schema": SCHEMA, **asdict(self)}


@dataclass(frozen=True)
class Question:
    """What was asked."""

    words: tuple[str, ...]
    effect: Effect
    pilot: Path | None
    power: float


def answer(question: Question) -> Answer:
    """Raises ConfigError for what cannot be asked, DataError for a pilot without a finished run."""
    typed = settings.typed_keys(question.words)
    if question.pilot is None:
        asked = settings.asked(question.words)
        check_range(question.effect, asked.configs[0])
        known = shipped.of(asked.flat)
    else:
        asked, known = matching.from_pilot(question.pilot, question.words, typed)
        check_range(question.effect, asked.configs[0])
    if known is None:
        why = (
            "the spread over seeds of these settings is not shipped, and no pilot was named: "
            "run one, then plan with --from"
        )
        return _unknown(question, asked, None, why)
    return _planned(question, asked, known)


def task_of(question: Question, asked: Asked, pilot: Pilot) -> Task:
    """What is to be decided, as the search takes it."""
    effect = question.effect
    others = tuple(q for q in pilot.tested if q != effect.quantity)
    rule = Rule(
        effect.quantity, asked.pairs, others if effect.is_contrast else (), not effect.is_contrast
    )
    return Task(effect, rule, pilot, asked.configs, question.power, asked.typed)


def _planned(question: Question, asked: Asked, pilot: Pilot) -> Answer:
    task = task_of(question, asked, pilot)
    why, hopeless = unclear.why(task)
    made = search.made_studies(task)
    found = why or search.plan(task, made)
    if isinstance(found, OutOfReach):
        beyond = unclear.out_of_reach(task, found)
        reach = replace(_unknown(question, asked, pilot, beyond), command=None)
        return replace(reach, reach=found.least, pilot_cost=None)
    if isinstance(found, str):
        unknown = _unknown(question, asked, pilot, found)
        return replace(unknown, command=None, pilot_cost=None) if hopeless else unknown
    design = found.design
    every = _every(pilot, design.size.steps)
    sizes = {STEPS: design.size.steps, USERS: design.size.users, REPEATS: design.size.repeats}
    words = settings.sized(asked, {EVERY: every, **sizes} if every else sizes)
    first = _first_seed(pilot, design.seeds)
    own = _own(task, asked)
    study = None
    if not question.effect.is_contrast:
        study = study_file.text(task, asked, words, _directions(own, asked))
    program = "harness sweep" if study is None else f"harness study {study_file.NAME}"
    return Answer(
        effect=question.effect,
        wanted=question.power,
        levels=asked.names,
        decided_by=task.rule.words,
        source=pilot.source,
        pilot_seeds=tuple(len(level.seeds) for level in pilot.levels),
        column=pilot.column_of(question.effect.quantity),
        command=settings.command(program, words if study is None else [], first, design.seeds),
        planned=found,
        eval_every=every,
        conversations=asked.configs[0].trainer.conversations,
        kept=_kept(task),
        around=_around(task, found, made),
        own=own,
        curve=tuple(_curve(task, found)),
        study=study,
    )


def _unknown(question: Question, asked: Asked, pilot: Pilot | None, why: str) -> Answer:
    """Without a design: what to run to come to one."""
    first = 1 if pilot is None else _first_seed(pilot, PILOT_SEEDS)
    rarest = None if pilot is None else unclear.rarest(task_of(question, asked, pilot))
    words = asked.words if rarest is None else settings.sized(asked, {EVERY: rarest})
    configs = [config for config in asked.configs for _ in range(PILOT_SEEDS)]
    return Answer(
        effect=question.effect,
        wanted=question.power,
        levels=asked.names,
        decided_by=task_of(question, asked, pilot).rule.words if pilot else "",
        source=pilot.source if pilot else None,
        pilot_seeds=tuple(len(level.seeds) for level in pilot.levels) if pilot else (),
        column=pilot.column_of(question.effect.quantity) if pilot else None,
        command=settings.command("harness sweep", words, first, PILOT_SEEDS),
        why=why,
        pilot_cost=cost.sentence(configs),
        own=_own(task_of(question, asked, pilot), asked) if pilot else (),
    )


def _every(pilot: Pilot, steps: int) -> int | None:
    """trainer.eval_every of a run of the design, so that it is evaluated as the pilot was."""
    config = pilot.levels[0].config
    every, length = config.get(EVERY), int(config[STEPS])
    if every is not None:
        return int(every)
    return None if steps == length else max(1, length // 20)


def _first_seed(pilot: Pilot, seeds: int) -> int:
    """The first of so many seeds that the pilot has none of: what it showed is not shown again."""
    used = {seed for level in pilot.levels for seed in level.seeds}
    return 1 if not used & set(range(1, seeds + 1)) else max(used) + 1


def _kept(task: Task) -> dict[str, str]:
    reasons = {
        STEPS: lengths.why_length(task),
        USERS: search.why_users(task),
        "trainer.conversations": "what other numbers of a step change was not measured",
    }
    if reasons[STEPS] is None and not _any_shorter(task):
        reasons[STEPS] = "the pilot does not show that a shorter run has the difference too"
    if reasons[USERS] is None and any(
        level.per_conversation is None for level in task.pilot.levels
    ):
        reasons[REPEATS] = "with eval.repeats=1 the pilot does not tell what more would do"
    return {key: why for key, why in reasons.items() if why is not None}


def _any_shorter(task: Task) -> bool:
    return any(
        all(lengths.share_there(task, pair, steps) > 0 for pair in task.rule.pairs)
        for steps in lengths.lengths(task)[1:]
    )


def _around(task: Task, found: Planned, made: MadeStudies) -> tuple[Around, ...]:
    """Half and twice the seeds, as far as power.MOST, and the pilot's own size."""
    design, own = found.design, search.own_size(task)
    rows = [
        ("half as many seeds", max(2, design.seeds // 2), design.size),
        ("planned", design.seeds, design.size),
        ("twice as many seeds", 2 * design.seeds, design.size),
        ("the pilot's own size", task.pilot.seeds, own),
    ]
    rows = [row for row in rows if row[0] != "twice as many seeds" or row[1] <= power.MOST]
    return tuple(
        Around(
            what,
            seeds,
            size,
            found.power if what == "planned" else search.power_at(task, made, size, seeds),
            search.hours(task, size, seeds),
        )
        for what, seeds, size in rows
    )


def _own(task: Task, asked: Asked) -> tuple[OwnGap, ...]:
    """The pilot's own differences, each as Welch's interval shows it by itself."""
    gaps = []
    for later, baseline in asked.pairs:
        levels = [task.pilot.levels[place] for place in (later, baseline)]
        known = [level.at(task.effect.quantity, level.steps) for level in levels]
        samples = [random_effects.unweighted(list(v[np.isfinite(v)])) for v in known]
        if not all(map(len, samples)):
            continue
        gap = random_effects.difference(*samples)
        value = float(samples[0].values.mean() - samples[1].values.mean())
        interval = gap.interval() if gap else None
        gaps.append(
            OwnGap(
                asked.names[later],
                asked.names[baseline],
                value,
                interval.low if interval else None,
                interval.high if interval else None,
            )
        )
    return tuple(gaps)


def _directions(own: Sequence[OwnGap], asked: Asked) -> dict[tuple[int, int], int]:
    """Pair -> the sign of its difference, where the pilot's interval does not hold 0."""
    place = {name: at for at, name in enumerate(asked.names)}
    return {
        (place[gap.later], place[gap.baseline]): 1 if gap.value > 0 else -1
        for gap in own
        if gap.low is not None and gap.high is not None and (gap.low > 0 or gap.high < 0)
    }


def _curve(task: Task, found: Planned) -> list[CurvePoint]:
    """By the closed form, at the planned size."""
    pairs = search.drawn(task, found.design.size)
    assert not isinstance(pairs, str)
    pair = pairs[found.pair]
    most = min(power.MOST, max(12, 3 * found.design.seeds))
    seeds = np.unique(np.linspace(power.FEWEST, most, 40).round())
    points = []
    for multiple in SHOWN:
        scaled = search.scaled(pair, multiple)
        each = power.closed(task.rule, scaled, seeds)
        low, high = np.quantile(each, (0.025, 0.975), axis=0)
        points += [
            CurvePoint(task.effect.value * multiple, int(n), float(p), float(a), float(b))
            for n, p, a, b in zip(seeds, each.mean(axis=0), low, high, strict=True)
        ]
    return points
