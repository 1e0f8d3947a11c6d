"""Compare the effects of a study with those of the same study on other users, in sign and size.

An effect whose sign depends on the simulated user is a property of the simulator.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.errors import DataError
from harness.law.compare.link_result import LinkResult
from harness.law.results import Interval
from harness.records import plain_file, study_file
from harness.records.study_file import Link, LinkProbe

SAME, FLIPS, OPEN = "same sign", "flips: of the simulator", "open"
FILES = ("study/result.json", "result.json")
STATED = (
    "quantity", "evaluation", "arm", "against", "net_of_null", "spread", "probe", "crossed"
)  # fmt: skip
"""Fields that two links must share to measure the same effect."""
DAMAGED = (ValueError, RecursionError, KeyError, TypeError, AttributeError, OverflowError)


@dataclass(frozen=True)
class OtherStudy:
    """The result of the same study on other users."""

    path: str
    verdict: str
    words: tuple[str, ...]
    """Overrides shared by all arms."""
    seeds: tuple[int, ...]
    effects: Mapping[str, Interval | None]
    """Name of a link or check -> its effect; None if there were too few pairs."""
    older_words: bool = False
    """Whether `contradicted` may mean no effect: older versions had one word for both."""


@dataclass(frozen=True)
class ComparedEffect:
    """One effect as measured by both studies."""

    name: str
    here: Interval | None
    other: Interval | None
    is_variance: bool = False

    @property
    def sign(self) -> str:
        """SAME, FLIPS, or OPEN unless both 95% intervals exclude 0."""
        signs = {_sign(self.here), _sign(self.other)}
        if 0 in signs:
            return OPEN
        return SAME if len(signs) == 1 else FLIPS

    @property
    def change(self) -> Interval | None:
        """The effect here minus the other, with the 95% interval for independent estimates (MOVER,
        Zou and Donner 2008, doi:10.1002/sim.3095); None if one is not known.
        """
        here, other = self.here, self.other
        if here is None or other is None:
            return None
        change = here.value - other.value
        below = math.hypot(here.value - here.low, other.high - other.value)
        above = math.hypot(here.high - here.value, other.value - other.low)
        return Interval(change, change - below, change + above)

    @property
    def is_different(self) -> bool:
        """Whether the two sizes differ significantly: the 95% interval of `change` excludes 0."""
        return _sign(self.change) != 0


@dataclass(frozen=True)
class StudyComparison:
    """The effects of a study and of the same study on other users."""

    other: OtherStudy
    effects: tuple[ComparedEffect, ...]

    def to_json(self) -> dict[str, Any]:
        other = self.other
        return {
            "path": other.path,
            "verdict": other.verdict,
            "older_words": other.older_words,
            "words": list(other.words),
            "seeds": list(other.seeds),
            "links": [
                {
                    "name": effect.name,
                    "sign": effect.sign,
                    **interval_json(effect.other),
                    "change": interval_json(effect.change),
                }
                for effect in self.effects
            ],
        }


def read(folder: Path, study: str, links: Sequence[Link]) -> OtherStudy:
    """Read the result of `study` from its folder, or from the folder of its result.json.

    `links` are the links and checks of the study here. Raise DataError if there is no result, or if
    it cannot be read, belongs to another study, or defines one of the links differently.
    """
    path = next((folder / name for name in FILES if (folder / name).is_file()), None)
    if path is None:
        rule = "must be the folder of a study that was judged, with study/result.json in it"
        raise DataError(f"--beside: {rule}, got {str(folder)!r}")
    text = plain_file.text(path)
    try:
        value = json.loads(text)
        entries = [*value["links"], *value["checks"]]
        older = not any("p_no_effect" in link for link in entries)
        other = _parse_study(value, entries, str(path), older)
        name = str(value["study"])
        other_stated = {str(entry["name"]): _stated_values(entry) for entry in entries}
    except DAMAGED as error:
        rule = f"must be what harness study writes, got {plain_file.one_line(error)}"
        raise DataError(f"{path}: cannot be read: {rule}") from error
    if name != study:
        raise DataError(f"{path}: study: must be {study!r}, got {name!r}")
    for link in links:
        stated = tuple(getattr(link, key) for key in STATED)
        other_values = other_stated.get(link.name, stated)
        if stated != other_values:
            rule = f"must state {link.name!r} as here, {_stated_text(stated)}"
            raise DataError(f"{path}: {rule}, got {_stated_text(other_values)}")
    return other


def compare_studies(judged: Sequence[LinkResult], other: OtherStudy) -> StudyComparison:
    """Compare each effect that both studies have, in the order of `judged`."""
    effects = [
        ComparedEffect(
            result.link.name,
            result.judged,
            other.effects[result.link.name],
            is_variance=result.link.crossed is not None,
        )
        for result in judged
        if result.link.name in other.effects
    ]
    return StudyComparison(other, tuple(effects))


def compare_stored_study(judged: Sequence[LinkResult], value: Mapping[str, Any]) -> StudyComparison:
    """Compare the effects with those stored in a result.json; `value` is from `to_json`."""
    other = _parse_study(value, value["links"], str(value["path"]), bool(value["older_words"]))
    return compare_studies(judged, other)


def _parse_study(value: Any, links: Sequence[Any], path: str, older_words: bool) -> OtherStudy:
    return OtherStudy(
        path=path,
        verdict=str(value["verdict"]),
        words=tuple(map(str, value["words"])),
        seeds=tuple(map(int, value["seeds"])),
        effects={str(link["name"]): _interval(link) for link in links},
        older_words=older_words,
    )


def _stated_values(link: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the values of STATED. Results of older versions lack the last three."""
    probe = link.get("probe")
    parts = {
        "probe": None if probe is None else LinkProbe(**probe),
        "crossed": study_file.crossed_of(link.get("crossed")),
    }
    values = {"spread": False, **link, **parts}
    return tuple(values[key] for key in STATED)


def _interval(link: Mapping[str, Any]) -> Interval | None:
    if link["difference"] is None:
        return None
    numbers = [float(link[key]) for key in ("difference", "low", "high")]
    if not all(map(math.isfinite, numbers)):
        raise ValueError(f"a difference that is not finite: {numbers}")
    return Interval(*numbers)


def interval_json(interval: Interval | None) -> dict[str, float | None]:
    """Return a difference in the format of result.json."""
    if interval is None:
        return {"difference": None, "low": None, "high": None}
    return {"difference": interval.value, "low": interval.low, "high": interval.high}


def _sign(interval: Interval | None) -> int:
    """Return 1 or -1 if the interval excludes 0, else 0."""
    if interval is None or interval.low <= 0 <= interval.high:
        return 0
    return 1 if interval.low > 0 else -1


def _stated_text(stated: Sequence[Any]) -> str:
    return ", ".join(f"{key} {value}" for key, value in zip(STATED, stated, strict=True))
