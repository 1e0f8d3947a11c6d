"""Whether studies of the planned size decide as often as `harness plan` says.

    python -m benchmarks.plan made [plans per cell] [first seed] [number of a truth...]
    python -m benchmarks.plan law [plans per cell] [first seed]
    python -m benchmarks.plan real PATH... [plans] [first seed]
    python -m benchmarks.plan ship PATH...       writes harness/planning/spreads.json

`made`: pilots and studies whose numbers are drawn, with a known spread over seeds, a known part of
it that is the evaluation's, and a difference that grows over the run. `law`: whole runs of known
ceilings, read, fitted and compared as `harness fit-entropy-law` does it. `real`: pilots of three
seeds of finished runs below PATH, planned for the difference that all of them show; the other
seeds are the study. Prints Markdown; benchmarks/plan.md holds a dated result.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from harness.config.run import SCHEMA
from harness.law import analysis
from harness.law.compare import contrasts, groups
from harness.law.compare.claims import DEFAULT_MARGINS
from harness.law.compare.groups import Member
from harness.law.results import Floats
from harness.planning import at_once, pilot, pilot_runs, reading, search, settings, shipped, sizes
from harness.planning.answer import Question, task_of
from harness.planning.effects import Effect, parse
from harness.planning.pilot import Level, Pilot, Spent
from harness.planning.pilot_runs import Candidate
from harness.planning.search import OutOfReach
from harness.planning.settings import Asked
from harness.planning.task import Task
from harness.testing import sweeps, synthetic
from harness.testing.promises import at_least, at_most, table
from harness.testing.sweeps import Level as TrueLevel

FIRST_SEED = 2_000_000
PLANS = 200
STUDIES = 1000
"""Made studies inside of each plan: a command takes 4,000."""
Pairs = Sequence[tuple[int, int]]
JUDGED = 200
"""Studies of the size of each plan."""
FEWER_STUDIES = 200
"""The same of a law's numbers, whose studies are asked one by one; a command takes 1,000."""
WANTED, LOW, HIGH = 0.8, 75.0, 90.0
STEPS, EVERY, USERS = 600, 25, 64
EVALUATIONS = (*range(1, STEPS, EVERY), STEPS)
CUTS = EVALUATIONS[15:]
RISE = 150.0
"""Steps in which what is left of the difference falls by a factor of e."""
KNOWN_SEEDS = 4000
"""Of a pilot that knows the spread."""
ALIKE = 0.9
"""Correlation of a run's deviation at a cut with that at its end."""
OTHERS = ("ceiling", "onset", "fall")
WORDS = ("policy=tabular", "difficulty=easy,medium,hard", "trainer.eval_every=25")
"""Whose runs are shipped."""
DIGITS = 6


@dataclass(frozen=True)
class Truth:
    """Levels as they are. Standard deviations over seeds are in reward."""

    effect: Effect
    of_training: tuple[float, ...]
    """Of each level, without the evaluation's."""
    of_evaluation: float = 0.02
    """With USERS users."""
    others: tuple[str, ...] = OTHERS

    @property
    def name(self) -> str:
        spreads = "/".join(f"{spread:g}" for spread in self.of_training)
        return f"{self.effect}, {len(self.of_training)} levels, {spreads} + {self.of_evaluation:g}"

    def drawn(
        self, rng: Generator, seeds: int, users: int, steps: Sequence[int]
    ) -> list[dict[int, Floats]]:
        """For each level, the values of its runs by step. The first two are the effect apart, any
        others lie in their middle; all begin alike.
        """
        common = rng.normal(0.0, 0.01, seeds)  # what a seed does to all levels
        values = []
        for place, spread in enumerate(self.of_training):
            total = np.hypot(spread, self.of_evaluation * (USERS / users) ** 0.5)
            mean = self.effect.value * (-0.5, 0.5)[place] if place < 2 else 0.0
            end = rng.normal(size=seeds)
            own = {}
            for step in steps:
                noise = ALIKE * end + (1 - ALIKE**2) ** 0.5 * rng.normal(size=seeds)
                noise = end if step == STEPS else noise
                own[step] = 0.4 + mean * share(step) + total * noise
                if self.effect.quantity == "final_reward":
                    own[step] = own[step] + common
            values.append(own)
        return values

    def studies(
        self, rng: Generator, count: int, seeds: int, users: int, step: int, pairs: Pairs
    ) -> at_once.Groups:
        """As many studies of runs of `step` steps; of a link the differences of the `pairs`."""
        common = rng.normal(0.0, 0.01, (count, seeds))  # no contrast has it, whose seeds are others
        levels = []
        for place, spread in enumerate(self.of_training):
            total = np.hypot(spread, self.of_evaluation * (USERS / users) ** 0.5)
            mean = self.effect.value * (-0.5, 0.5)[place] if place < 2 else 0.0
            levels.append(mean * share(step) + total * rng.normal(size=(count, seeds)))
            if not self.effect.is_contrast:
                levels[-1] += common
        if not self.effect.is_contrast:
            levels = [levels[later] - levels[baseline] for later, baseline in pairs]
        values = np.stack(levels, axis=1)
        return at_once.groups(values, np.ones(values.shape, dtype=bool))


