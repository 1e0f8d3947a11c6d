"""Reads the links and checks of a study file. Raises ConfigError for any mistake in them."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.config import ranges as checks
from harness.errors import ConfigError
from harness.law.compare import quantities
from harness.law.compare.quantities import QUANTITIES
from harness.law.compare.replicates import COMMON
from harness.records.study_file import FactorialTable, Link
from harness.study import probe_links
from harness.utils import shape

ARM = re.compile(r"[a-z0-9][a-z0-9_]{0,31}")
"""A valid name of an arm, or of a factor of a crossed table."""
DIRECTIONS = ("less", "more", "earlier")
CROSSED = "crossed"
KEYS = (*(f.name for f in dataclasses.fields(Link) if f.name != "name"), probe_links.LEVEL)
REQUIRED = ("quantity", "arm", "direction", "margin")


def read(path: Path, part: str, value: Any, arms: Sequence[str]) -> tuple[Link, ...]:
    """Read `links` or `checks` of the study file `path`, on the arms that it has."""
    if value is None:
        return ()
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: {part} must map names to statements, got {value!r}")
    for name in value:
        if not isinstance(name, str):
            raise ConfigError(f"{path}: {part}: a name must be text, got {name!r}")
    return tuple(
        _link(f"{path}: {part}.{name}", name, statement, arms) for name, statement in value.items()
    )


def _link(where: str, name: str, statement: Any, arms: Sequence[str]) -> Link:
    if not isinstance(statement, dict):
        raise ConfigError(f"{where} must be a mapping of {', '.join(KEYS)}, got {statement!r}")
    for key in statement:
        checks.one_of(f"{where}: a key", str(key), KEYS)
    missing = next((key for key in REQUIRED if key not in statement), None)
    if missing:
        raise ConfigError(
            f"{where}.{missing} is required, got only {', '.join(map(str, statement))}"
        )
    probe = probe_links.of_probe(where, statement)
    table = _parse_table(f"{where}.{CROSSED}", statement, arms)
    parsed = (*probe_links.KEYS, CROSSED)
    plain = {key: value for key, value in statement.items() if key not in parsed}
    values = {"name": name, "against": None, **plain}
    defaults = {
        field.name: field.default for field in dataclasses.fields(Link) if field.name not in values
    }
    problem = shape.problem(Link, {**defaults, **values})
    if problem:
        raise ConfigError(f"{where}.{problem}")
    link = Link(**values, probe=probe, crossed=table)
    _check_link(where, link, table.factors if table else arms)
    return link


def _parse_table(
    where: str, statement: Mapping[str, Any], arms: Sequence[str]
) -> FactorialTable | None:
    """Return the crossed table of the link `of`; None for a link between arms."""
    if CROSSED not in statement:
        return None
    value, keys = statement[CROSSED], [field.name for field in dataclasses.fields(FactorialTable)]
    if not isinstance(value, dict) or sorted(map(str, value)) != sorted(keys):
        raise ConfigError(f"{where} must be a mapping of {', '.join(keys)}, got {value!r}")
    for key in ("rows", "columns"):
        name = value[key]
        if not (isinstance(name, str) and ARM.fullmatch(name)) or name in arms:
            rule = "must be at most 32 of a-z, 0-9 and '_', and not the name of an arm"
            raise ConfigError(f"{where}.{key} {rule}, got {name!r}")
    if value["rows"] == value["columns"]:
        rule = f"must be another factor than {value['rows']}"
        raise ConfigError(f"{where}.columns {rule}, got the same")
    rows = value["arms"]
    if not isinstance(rows, list) or not all(isinstance(row, list) and row for row in rows):
        raise ConfigError(f"{where}.arms must be a list of rows, each a list of arms, got {rows!r}")
    for row in rows:
        checks.all_of(f"{where}.arms", map(str, row), arms)
    lengths = [len(row) for row in rows]
    if len(set(lengths)) > 1:
        rule = "must have an arm in every place, so rows of equal length"
        raise ConfigError(f"{where}.arms {rule}, got rows of {', '.join(map(str, lengths))}")
    if len(rows) < 2 or lengths[0] < 2:
        rule = "must be at least two rows of two arms"
        raise ConfigError(f"{where}.arms {rule}, got {len(rows)} of {lengths[0] if rows else 0}")
    return FactorialTable(
        value["rows"], value["columns"], tuple(tuple(map(str, row)) for row in rows)
    )


def check_once(path: Path, link: Link, best: Mapping[str, Sequence[str]]) -> None:
    """Raise ConfigError for an arm that occurs twice in a crossed table, also as part of a best
    arm: levels would agree merely because they share runs.
    """
    listed: set[str] = set()
    for arm in probe_links.arms_of(link, best) if link.crossed else ():
        if arm in listed:
            rule = "must hold each arm once, also as one of `best`"
            raise ConfigError(f"{path}: {link.name}.{CROSSED}.arms {rule}, got {arm!r} twice")
        listed.add(arm)


def _check_link(where: str, link: Link, names: Sequence[str]) -> None:
    """Raise ConfigError for an invalid link. `names`: possible arms, or factors of its table."""
    if link.probe is None and link.quantity not in quantities.OLD_NAMES:
        checks.one_of(f"{where}.quantity", link.quantity, quantities.STUDIED)
    quantity = quantities.of_link(link)
    checks.one_of(f"{where}.direction", link.direction, DIRECTIONS)
    checks.one_of(f"{where}.evaluation", link.evaluation, COMMON)
    checks.one_of(f"{where}.arm", link.arm, names)
    if link.against is not None:
        checks.one_of(f"{where}.against", link.against, names)
    kind = "factor" if link.crossed else "arm"
    if link.against == link.arm:
        raise ConfigError(f"{where}.against must be another {kind} than {link.arm}, got the same")
    if link.crossed and link.against is None:
        raise ConfigError(f"{where}.against must be the other factor of the table, got none")
    if link.crossed and link.spread:
        rule = f"must be false with {CROSSED}, which compares means"
        raise ConfigError(f"{where}.spread {rule}, got true")
    if link.spread and link.against is None:
        rule = "must be false without against: the distance from a median is never below 0"
        raise ConfigError(f"{where}.spread {rule}, got true")
    if not (math.isfinite(link.margin) and link.margin > 0):
        raise ConfigError(f"{where}.margin must be a finite number above 0, got {link.margin!r}")
    if link.direction == "earlier" and link.crossed:
        raise ConfigError(f"{where}.direction must be less or more for variances, got 'earlier'")
    if link.direction == "earlier" and not quantity.is_onset:
        raise ConfigError(
            f"{where}.direction must be less or more, except for an onset, got 'earlier'"
        )
    if link.net_of_null and not quantity.null:
        allowed = ", ".join(name for name in quantities.STUDIED if QUANTITIES[name].null)
        raise ConfigError(f"{where}.net_of_null must be false, except for {allowed}, got true")


def check_distinct(path: Path, links: Sequence[Link], study_checks: Sequence[Link]) -> None:
    """Raise ConfigError for a check with the name of a link: looks are recorded by name."""
    names = {link.name for link in links}
    repeated = next((check.name for check in study_checks if check.name in names), None)
    if repeated is not None:
        rule = "a check must have another name than each link"
        raise ConfigError(f"{path}: checks: {rule}, got {repeated!r}")


def check_given(path: Path, links: Sequence[Link], study_checks: Sequence[Link]) -> None:
    """Check `given`: a link may depend on any check, a check only on one before it."""
    check_names = [check.name for check in study_checks]
    for link in (*links, *study_checks):
        if link.given is not None and not check_names:
            rule = "must name a check, but the file has no checks"
            raise ConfigError(f"{path}: {link.name}.given {rule}, got {link.given!r}")
        if link.given is not None:
            checks.one_of(f"{path}: {link.name}.given", link.given, check_names)
    for index, check in enumerate(study_checks):
        if check.given in check_names[index:]:
            rule = "must be an earlier check"
            raise ConfigError(f"{path}: {check.name}.given {rule}, got {check.given!r}")
