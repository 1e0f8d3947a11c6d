"""Links whose quantity is the change of a probe's reading: checks them against the readings that
the probe will have for the runs of their arms.

A link on a reading that such a run will not have is refused before any run is created.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from harness.compose.plan import Point
from harness.config import ranges as checks
from harness.config.run import RunConfig
from harness.errors import ConfigError
from harness.law.compare.replicates import COMMON
from harness.probes import expected, registry
from harness.probes.expected import ExpectedAnswer, ProbeSize
from harness.records import config_file
from harness.records.study_file import EVALUATION, Link, LinkProbe

PROBE, LEVEL = "probe", "level"
KEYS = (PROBE, LEVEL)
"""Additional keys of such a link."""
OPTIONS = tuple(f.name for f in dataclasses.fields(ProbeSize))
Points = Mapping[str, Mapping[int, Point]]
"""Arm -> seed -> its run."""


def options(path: Path, value: Any) -> dict[str, ProbeSize]:
    """Parse a study file's `probes`: name -> options. Raises ConfigError."""
    if not isinstance(value, dict):
        rule = f"must map names of probes to {', '.join(OPTIONS)}"
        raise ConfigError(f"{path}: probes {rule}, got {value!r}")
    sizes = {}
    for name, values in value.items():
        where = f"{path}: probes.{name}"
        checks.one_of(f"{path}: probes: a name", str(name), registry.PROBES)
        if not isinstance(values, dict):
            raise ConfigError(f"{where} must be a mapping of {', '.join(OPTIONS)}, got {values!r}")
        for key, number in values.items():
            checks.one_of(f"{where}: a key", str(key), OPTIONS)
            if type(number) is not int or number < 1:
                raise ConfigError(f"{where}.{key} must be a whole number above 0, got {number!r}")
        sizes[str(name)] = ProbeSize(**values)
    return sizes


def of_probe(where: str, statement: Mapping[str, Any]) -> LinkProbe | None:
    """Parse the probe of a link in a study file; None if it has none. Raises ConfigError.

    Values that depend on the runs are left empty until `resolve`.
    """
    if PROBE not in statement:
        if LEVEL in statement:
            rule = "needs the key probe; other links have the key evaluation"
            raise ConfigError(f"{where}.{LEVEL} {rule}, got {statement[LEVEL]!r}")
        return None
    checks.one_of(f"{where}.{PROBE}", str(statement[PROBE]), registry.PROBES)
    if "evaluation" in statement:
        rule = f"cannot be combined with probe; use the key {LEVEL}"
        raise ConfigError(f"{where}.evaluation {rule}, got {statement['evaluation']!r}")
    level = statement.get(LEVEL, "")
    if not isinstance(level, str):
        raise ConfigError(f"{where}.{LEVEL} must be text, got {level!r}")
    return LinkProbe(str(statement[PROBE]), level, unit="", users=0, repeats=0, items=None)


def resolve(
    where: str,
    link: Link,
    best: Mapping[str, Sequence[str]],
    points: Points,
    sizes: Mapping[str, ProbeSize],
) -> Link:
    """Return the link with the values that depend on the runs of its arms.

    Raises ConfigError for a reading that one of the runs will not have.
    """
    if link.probe is None:
        return link
    probes = [
        _probe_of_run(where, link, arm, config, sizes) for arm, config in _runs(link, best, points)
    ]
    first = probes[0][1]
    for arm, probe in probes:
        if probe != first:
            rule = "must have the same options in all arms of a link"
            raise ConfigError(
                f"{where}: probe {first.name} {rule}, got {first} and, of {arm}, {probe}"
            )
    column = f"eval/{first.level}/reward"
    return replace(link, probe=first, evaluation=column if column in COMMON else EVALUATION)


def arms_of(link: Link, best: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the arms that a link compares, with a best arm replaced by its candidates."""
    return [arm for side in link.named_arms for arm in best.get(side, [side])]


def _runs(
    link: Link, best: Mapping[str, Sequence[str]], points: Points
) -> Iterator[tuple[str, RunConfig]]:
    """Yield the arms with their runs' distinct configs."""
    hashes = set()
    for arm in arms_of(link, best):
        for point in points[arm].values():
            config_hash = config_file.config_hash(point.config)
            if config_hash not in hashes:
                hashes.add(config_hash)
                yield arm, point.config


def _probe_of_run(
    where: str, link: Link, arm: str, config: RunConfig, sizes: Mapping[str, ProbeSize]
) -> tuple[str, LinkProbe]:
    assert link.probe is not None
    probe = registry.get(link.probe.name)
    try:
        answer = expected.of(probe, config, sizes.get(probe.name, ProbeSize()))
        level = link.probe.level or answer.usual_level
        checks.one_of(LEVEL, level, answer.levels)
        if (level, link.quantity) not in answer.units:
            _refuse(link.quantity, answer.at(level), probe.not_measured(config))
    except ConfigError as error:
        raise ConfigError(f"{where}: arms.{arm}: {error}") from error
    return arm, _complete(link.probe.name, level, answer, link.quantity)


def _refuse(quantity: str, names: Sequence[str], reasons: Sequence[str]) -> None:
    """Raise ConfigError for a reading that is not among `names`."""
    try:
        checks.one_of(
            "quantity", quantity, [f'"{name}"' if "," in name else name for name in names]
        )
    except ConfigError as error:
        notes = "".join(f"; not measured: {reason}" for reason in reasons)
        raise ConfigError(f"{error}{notes}") from error


def _complete(name: str, level: str, answer: ExpectedAnswer, quantity: str) -> LinkProbe:
    unit = answer.units[level, quantity]
    return LinkProbe(name, level, unit, answer.users, answer.repeats, answer.items)