def share(step: int) -> float:
    """Of the difference at the end, what is there at `step`."""
    return float((1 - np.exp(-step / RISE)) / (1 - np.exp(-STEPS / RISE)))


def cells() -> Iterator[Truth]:
    gain, end = parse("gain=0.05"), parse("final_reward=0.05")
    yield Truth(gain, (0.012, 0.012))
    yield Truth(gain, (0.03, 0.03))
    yield Truth(gain, (0.01, 0.04))
    yield Truth(end, (0.02, 0.02), others=())
    yield Truth(gain, (0.02, 0.02, 0.02))
    yield Truth(gain, (0.02, 0.04, 0.01))
    yield Truth(end, (0.02, 0.02, 0.02), others=())
    yield Truth(gain, (0.02, 0.02, 0.02, 0.02, 0.02))
    yield Truth(gain, (0.02, 0.04, 0.01, 0.02, 0.03))
    yield Truth(end, (0.02, 0.02, 0.02, 0.02, 0.02), others=())


def asked_of(truth: Truth) -> Asked:
    """Levels of the shipped rung; of two, medium and hard, and of five as many rates."""
    count = len(truth.of_training)
    levels = f"difficulty={','.join(('medium', 'hard', 'easy')[:count])}"
    if count > 3:
        rates = [f"0.{place}" for place in range(1, count + 1)]
        levels = f"algorithm.learning_rate={','.join(rates)}"
    return settings.asked(["policy=tabular", levels, WORDS[2]])


def pilot_of(truth: Truth, asked: Asked, rng: Generator, seeds: int) -> Pilot:
    """What runs of `seeds` seeds a level would tell a plan."""
    drawn = truth.drawn(rng, seeds, USERS, CUTS)
    per_user = truth.of_evaluation**2 * USERS
    df = (USERS - 1) * (seeds - 1)
    levels = tuple(
        Level(
            config,
            tuple(range(1, seeds + 1)),
            {truth.effect.quantity: {step: tuple(map(float, v)) for step, v in own.items()}},
            evaluations=EVALUATIONS,
            per_user=float(per_user * rng.chisquare(df) / df),
            spent=Spent(0.0110, 0.0018, True),
        )
        for config, own in zip(asked.flat, drawn, strict=True)
    )
    tested = (truth.effect.quantity, *truth.others) if truth.others else ()
    return Pilot("made", levels, "eval/medium/reward", tested)


@dataclass(frozen=True)
class Tried:
    """A plan, and the share of studies of its size that decided the difference."""

    seeds: int | None
    """None where no size up to power.MOST was enough."""
    decided: float = 0.0
    own_size: bool = True
    """Whether it kept the pilot's steps and users."""


def planned(task: Task, known: bool) -> search.Planned | None:
    """None where no size is enough, or too little is known."""
    task = replace(task, known=known)
    made = search.made_studies(task, FEWER_STUDIES if search.errors_of(task) else STUDIES)
    found = search.plan(task, made)
    return None if isinstance(found, OutOfReach | str) else found


