"""study.json: a study's preregistered statement, the runs of its arms, later changes to the
statement, and each interim look at its links.
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
"""Default metric of a link: the same users in every run, without floor or ceiling effects."""


@dataclass(frozen=True)
class LinkProbe:
    """The probe that measures a link's quantity, and its settings, the same for every run."""

    name: str
    level: str
    """Heading of the probe's table: `medium`, or `told facts`."""
    unit: str
    users: int
    """Held-out users per level; 0 for a probe with items."""
    repeats: int
    """Conversations per user; 0 for a probe with items."""
    items: int | None
    """Number of items; None for a probe that talks with users."""


@dataclass(frozen=True)
class FactorialTable:
    """A full factorial table of arms: every level of one factor with every level of another."""

    rows: str
    """Name of the factor whose levels are the rows."""
    columns: str
    """Name of the factor whose levels are the columns."""
    arms: tuple[tuple[str, ...], ...]
    """Names of the arms, row by row."""

    @property
    def factors(self) -> tuple[str, str]:
        return self.rows, self.columns

    @property
    def interaction(self) -> str:
        """Name of the interaction of both factors."""
        return f"{self.rows} x {self.columns}"


@dataclass(frozen=True)
class Link:
    """One hypothesis of a study: a comparison of two arms, paired by seed."""

    name: str
    quantity: str
    """One of harness.law.compare.quantities, or with `probe` the name of a reading."""
    arm: str
    against: str | None
    """The arm to compare with; None to compare `arm` with 0."""
    direction: str
    """less, more or earlier: the hypothesis about `arm`."""
    margin: float
    """The smallest difference that matters, in the quantity's unit."""
    evaluation: str = EVALUATION
    net_of_null: bool = False
    given: str | None = None
    """A check that must be supported before this link can be."""
    spread: bool = False
    """Whether to compare the runs' distances from the median of their arm in place of the values:
    a test of spread over seeds (Brown and Forsythe 1974)."""
    probe: LinkProbe | None = None
    """Set if the quantity is the change of a probe's reading since the start of the run."""
    crossed: FactorialTable | None = None
    """Set if the variances between the levels of two factors are compared. `arm` and `against` are
    then names of factors, and `margin` is in the quantity's unit squared."""

    @property
    def named_arms(self) -> list[str]:
        """The arms whose runs the link uses."""
        if self.crossed is not None:
            return [arm for row in self.crossed.arms for arm in row]
        return [arm for arm in (self.arm, self.against) if arm]

    @property
    def least_gain(self) -> float:
        """The gain from which an arm counts as trained: the margin in the quantity's unit."""
        return self.margin if self.crossed is None else self.margin**0.5


@dataclass(frozen=True)
class StudyStatement:
    """The preregistered statement of a study."""

    question: str
    source: str
    seeds: Sequence[int]
    words: Sequence[str]
    """Overrides that all arms share, including those of the command line."""
    arms: Mapping[str, Sequence[str]]
    links: Sequence[Link]
    checks: Sequence[Link]
    """Preconditions of the links. They are not part of the verdict."""
    deciding: Sequence[str]
    """The links that must all hold for the verdict; the others do not affect it."""
    best: Mapping[str, Sequence[str]]
    """Name of a derived arm -> the arms of which it is the one with the highest end."""
    rival: str | None
    """A regime that would be an alternative explanation: starved, or None."""
    most_seeds: int | None = None
    """Number of seeds at the last planned look; None if not stated."""

    def evaluation_of_best(self, name: str) -> str:
        """Return the metric by which the derived arm `name` is chosen: the evaluation of the first
        link that uses it, so that an arm of a claim about hard users is the best with hard users.
        """
        links = (*self.links, *self.checks)
        return next((link.evaluation for link in links if name in link.named_arms), EVALUATION)


@dataclass(frozen=True)
class InterimLook:
    """One interim analysis of the links, with pairs that earlier looks did not have."""

    pairs: Mapping[str, Any]
    """Link or check -> its pairs, each given by the names of its runs."""
    spent: Mapping[str, Any]
    """Link or check -> the error spent up to this look for each of its possible verdicts."""


@dataclass(frozen=True)
class StudyRecord:
    """Contents of study.json."""

    study: str
    stated: Mapping[str, Any]
    """The statement from when the first runs were planned."""
    changed: Sequence[str]
    """Changes since then, one sentence each."""
    arms: Mapping[str, Any]
    """Arm -> seed as text -> name of the run."""
    runs: Mapping[str, Any]
    """Name of a run -> [hash of its config, its seed]."""
    looks: Sequence[InterimLook] = ()
    """In chronological order; empty in files of versions that did not record looks."""


def to_plain(stated: StudyStatement) -> dict[str, Any]:
    """Convert to plain JSON values, with links by name. The keys `probe` and `crossed` are omitted
    from links that have none.
    """
    values = json.loads(json.dumps(dataclasses.asdict(stated)))
    for part in ("links", "checks"):
        values[part] = {link.pop("name"): link for link in values[part]}
        for link in values[part].values():
            for key in ("probe", "crossed"):
                if link[key] is None:
                    del link[key]
    return dict(values)


def from_plain(values: Mapping[str, Any]) -> StudyStatement:
    """Build a statement from its `to_plain`. Raises TypeError or KeyError if malformed."""
    parts = {
        part: [link_of(name, link) for name, link in values[part].items()]
        for part in ("links", "checks")
    }
    return StudyStatement(**{**values, **parts})


def link_of(name: str, values: Mapping[str, Any]) -> Link:
    """Build a link from its values in `to_plain`. Raises TypeError for unknown keys."""
    probe = values.get("probe")
    parts = {
        "probe": None if probe is None else LinkProbe(**probe),
        "crossed": crossed_of(values.get("crossed")),
    }
    return Link(name=name, **{**values, **parts})


def crossed_of(values: Mapping[str, Any] | None) -> FactorialTable | None:
    """Build a crossed table from plain JSON values. Raises TypeError or KeyError if malformed."""
    if values is None:
        return None
    rows = tuple(tuple(map(str, row)) for row in values["arms"])
    return FactorialTable(str(values["rows"]), str(values["columns"]), rows)


def write(folder: Path, record: StudyRecord) -> None:
    atomic.write_json(folder / FILE, {"schema": SCHEMA, **dataclasses.asdict(record)})


def read(folder: Path) -> StudyRecord:
    """Read study.json. Raises DataError if it is missing or malformed."""
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
    looks = [InterimLook(look["pairs"], look["spent"]) for look in values["looks"]]
    return StudyRecord(**{**parts, "looks": looks})


def _bad_look(looks: Sequence[Any]) -> str | None:
    """Describe the first malformed look; None if there is none."""
    for number, look in enumerate(looks):
        problem = shape.problem(InterimLook, look, f"looks[{number}]")
        if problem:
            return problem
        for link, pairs in look["pairs"].items():
            if not shape.fits(pairs, Sequence[str]):
                return f"looks[{number}].pairs.{link} must be a list of text, got {pairs!r}"
    return None
