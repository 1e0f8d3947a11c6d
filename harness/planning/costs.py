"""Estimate the hours of a design from the pilot's runs, or else from study/cost.py."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from harness.config.run import RunConfig
from harness.law.variance import run_cost
from harness.law.variance.runs import RunAtLevel
from harness.planning.pilot import Pilot, PilotLevel, PilotRunCost
from harness.records.run_folder import RunFolder
from harness.study import cost

HOUR = 3600.0
"""Seconds per hour."""


@dataclass(frozen=True)
class Hours:
    """The hours of all runs of a design; None if they were never measured."""

    cpu: float | None
    gpu: float | None
    how: str


@dataclass(frozen=True)
class RunSize:
    """The size of one run."""

    steps: int
    evaluations: int
    users: int
    repeats: int


def hours(pilot: Pilot, configs: Sequence[RunConfig], size: RunSize, seeds: int) -> Hours:
    """Return the hours of `seeds` runs of each level."""
    level_hours = [_level_hours(level, size) for level in pilot.levels]
    on_gpu = any(config.trainer.gpus for config in configs)
    if all(run_hours is not None for run_hours in level_hours):
        known_hours = [run_hours for run_hours in level_hours if run_hours is not None]
        cpu = seeds * sum(run_hours for run_hours, _ in known_hours)
        walls = [wall for _, wall in known_hours if wall is not None]
        gpu = seeds * sum(walls) if on_gpu and len(walls) == len(known_hours) else None
        is_cpu = all(level.spent.is_cpu for level in pilot.levels if level.spent is not None)
        return Hours(cpu if is_cpu else None, gpu, f"as {pilot.source} took")
    rows = [_with_size(config, size) for config in configs]
    total = cost.cpu_hours(rows)
    if total is None:
        return Hours(None, None, "never measured")
    return Hours(seeds * total, None, "as measured on one core")


def _level_hours(level: PilotLevel, size: RunSize) -> tuple[float, float | None] | None:
    """Return the CPU hours and GPU hours of a run; None if the pilot's cost is not known."""
    spent = level.spent
    if spent is None:
        return None
    step_ratio = size.steps / level.steps
    conversations = size.evaluations * size.users * size.repeats
    pilot_conversations = max(1, len(level.evaluations)) * level.users * level.repeats
    pilot_hours = spent.training_h + spent.evaluating_h
    run_hours = (
        spent.training_h * step_ratio + spent.evaluating_h * conversations / pilot_conversations
    )
    return (
        run_hours,
        None if spent.gpu_h is None or not pilot_hours else spent.gpu_h * run_hours / pilot_hours,
    )


def _with_size(config: RunConfig, size: RunSize) -> RunConfig:
    return replace(
        config,
        trainer=replace(config.trainer, steps=size.steps),
        eval=replace(config.eval, users=size.users, repeats=size.repeats),
    )


def mean_run_cost(
    folders: Sequence[Path], outcomes: Sequence[RunAtLevel], gpus: int
) -> PilotRunCost | None:
    """Return the mean cost of a run by its events; None if they do not contain it."""
    run_costs = [run.cost for run in outcomes if run.cost is not None]
    if not run_costs:
        return None
    walls = [wall for wall in map(_wall_s, folders) if wall is not None] if gpus else []
    return PilotRunCost(
        training_h=float(np.mean([spent.training for spent in run_costs])) / HOUR,
        evaluating_h=float(np.mean([spent.evaluating for spent in run_costs])) / HOUR,
        is_cpu=all(spent.is_cpu for spent in run_costs),
        gpu_h=gpus * float(np.mean(walls)) / HOUR if walls else None,
    )


def _wall_s(folder: Path) -> float | None:
    """Return the seconds of all phases of a run's steps: the time on its GPU without waiting."""
    events = run_cost.sound_events(RunFolder(folder).events)
    steps = (event["seconds"] for event in events if event["event"] == "step")
    return float(sum(sum(seconds.values()) for seconds in steps)) or None