def of_pilots(
    truth: Truth, asked: Asked, rng: Generator, seeds: int | None, plans: int
) -> list[Tried]:
    """As many pilots of `seeds` a level, each with a plan and one study; with None one plan of a
    spread that is known, and its studies.
    """
    every: list[Tried] = []
    for number in range(plans):
        if seeds is not None or number == 0:
            made = pilot_of(truth, asked, rng, seeds or KNOWN_SEEDS)
            task = task_of(Question((), truth.effect, None, WANTED), asked, made)
            found = planned(task, known=seeds is None)
        every.append(Tried(None) if found is None else tried(truth, task, found, rng))
    return every


def tried(truth: Truth, task: Task, found: search.Planned, rng: Generator) -> Tried:
    """JUDGED studies of the size that was found."""
    size, n, pairs = found.design.size, found.design.seeds, task.rule.pairs
    made = truth.studies(rng, JUDGED, n, size.users, size.steps, pairs)
    decided = at_once.decided(task.rule, made, pairs.index((1, 0)))
    return Tried(n, float(decided.mean()), size == sizes.own_size(task))


HEAD = "truth | pilot | plans | seeds a level: median [10%, 90%] | another size than the pilot's, %"
HEAD += " | out of reach, % | decided, %"


def line(name: str, source: str, every: Sequence[Tried]) -> str:
    reached = [one for one in every if one.seeds is not None]
    sizes = [one.seeds for one in reached if one.seeds is not None]
    low, middle, high = np.quantile(sizes, (0.1, 0.5, 0.9))
    shares = np.array([one.decided for one in reached])
    half = 1.96 * shares.std(ddof=1) / len(shares) ** 0.5
    other = 100 * np.mean([not one.own_size for one in reached])
    out = 100 * (1 - len(reached) / len(every))
    return (
        f"| {name} | {source} | {len(every)} | {middle:.0f} [{low:.0f}, {high:.0f}] | {other:.0f} "
        f"| {out:.1f} | {100 * shares.mean():.1f} +- {100 * half:.1f} |"
    )


def share_of(every: Sequence[Tried]) -> float:
    reached = [one for one in every if one.seeds is not None]
    return 100 * float(np.mean([one.decided for one in reached]))


def head() -> None:
    print(f"| {HEAD} |", flush=True)
    print(f"|{'---|' * (HEAD.count('|') + 1)}", flush=True)


def made(plans: int, first: int, chosen: Sequence[int]) -> None:
    """The `chosen` truths, or all, with their spread known and with pilots of 3, 5 and 10 seeds."""
    head()
    figures: dict[str, dict[str, float]] = {"known": {}, "pilots": {}}
    pooled: dict[int | None, list[Tried]] = {}
    for number, truth in enumerate(cells()):
        if chosen and number not in chosen:
            continue
        asked = asked_of(truth)
        for seeds in (None, 3, 5, 10):
            rng = np.random.default_rng([first, number, seeds or 0])
            every = of_pilots(truth, asked, rng, seeds, plans)
            pooled.setdefault(seeds, []).extend(every)
            source = "spread known" if seeds is None else f"{seeds} seeds"
            print(line(truth.name, source, every), flush=True)
    for seeds, every in pooled.items():
        source = "spread known" if seeds is None else f"{seeds} seeds"
        print(line("all of these", source, every), flush=True)
        figures["known" if seeds is None else "pilots"][source] = share_of(every)
    print()
    print(promised(figures))


def promised(figures: Mapping[str, Mapping[str, float]]) -> str:
    words = {
        "known": "spread known: studies of the planned size that decide, %",
        "pilots": "spread from a pilot: studies of the planned size that decide, %",
        "law": "whole runs: studies of the planned size that decide the ceiling, %",
    }
    return table(
        [
            bound(words[kind], dict(every), limit)
            for kind, every in figures.items()
            for bound, limit in ((at_least, LOW), (at_most, HIGH))
        ]
    )


POOL = 240
CEILINGS = (0.65, 0.70)
SPREAD = 0.03


def law(plans: int, first: int) -> None:
    """Ceilings of whole runs: pilots and studies are sweeps that the law stage judges."""
    head()
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        seeds = range(first, first + POOL)
        known = sweeps.runs(Path(folder), lambda s: synthetic.lawful(s, 300, synthetic.LOW), seeds)
        for size in (3, 5, 10):
            rng = np.random.default_rng([first, size])
            every = [_of_law(known, rng, size) for _ in range(plans)]
            name = f"ceiling=0.05, 2 levels, {SPREAD:g} + the runs' own"
            print(line(name, f"{size} seeds", every), flush=True)
            figures[f"{size} seeds"] = share_of(every)
    print()
    print(promised({"law": figures}))


