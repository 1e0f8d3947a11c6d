"""Reads a study file, sweeps/studies/NAME.yaml. Raises ConfigError for any mistake in it."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.compose import search_path
from harness.config import ranges as checks
from harness.errors import ConfigError
from harness.law.compare import quantities
from harness.law.compare.claims import MOST_SEEDS
from harness.law.compare.quantities import QUANTITIES
from harness.law.compare.random_effects import FEWEST_SEEDS
from harness.law.compare.replicates import COMMON
from harness.probes.expected import ProbeSize
from harness.records.study_file import FactorialTable, Link
from harness.study import probe_links
from harness.utils import shape

ARM = re.compile(r"[a-z0-9][a-z0-9_]{0,31}")
DIRECTIONS = ("less", "more", "earlier")
RIVALS = ("starved",)
OF_LINK = (*(f.name for f in dataclasses.fields(Link) if f.name != "name"), probe_links.LEVEL)
NULL_CONTROLS, NULL_CONTROL = "null_controls", "algorithm.null_control=true"
CROSSED = "crossed"
NEEDED = ("quantity", "arm", "direction", "margin")


@dataclass(frozen=True)
class StudyFile:
    """Contents of a study file, with overrides not yet parsed."""

    path: Path
    question: str
    source: str
    seeds: str
    """Seeds, in the grammar of `seed=`."""
    words: tuple[str, ...]
    arms: Mapping[str, tuple[str, ...]]
    links: tuple[Link, ...]
    checks: tuple[Link, ...]
    deciding: tuple[str, ...]
    best: Mapping[str, tuple[str, ...]]
    rival: str | None
    most_seeds: int | None
    probes: Mapping[str, ProbeSize]
    """Name of a probe -> its options. Probes without an entry use the defaults."""


def read(name: str) -> StudyFile:
    """Read the study of that name, preferring the current folder's. Raises ConfigError."""
    path = search_path.study_file(name)
    if path is None:
        _check_name(name, search_path.study_names())
        raise ConfigError(f"study must be a name without a folder, got {name!r}")
    values = search_path.read_yaml(path)
    allowed = [f.name for f in dataclasses.fields(StudyFile) if f.name != "path"]
    for key in values:
        checks.one_of(f"{path}: a key", key, [*allowed, NULL_CONTROLS])
    arms = _with_null_controls(path, _arms(path, values.get("arms")), values)
    best = _best(path, values.get("best", {}), arms)
    names = [*arms, *best]
    links, asked = (_links(path, part, values.get(part), names) for part in ("links", "checks"))
    for link in (*links, *asked):
        _check_once(path, link, best)
    if not links:
        raise ConfigError(f"{path}: links must hold at least one link, got {values.get('links')!r}")
    _check_given(path, links, asked)
    if values.get("rival") is not None:
        checks.one_of(f"{path}: rival", str(values["rival"]), RIVALS)
    return StudyFile(
        path=path,
        question=_text(path, "question", values.get("question")),
        source=_text(path, "source", values.get("source")),
        seeds=_seeds(path, values.get("seeds")),
        words=_words(path, "words", values.get("words", [])),
        arms=arms,
        links=links,
        checks=asked,
        deciding=_deciding(path, values.get("deciding"), links),
        best=best,
        rival=None if values.get("rival") is None else str(values["rival"]),
        most_seeds=_most_seeds(path, values.get("most_seeds")),
        probes=_probes(path, values.get("probes", {}), (*links, *asked)),
    )


def question(name: str) -> str:
    """The question of the study of that name; why it cannot be read where it cannot."""
    path = search_path.study_file(name)
    try:
        return _text(path, "question", search_path.read_yaml(path).get("question")) if path else ""
    except ConfigError as error:
        return str(error)


def _probes(path: Path, value: Any, links: Sequence[Link]) -> dict[str, ProbeSize]:
    """Return the options of probes, all of which links must use."""
    asked = probe_links.options(path, value)
    named = list(dict.fromkeys(link.probe.name for link in links if link.probe))
    for name in asked:
        if name not in named:
            rule = f"must name probes of the links, {', '.join(named) or 'which name none'}"
            raise ConfigError(f"{path}: probes {rule}, got {name!r}")
    return asked


def _most_seeds(path: Path, value: Any) -> int | None:
    if value is None:
        return None
    whole = isinstance(value, int) and not isinstance(value, bool)
    if not whole or not FEWEST_SEEDS <= value <= MOST_SEEDS:
        rule = f"must be a whole number from {FEWEST_SEEDS} to {MOST_SEEDS}"
        raise ConfigError(f"{path}: most_seeds {rule}, got {value!r}")
    return int(value)


def _text(path: Path, key: str, value: Any) -> str:
    if not (isinstance(value, str) and value.strip()):
        raise ConfigError(f"{path}: {key} must be text, got {value!r}")
    return " ".join(value.split())


def _seeds(path: Path, value: Any) -> str:
    if not (isinstance(value, str) and value.strip()):
        rule = "must be text like the value of `seed=`, such as range(1,4) or '1'"
        raise ConfigError(f"{path}: seeds {rule}, got {value!r}")
    return " ".join(value.split())


def _words(path: Path, key: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise ConfigError(f"{path}: {key} must be a list of words KEY=VALUE, got {value!r}")
    return tuple(value)


def _arms(path: Path, value: Any) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict) or not value:
        raise ConfigError(f"{path}: arms must map names to lists of words, got {value!r}")
    for name in value:
        if not (isinstance(name, str) and ARM.fullmatch(name)):
            rule = "must be at most 32 of a-z, 0-9 and '_', since it names folders"
            raise ConfigError(f"{path}: the name of an arm {rule}, got {name!r}")
    return {name: _words(path, f"arms.{name}", words) for name, words in value.items()}


