"""Plans and studies of whole runs: `benchmarks.plan law` and `benchmarks.plan real`."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.random import Generator

from benchmarks.plan_tried import WANTED, Tried, head, line, planned, promised, share_of
from benchmarks.plan_truth import (
    Truth,
    asked_of,
)
from harness.law import analysis
from harness.law.compare import contrasts, groups
from harness.law.compare.claims import DEFAULT_MARGINS
from harness.law.compare.groups import Member
from harness.planning import reading, settings
from harness.planning.answer import PlanRequest, task_of
from harness.planning.task import TargetEffect, parse_effect
from harness.testing import sweeps, synthetic
from harness.testing.sweeps import LevelCeilings as TrueLevel

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
    effect = parse_effect("ceiling=0.05")
    levels = [TrueLevel(ceiling, SPREAD) for ceiling in CEILINGS]
    members = sweeps.sweep(known, rng, levels, seeds)
    names = [[f"level {place}/{seed}" for seed in range(1, seeds + 1)] for place in (0, 1)]
    configs = [groups.flatten_config(dict(m.identity.full_config or {})) for m in members[::seeds]]
    told = reading.of_members("made", members, names, configs)
    asked = asked_of(Truth(effect, (SPREAD, SPREAD)))
    task = task_of(PlanRequest((), effect, None, WANTED), asked, told)
    found = planned(task, known=False)
    if found is None or 2 * found.design.seeds > len(known):
        return Tried(None)
    study = sweeps.compare_levels(sweeps.sweep(known, rng, levels, found.design.seeds))
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
    members = [
        m for path in paths for m in analysis.load_members([path]) if not m.identity.null_control
    ]
    members = list({(_key(m), m.identity.seed): m for m in members}.values())
    for quantity in ("gain", "ceiling"):
        for one, other in _pairs(members):
            print(_real(one, other, quantity, plans, first), flush=True)


def _key(member: Member) -> str:
    return json.dumps(
        groups.flatten_config(dict(member.identity.full_config or {})), sort_keys=True
    )


def _pairs(members: Sequence[Member]) -> Iterator[tuple[list[Member], list[Member]]]:
    by_config: dict[str, list[Member]] = {}
    for member in members:
        by_config.setdefault(_key(member), []).append(member)
    every = [of for of in by_config.values() if len(of) > 2 * PILOT_SEEDS + 1]
    for at, one in enumerate(every):
        for other in every[at + 1 :]:
            configs = [
                groups.flatten_config(dict(of[0].identity.full_config or {})) for of in (one, other)
            ]
            apart = {key.split(".")[0] for key in reading.differing_keys(*configs)}
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
    effect = TargetEffect(quantity, abs(whole.difference))
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
    flat = [groups.flatten_config(dict(m.identity.full_config or {})) for m in both]
    apart = [key for key in reading.differing_keys(*flat) if "." not in key]
    own = groups.flatten_config(dict(member.identity.full_config or {}))
    level = "" if "difficulty" in apart else f"{own['difficulty']}, "
    return level + ", ".join(str(own[key]) for key in apart)


def _contrast(members: Sequence[Member], quantity: str) -> Any:
    found = groups.group(members, pool_unlike=True).groups
    every = contrasts.add_contrasts(found, members, DEFAULT_MARGINS, pool_unlike=True)
    named = [c for group in every for c in group.contrasts if c.quantity == quantity]
    return named[0] if named else None


def _planned_of(parts: Sequence[Sequence[Member]], effect: TargetEffect) -> int | None:
    members = [m for part in parts for m in part]
    names = [[m.result.run for m in part] for part in parts]
    configs = [groups.flatten_config(dict(part[0].identity.full_config or {})) for part in parts]
    told = reading.of_members("real", members, names, configs)
    typed = frozenset({settings.STEPS, settings.USERS})  # the other seeds were run at this size
    asked = replace(asked_of(Truth(effect, (0.0, 0.0))), typed=typed)
    if effect.quantity not in told.tested:
        return None
    found = planned(task_of(PlanRequest((), effect, None, WANTED), asked, told), known=False)
    return None if found is None else found.design.seeds