def _of_law(known: Sequence[Member], rng: Generator, seeds: int) -> Tried:
    effect = parse("ceiling=0.05")
    levels = [TrueLevel(ceiling, SPREAD) for ceiling in CEILINGS]
    members = sweeps.sweep(known, rng, levels, seeds)
    names = [[f"level {place}/{seed}" for seed in range(1, seeds + 1)] for place in (0, 1)]
    configs = [groups.flat(dict(m.identity.full_config or {})) for m in members[::seeds]]
    told = reading.of_members("made", members, names, configs)
    asked = asked_of(Truth(effect, (SPREAD, SPREAD)))
    task = task_of(Question((), effect, None, WANTED), asked, told)
    found = planned(task, known=False)
    if found is None or 2 * found.design.seeds > len(known):
        return Tried(None)
    study = sweeps.compared(sweeps.sweep(known, rng, levels, found.design.seeds))
    return Tried(found.design.seeds, any(_says(study, "ceiling")))


def _says(study: Sequence[Any], quantity: str) -> Iterator[bool]:
    """Whether each contrast says that the later level, which is the higher one, differs."""
    for _, _, contrast in sweeps.of_quantity(study, quantity):
        yield contrast.decision == "differs" and (contrast.difference or 0.0) > 0


PILOT_SEEDS = 3


def real(paths: Sequence[Path], plans: int, first: int) -> None:
    """Every pair of levels or arms below `paths` that differ in one axis and have 8 seeds."""
    print("| pair | difference planned for | seeds there | plans | planned: median [10%, 90%] "
          "| more than were left, % | decided, % |")  # fmt: skip
    print(f"|{'---|' * 7}")
    members = [m for path in paths for m in analysis.members([path]) if not m.identity.null_control]
    members = list({(_key(m), m.identity.seed): m for m in members}.values())
    for quantity in ("gain", "ceiling"):
        for one, other in _pairs(members):
            print(_real(one, other, quantity, plans, first), flush=True)


def _key(member: Member) -> str:
    return json.dumps(groups.flat(dict(member.identity.full_config or {})), sort_keys=True)


def _pairs(members: Sequence[Member]) -> Iterator[tuple[list[Member], list[Member]]]:
    by_config: dict[str, list[Member]] = {}
    for member in members:
        by_config.setdefault(_key(member), []).append(member)
    every = [of for of in by_config.values() if len(of) > 2 * PILOT_SEEDS + 1]
    for at, one in enumerate(every):
        for other in every[at + 1 :]:
            configs = [groups.flat(dict(of[0].identity.full_config or {})) for of in (one, other)]
            apart = {key.split(".")[0] for key in reading.differ(*configs)}
            if len(apart) == 1:
                yield one, other


def _real(
    one: Sequence[Member], other: Sequence[Member], quantity: str, plans: int, first: int
) -> str:
    whole = _contrast([*one, *other], quantity)
    names = [_told(of[0], (one[0], other[0])) for of in (one, other)]
    title = f"{quantity}: {' against '.join(names)}"
    if whole is None or whole.difference is None:
        return f"| {title} | not comparable | | | | | |"
    rng = np.random.default_rng([first, len(one), len(other)])
    effect = Effect(quantity, abs(whole.difference))
    sign, counted, sizes, beyond = np.sign(whole.difference), [], [], 0
    for _ in range(plans):
        shuffled = [list(rng.permutation(len(of))) for of in (one, other)]
        parts = [[of[at] for at in order] for of, order in zip((one, other), shuffled, strict=True)]
        seeds = _planned_of([part[:PILOT_SEEDS] for part in parts], effect)
        if seeds is None:
            beyond += 1
            continue
        left = [part[PILOT_SEEDS:][:seeds] for part in parts]
        if min(map(len, left)) < seeds:
            beyond += 1
            continue
        sizes.append(seeds)
        found = _contrast([m for part in left for m in part], quantity)
        decided = found is not None and found.decision == "differs"
        counted.append(decided and found is not None and np.sign(found.difference) == sign)
    if not counted:
        return f"| {title} | {effect.value:.3f} | {len(one)}, {len(other)} | {plans} | | 100 | |"
    low, middle, high = np.quantile(sizes, (0.1, 0.5, 0.9))
    return (
        f"| {title} | {effect.value:.3f} | {len(one)}, {len(other)} | {plans} "
        f"| {middle:.0f} [{low:.0f}, {high:.0f}] | {100 * beyond / plans:.0f} "
        f"| {100 * float(np.mean(counted)):.0f} |"
    )


