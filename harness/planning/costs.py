"""Hours of a run in a design: as the pilot's own runs cost, else as study/cost.py has measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.config.run import RunConfig
from harness.planning.pilot import Level, Pilot
from harness.study import cost


@dataclass(frozen=True)
class Hours:
    """What all runs of a design take; None where it was never measured."""

    cpu: float | None
    gpu: float | None
    how: str


@dataclass(frozen=True)
class Size:
    """The size of one run, beside its config."""

    steps: int
    evaluations: int
    users: int
    repeats: int


def hours(pilot: Pilot, configs: Sequence[RunConfig], size: Size, seeds: int) -> Hours:
    """Of `seeds` runs of each level."""
    own = [_of_level(level, size) for level in pilot.levels]
    on_gpu = any(config.trainer.gpus for config in configs)
    if all(one is not None for one in own):
        known = [one for one in own if one is not None]
        cpu = seeds * sum(one for one, _ in known)
        walls = [wall for _, wall in known if wall is not None]
        gpu = seeds * sum(walls) if on_gpu and len(walls) == len(known) else None
        is_cpu = all(level.spent.is_cpu for level in pilot.levels if level.spent is not None)
        return Hours(cpu if is_cpu else None, gpu, f"as {pilot.source} took")
    rows = [_sized(config, size) for config in configs]
    total = cost.cpu_hours(rows)
    if total is None:
        return Hours(None, None, "never measured")
    return Hours(seeds * total, None, "as measured on one core")


def _of_level(level: Level, size: Size) -> tuple[float, float | None] | None:
    """CPU hours and GPU hours of a run."""
    spent = level.spent
    if spent is None:
        return None
    steps = size.steps / level.steps
    met = size.evaluations * size.users * size.repeats
    was = max(1, len(level.evaluations)) * level.users * level.repeats
    both = spent.training_h + spent.evaluating_h
    own = spent.training_h * steps + spent.evaluating_h * met / was
    return own, None if spent.gpu_h is None or not both else spent.gpu_h * own / both


def _sized(config: RunConfig, size: Size) -> RunConfig:
    return replace(
        config,
        trainer=replace(config.trainer, steps=size.steps),
        eval=replace(config.eval, users=size.users, repeats=size.repeats),
    )


def to_json(hours: Hours) -> Mapping[str, float | str | None]:
    return {"cpu_hours": hours.cpu, "gpu_hours": hours.gpu, "how": hours.how}