def _check_name(name: str, known: Sequence[str]) -> None:
    """Raise ConfigError if no study is named, or an unknown one."""
    if not name or "=" in name:
        rule = f"the first word must be the name of a study, one of {', '.join(known)}"
        given = f"got {name!r}: write the study's name first" if name else "got none"
        raise ConfigError(f"study: {rule}; {given}; `harness study NAME --dry-run` shows its runs")
    checks.one_of("study", name, known)


def _with_null_controls(
    path: Path, arms: Mapping[str, tuple[str, ...]], values: Mapping[str, Any]
) -> dict[str, tuple[str, ...]]:
    """Add a null control for each arm that `null_controls` names, or for all if it is true."""
    asked = values.get(NULL_CONTROLS, False)
    if isinstance(asked, bool):
        of = tuple(arms) if asked else ()
    elif isinstance(asked, list):
        of = tuple(map(str, asked))
        checks.all_of(f"{path}: {NULL_CONTROLS}", of, arms)
    else:
        rule = "must be true, false or a list of arms"
        raise ConfigError(f"{path}: {NULL_CONTROLS} {rule}, got {asked!r}")
    nulls = {f"{arm}_null": (*arms[arm], NULL_CONTROL) for arm in of}
    taken = next((name for name in nulls if name in arms), None)
    if taken:
        raise ConfigError(f"{path}: arms.{taken}: {NULL_CONTROLS} makes an arm of that name")
    return {**arms, **nulls}


def _best(path: Path, value: Any, arms: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the derived arms: name -> the arms of which it is the one with the highest end."""
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: best must map names to lists of arms, got {value!r}")
    for name, of in value.items():
        if name in arms or not (isinstance(name, str) and ARM.fullmatch(name)):
            raise ConfigError(
                f"{path}: best: a name must be valid for an arm and not used, got {name!r}"
            )
        checks.all_of(f"{path}: best.{name}", _words(path, f"best.{name}", of), arms)
    return {name: tuple(of) for name, of in value.items()}


def _deciding(path: Path, value: Any, links: Sequence[Link]) -> tuple[str, ...]:
    """Return the names of the deciding links; all links if the file does not say."""
    names = [link.name for link in links]
    if value is None:
        return tuple(names)
    if not isinstance(value, list):
        raise ConfigError(f"{path}: deciding must be a list of links, got {value!r}")
    checks.all_of(f"{path}: deciding", map(str, value), names)
    return tuple(map(str, value))


def _links(path: Path, part: str, value: Any, arms: Sequence[str]) -> tuple[Link, ...]:
    if value is None:
        return ()
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: {part} must map names to statements, got {value!r}")
    for name in value:
        if not isinstance(name, str):
            raise ConfigError(f"{path}: {part}: a name must be text, got {name!r}")
    return tuple(_link(f"{path}: {part}.{name}", name, of, arms) for name, of in value.items())


def _link(where: str, name: str, of: Any, arms: Sequence[str]) -> Link:
    if not isinstance(of, dict):
        raise ConfigError(f"{where} must be a mapping of {', '.join(OF_LINK)}, got {of!r}")
    for key in of:
        checks.one_of(f"{where}: a key", str(key), OF_LINK)
    missing = next((key for key in NEEDED if key not in of), None)
    if missing:
        raise ConfigError(f"{where}.{missing} is required, got only {', '.join(map(str, of))}")
    probe, table = probe_links.of_probe(where, of), _parse_table(f"{where}.{CROSSED}", of, arms)
    parsed = (*probe_links.KEYS, CROSSED)
    plain = {key: value for key, value in of.items() if key not in parsed}
    values = {"name": name, "against": None, **plain}
    defaults = {f.name: f.default for f in dataclasses.fields(Link) if f.name not in values}
    problem = shape.problem(Link, {**defaults, **values})
    if problem:
        raise ConfigError(f"{where}.{problem}")
    link = Link(**values, probe=probe, crossed=table)
    _check_link(where, link, table.factors if table else arms)
    return link


def _parse_table(where: str, of: Mapping[str, Any], arms: Sequence[str]) -> FactorialTable | None:
    """Return the crossed table of the link `of`; None for a link between arms."""
    if CROSSED not in of:
        return None
    value, keys = of[CROSSED], [f.name for f in dataclasses.fields(FactorialTable)]
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


def _check_once(path: Path, link: Link, best: Mapping[str, Sequence[str]]) -> None:
    """Raise ConfigError for an arm that occurs twice in a crossed table, also as part of a best
    arm: levels would agree merely because they share runs.
    """
    seen: set[str] = set()
    for arm in probe_links.arms_of(link, best) if link.crossed else ():
        if arm in seen:
            rule = "must hold each arm once, also as one of `best`"
            raise ConfigError(f"{path}: {link.name}.{CROSSED}.arms {rule}, got {arm!r} twice")
        seen.add(arm)


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


def _check_given(path: Path, links: Sequence[Link], asked: Sequence[Link]) -> None:
    """Check `given`: a link may depend on any check, a check only on one before it."""
    check_names = [check.name for check in asked]
    for link in (*links, *asked):
        if link.given is not None and not check_names:
            rule = "must name a check, but the file has no checks"
            raise ConfigError(f"{path}: {link.name}.given {rule}, got {link.given!r}")
        if link.given is not None:
            checks.one_of(f"{path}: {link.name}.given", link.given, check_names)
    for place, check in enumerate(asked):
        if check.given in check_names[place:]:
            rule = "must be an earlier check"
            raise ConfigError(f"{path}: {check.name}.given {rule}, got {check.given!r}")
