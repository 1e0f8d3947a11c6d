"""study.json: what a study said before its first run, which run belongs to which arm, what was
changed since, and each time that its links were judged.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.config.run import SCHEMA
from harness.errors import DataError
from harness.records import atomic, plain_file
from harness.utils import shape

FILE = "study.json"
EVALUATION = "eval/medium/reward"
"""Measured on the same users in every run, where neither floor nor ceiling squeezes the gain."""


@dataclass(frozen=True)
class OfProbe:
    """Whose reading a link's quantity is, and how the probe is asked: of every run alike."""

    name: str
    level: str
    """As its table is headed: `medium`, or `told facts`."""
    unit: str
    users: int
    """Held-out users a level; 0 of a probe that asks items."""
    repeats: int
    """Conversations with each; 0 likewise."""
    items: int | None
    """Items that are asked; None of a probe that talks with users."""


@dataclass(frozen=True)
class Crossed:
    """Arms in rows and columns: every level of one factor with every level of another."""

    rows: str
    """The factor whose levels the rows are."""
    columns: str
    arms: tuple[tuple[str, ...], ...]
    """Row by row."""

    @property
    def factors(self) -> tuple[str, str]:
        return self.rows, self.columns

    @property
    def both(self) -> str:
        """What only both factors together do: the interaction."""
        return f"{self.rows} x {self.columns}"


@dataclass(frozen=True)
class Link:
    """One statement of a study: an arm, held against another, seed by seed."""

    name: str
    quantity: str
    """One of harness.law.compare.quantities, or with `probe` the name of a reading."""
    arm: str
    against: str | None
    """None: the arm's own number, held against 0."""
    direction: str
    """less, more or earlier: what is stated of `arm`."""
    margin: float
    """The smallest difference that matters, in the quantity's unit."""
    evaluation: str = EVALUATION
    net_of_null: bool = False
    given: str | None = None
    """The check that must be supported before this can be."""
    spread: bool = False
    """Whether it is of how far each run lies from the median of its arm, and not of the number
    itself: a test of spread over seeds (Brown and Forsythe 1974)."""
    probe: OfProbe | None = None
    """Where the number is the change of a probe's reading, since the start of the run."""
    crossed: Crossed | None = None
    """Where what is compared is how far the levels of two factors lie apart, as variances: `arm`
    and `against` then name the factors, and `margin` is in the quantity's unit squared."""

    @property
    def named_arms(self) -> list[str]:
        """The arms whose runs it takes."""
        if self.crossed is not None:
            return [arm for row in self.crossed.arms for arm in row]
        return [arm for arm in (self.arm, self.against) if arm]

    @property
    def least_gain(self) -> float:
        """What an arm must have gained to count as taught: the margin, not squared."""
        return self.margin if self.crossed is None else self.margin**0.5


@dataclass(frozen=True)
class Stated:
    """All that a study states beforehand."""

    question: str
    source: str
    seeds: Sequence[int]
    words: Sequence[str]
    """Overrides that all arms share, those of the command line among them."""
    arms: Mapping[str, Sequence[str]]
    links: Sequence[Link]
    checks: Sequence[Link]
    """Conditions for a link to mean anything; no part of the verdict."""
    deciding: Sequence[str]
    """The links that must all hold; the others are beside the verdict."""
    best: Mapping[str, Sequence[str]]
    """Name of a further arm -> the arms of which it is the one that ends highest."""
    rival: str | None
    """The regime that would explain the same: starved, or None."""
    most_seeds: int | None = None
    """The seeds at which the last look will be; None where that was not stated."""


@dataclass(frozen=True)
class Look:
    """One time that the links were judged, on pairs that had not been judged before."""

    pairs: Mapping[str, Any]
    """Link or check -> its pairs, each by the names of its runs."""
    spent: Mapping[str, Any]
    """Link or check -> the error spent up to this look on each word that could be said of it."""


@dataclass(frozen=True)
class StudyRecord:
    """study.json."""

    study: str
    stated: Mapping[str, Any]
    """The statement when the first runs were planned."""
    changed: Sequence[str]
    """Changes since then, a sentence each."""
    arms: Mapping[str, Any]
    """Arm -> seed as text -> name of the run."""
    runs: Mapping[str, Any]
    """Name of a run -> [hash of its config, its seed]."""
    looks: Sequence[Look] = ()
    """In the order of time; none in a folder of a version that did not record them."""


def to_plain(stated: Stated) -> dict[str, Any]:
    """Convert to plain JSON values, links by name; a link without a probe, or without a crossed
    table, does not speak of one.
    """
    values = json.loads(json.dumps(dataclasses.asdict(stated)))
    for part in ("links", "checks"):
        values[part] = {link.pop("name"): link for link in values[part]}
        for link in values[part].values():
            for key in ("probe", "crossed"):
                if link[key] is None:
                    del link[key]
    return dict(values)


def link_of(name: str, values: Mapping[str, Any]) -> Link:
    """The inverse, of one link. Raises TypeError for other keys."""
    probe = values.get("probe")
    parts = {
        "probe": None if probe is None else OfProbe(**probe),
        "crossed": crossed_of(values.get("crossed")),
    }
    return Link(name=name, **{**values, **parts})


def crossed_of(values: Mapping[str, Any] | None) -> Crossed | None:
    """A crossed table from plain JSON values. Raises TypeError or KeyError for others."""
    if values is None:
        return None
    rows = tuple(tuple(map(str, row)) for row in values["arms"])
    return Crossed(str(values["rows"]), str(values["columns"]), rows)


def write(folder: Path, record: StudyRecord) -> None:
    atomic.write_json(folder / FILE, {"schema": SCHEMA, **dataclasses.asdict(record)})


def read(folder: Path) -> StudyRecord:
    """Raises DataError if study.json is missing or malformed."""
    path = folder / FILE
    try:
        values = json.loads(plain_file.text(path))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read: {plain_file.one_line(error)}") from error
    if isinstance(values, dict):
        values.setdefault("looks", [])
    problem = shape.problem(StudyRecord, values) or _bad_look(values["looks"])
    if problem:
        raise DataError(f"{path}: cannot be read: {problem}")
    parts = {f.name: values[f.name] for f in dataclasses.fields(StudyRecord)}
    looks = [Look(look["pairs"], look["spent"]) for look in values["looks"]]
    return StudyRecord(**{**parts, "looks": looks})


def _bad_look(looks: Sequence[Any]) -> str | None:
    """Describe the first look whose pairs are no lists of names."""
    for number, look in enumerate(looks):
        problem = shape.problem(Look, look, f"looks[{number}]")
        if problem:
            return problem
        for link, pairs in look["pairs"].items():
            if not shape.fits(pairs, Sequence[str]):
                return f"looks[{number}].pairs.{link} must be a list of text, got {pairs!r}"
    return None
