"""The calibrate command: measure the levels, write the cards, print them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from harness import devices, launch, outputs
from harness.calibration import levels
from harness.config import LEVELS, DifficultyConfig, RunConfig
from harness.errors import ConfigError
from harness.plans import Plan
from harness.report import table_levels, write_levels

GROUP = "difficulty"


def calibrate(overrides: Sequence[str], out: Path, *, as_json: bool) -> None:
    """Raises ConfigError for a sweep over anything but the difficulty, StorageError from `out`."""
    plan = launch.plan(_with_levels(overrides))
    _refuse_other_axes(plan)
    configs = [point.config for point in plan.points]
    _refuse_served(configs[0])
    outputs.refuse_unwritable(out)
    named = {config.difficulty.name: config.difficulty for config in configs}
    found = levels.calibrate(
        named, _medium(configs[0]), configs[0].algorithm.group_size, devices.cores()
    )
    value = found.to_json()
    if as_json:
        print(json.dumps(value, indent=1, allow_nan=False), flush=True)
    else:
        table_levels.print_calibration(value, Console())
    write_levels.write(value, out)
    print(f"harness: results in {out}", file=sys.stderr)


def _refuse_served(config: RunConfig) -> None:
    if config.simulator.kind == "served":
        raise ConfigError("simulator.kind: calibrate measures the scripted user, got served")
    if config.simulator.profiles:
        raise ConfigError(
            "simulator.profiles: calibrate measures a level with the users it draws itself, "
            f"got {config.simulator.profiles}"
        )


def _with_levels(overrides: Sequence[str]) -> list[str]:
    """All named levels, unless some are chosen."""
    chosen = any(word.lstrip("+").startswith(f"{GROUP}=") for word in overrides)
    return [*overrides] if chosen else [f"{GROUP}={','.join(LEVELS)}", *overrides]


def _medium(config: RunConfig) -> DifficultyConfig:
    """The level in whose talks all levels are measured."""
    return config.levels.medium


def _refuse_other_axes(plan: Plan) -> None:
    others = [axis for axis in plan.axes if axis != GROUP]
    if others:
        rule = "calibrate measures one variant of each level; give one value"
        raise ConfigError(f"{others[0]}: {rule}, got {len(plan.axes[others[0]])}")