def _told(member: Member, both: tuple[Member, Member]) -> str:
    flat = [groups.flat(dict(m.identity.full_config or {})) for m in both]
    apart = [key for key in reading.differ(*flat) if "." not in key]
    own = groups.flat(dict(member.identity.full_config or {}))
    level = "" if "difficulty" in apart else f"{own['difficulty']}, "
    return level + ", ".join(str(own[key]) for key in apart)


def _contrast(members: Sequence[Member], quantity: str) -> Any:
    found = groups.group(members, pool_unlike=True).groups
    every = contrasts.contrasted(found, members, DEFAULT_MARGINS, pool_unlike=True)
    named = [c for group in every for c in group.contrasts if c.quantity == quantity]
    return named[0] if named else None


def _planned_of(parts: Sequence[Sequence[Member]], effect: Effect) -> int | None:
    members = [m for part in parts for m in part]
    names = [[m.result.run for m in part] for part in parts]
    configs = [groups.flat(dict(part[0].identity.full_config or {})) for part in parts]
    told = reading.of_members("real", members, names, configs)
    typed = frozenset({settings.STEPS, settings.USERS})  # the other seeds were run at this size
    asked = replace(asked_of(Truth(effect, (0.0, 0.0))), typed=typed)
    if effect.quantity not in told.tested:
        return None
    found = planned(task_of(Question((), effect, None, WANTED), asked, told), known=False)
    return None if found is None else found.design.seeds


def ship(paths: Sequence[Path]) -> None:
    """Write the spreads of the tabular rung, from the finished runs below `paths`."""
    asked = settings.asked(WORDS)
    every = [one for path in paths for one in pilot_runs.below(path)[0]]
    chosen = [_distinct(every, config) for config in asked.flat]
    today = date.today().isoformat()
    source = f"{sum(map(len, chosen))} shipped runs of policy=tabular, {today}"
    found = reading.read(source, chosen)
    rung = {
        "source": source,
        "column": found.column,
        "tested": found.tested,
        "levels": [_rounded(pilot.to_json(level)) for level in found.levels],
    }
    held = {
        "schema": SCHEMA,
        "made_by": "python -m benchmarks.plan ship PATH...",
        "made_on": today,
        "rungs": {"tabular": rung},
    }
    shipped.FILE.write_text(json.dumps(held, indent=None) + "\n", encoding="utf-8")
    for name, level in zip(asked.names, found.levels, strict=True):
        print(name, len(level.seeds), "seeds", level.per_user, level.spent)


def _distinct(every: Sequence[Candidate], config: Mapping[str, Any]) -> list[Candidate]:
    """Runs of a level, one a seed: studies share seeds, and with them whole runs."""
    mine = [one for one in every if not settings.unlike(one.config, config)]
    mine = [one for one in mine if one.config["trainer.eval_every"] == config["trainer.eval_every"]]
    return list({one.seed: one for one in mine}.values())


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, DIGITS)
    if isinstance(value, dict):
        return {str(key): _rounded(held) for key, held in value.items()}
    return [_rounded(held) for held in value] if isinstance(value, list | tuple) else value


def main(words: Sequence[str]) -> None:
    kind, rest = words[0], words[1:]
    numbers = [int(word) for word in rest if word.isdigit()]
    paths = [Path(word) for word in rest if not word.isdigit()]
    plans, first = [*numbers[:2], *(PLANS, FIRST_SEED)[len(numbers) :]]
    began = time.process_time()
    if kind == "ship":
        ship(paths)
    elif kind == "real":
        real(paths, plans, first)
    elif kind == "law":
        law(plans, first)
    else:
        made(plans, first, numbers[2:])
    print(f"\n{time.process_time() - began:.0f} s of CPU", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
