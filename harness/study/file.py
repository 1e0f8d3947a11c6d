"""Reads a study file, sweeps/studies/NAME.yaml. Raises ConfigError for any mistake in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.compose import search_path
from harness.config import ranges as checks
from harness.errors import ConfigError
from harness.law.compare.claims import MOST_SEEDS
from harness.law.compare.random_effects import FEWEST_SEEDS
from harness.probes.expected import ProbeSize
from harness.records.study_file import Link
from harness.study import link_statements, probe_links

RIVALS = ("starved",)
NULL_CONTROLS, NULL_CONTROL = "null_controls", "algorithm.null_control=true"


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
    allowed = [field.name for field in dataclasses.fields(StudyFile) if field.name != "path"]
    for key in values:
        checks.one_of(f"{path}: a key", key, [*allowed, NULL_CONTROLS])
    arms = _with_null_controls(path, _arms(path, values.get("arms")), values)
    best = _best(path, values.get("best", {}), arms)
    names = [*arms, *best]
    links, study_checks = (
        link_statements.read(path, part, values.get(part), names) for part in ("links", "checks")
    )
    for link in (*links, *study_checks):
        link_statements.check_once(path, link, best)
    if not links:
        raise ConfigError(f"{path}: links must hold at least one link, got {values.get('links')!r}")
    link_statements.check_distinct(path, links, study_checks)
    link_statements.check_given(path, links, study_checks)
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
        checks=study_checks,
        deciding=_deciding(path, values.get("deciding"), links),
        best=best,
        rival=None if values.get("rival") is None else str(values["rival"]),
        most_seeds=_most_seeds(path, values.get("most_seeds")),
        probes=_probes(path, values.get("probes", {}), (*links, *study_checks)),
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
    sizes = probe_links.options(path, value)
    names = list(dict.fromkeys(link.probe.name for link in links if link.probe))
    for name in sizes:
        if name not in names:
            rule = f"must name probes of the links, {', '.join(names) or 'which name none'}"
            raise ConfigError(f"{path}: probes {rule}, got {name!r}")
    return sizes


def _most_seeds(path: Path, value: Any) -> int | None:
    if value is None:
        return None
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    if not is_whole or not FEWEST_SEEDS <= value <= MOST_SEEDS:
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
        if not (isinstance(name, str) and link_statements.ARM.fullmatch(name)):
            rule = "must be at most 32 of a-z, 0-9 and '_', since it names folders"
            raise ConfigError(f"{path}: the name of an arm {rule}, got {name!r}")
    return {name: _words(path, f"arms.{name}", words) for name, words in value.items()}


def _check_name(name: str, names: Sequence[str]) -> None:
    """Raise ConfigError if no study is named, or an unknown one."""
    if not name or "=" in name:
        rule = f"the first word must be the name of a study, one of {', '.join(names)}"
        got = f"got {name!r}: write the study's name first" if name else "got none"
        raise ConfigError(f"study: {rule}; {got}; `harness study NAME --dry-run` shows its runs")
    checks.one_of("study", name, names)


def _with_null_controls(
    path: Path, arms: Mapping[str, tuple[str, ...]], values: Mapping[str, Any]
) -> dict[str, tuple[str, ...]]:
    """Add a null control for each arm that `null_controls` names, or for all if it is true."""
    value = values.get(NULL_CONTROLS, False)
    if isinstance(value, bool):
        controlled = tuple(arms) if value else ()
    elif isinstance(value, list):
        controlled = tuple(map(str, value))
        checks.all_of(f"{path}: {NULL_CONTROLS}", controlled, arms)
    else:
        rule = "must be true, false or a list of arms"
        raise ConfigError(f"{path}: {NULL_CONTROLS} {rule}, got {value!r}")
    nulls = {f"{arm}_null": (*arms[arm], NULL_CONTROL) for arm in controlled}
    duplicate = next((name for name in nulls if name in arms), None)
    if duplicate:
        raise ConfigError(f"{path}: arms.{duplicate}: {NULL_CONTROLS} makes an arm of that name")
    return {**arms, **nulls}


def _best(path: Path, value: Any, arms: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the derived arms: name -> the arms of which it is the one with the highest end."""
    if not isinstance(value, dict):
        raise ConfigError(f"{path}: best must map names to lists of arms, got {value!r}")
    for name, candidates in value.items():
        if name in arms or not (isinstance(name, str) and link_statements.ARM.fullmatch(name)):
            raise ConfigError(
                f"{path}: best: a name must be valid for an arm and not used, got {name!r}"
            )
        checks.all_of(f"{path}: best.{name}", _words(path, f"best.{name}", candidates), arms)
        twice = next((arm for arm in candidates if candidates.count(arm) > 1), None)
        if twice is not None:
            rule = "must name each arm once, so that the choices of two sides can be compared"
            raise ConfigError(f"{path}: best.{name} {rule}, got {twice!r} twice")
    return {name: tuple(candidates) for name, candidates in value.items()}


def _deciding(path: Path, value: Any, links: Sequence[Link]) -> tuple[str, ...]:
    """Return the names of the deciding links; all links if the file does not say."""
    names = [link.name for link in links]
    if value is None:
        return tuple(names)
    if not isinstance(value, list):
        raise ConfigError(f"{path}: deciding must be a list of links, got {value!r}")
    checks.all_of(f"{path}: deciding", map(str, value), names)
    return tuple(map(str, value))
