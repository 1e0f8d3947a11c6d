"""What a command would run: every point with its config, checked as a whole; nothing is created."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.compose import inert_axes
from harness.config.run import RunConfig
from harness.errors import ConfigError
from harness.records import config_file

FOLDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,31}")
LONGEST_NAME = 96


@dataclass(frozen=True)
class Point:
    """One run of a plan: its config and the words that make it."""

    overrides: tuple[str, ...]
    values: Mapping[str, Any]
    """Key -> value, in its own type, of each of those words."""
    config: RunConfig


@dataclass(frozen=True)
class Plan:
    """A whole sweep, composed and checked."""

    points: tuple[Point, ...]
    axes: Mapping[str, tuple[Any, ...]]
    """Swept key -> its values over the points."""
    names: tuple[str, ...]
    """The folder name of each point: N-LEVEL-seedS and what else is swept."""


def build(points: Sequence[Point], swept: Sequence[str]) -> Plan:
    """Raises ConfigError for no point, for two alike, for an axis that changes nothing, or for a
    level that cannot name a folder.
    """
    if not points:
        raise ConfigError("the sweep is empty: one of its axes has no values")
    _refuse_repeats(points)
    _check_remedies(points)
    inert_axes.refuse([point.config for point in points], swept)
    axes = {key: _values(points, key) for key in swept}
    return Plan(tuple(points), axes, tuple(_names(points, axes)))


def _refuse_repeats(points: Sequence[Point]) -> None:
    seen: dict[str, int] = {}
    for number, point in enumerate(points):
        same = json.dumps(config_file.to_dict(point.config), sort_keys=True)
        first = seen.setdefault(same, number)
        if first != number:
            words = " ".join(point.overrides)
            raise ConfigError(f"runs {first} and {number} of the sweep are the same: {words}")


def _check_remedies(points: Sequence[Point]) -> None:
    """What a method's keys may be is known to its file, which needs numpy: read where one is."""
    treated = [point.config for point in points if point.config.remedy.methods]
    if treated:
        from harness.train.objective import remedy_stack

        for config in treated:
            remedy_stack.check(config)


def _values(points: Sequence[Point], key: str) -> tuple[Any, ...]:
    """Distinct values in order; 1 and True are two."""
    distinct = {repr(point.values[key]): point.values[key] for point in points}
    return tuple(distinct.values())


def _names(points: Sequence[Point], axes: Iterable[str]) -> Iterable[str]:
    others = [key for key in axes if key not in ("difficulty", "seed")]
    for number, point in enumerate(points):
        level = point.config.difficulty.name
        if not FOLDER_NAME.fullmatch(level):
            raise ConfigError(
                "difficulty.name must be at most 32 letters, digits, '.', '_' or '-', since it "
                f"names the run's folder, got {level!r}"
            )
        swept = [_shown(key, point.values[key]) for key in others]
        name = "-".join([str(number), level, f"seed{point.config.seed}", *swept])
        yield re.sub(r"[^A-Za-z0-9._-]+", "_", name)[:LONGEST_NAME]


def _shown(key: str, value: Any) -> str:
    """`tabular` for policy=tabular, `steps5` for trainer.steps=5."""
    return f"{key.split('.')[-1]}{value}" if "." in key else str(value)
