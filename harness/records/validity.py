"""Validity of the users that a run trains on: `validity` in run.json, written at planning.

{"hard": {"reader": "lexical", "measured": {"kind_minus_cruel": {"value": ...}, ...},
          "problems": ["the user hears 3% of cruel replies as hurtful"]}}
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from harness.config.run import LEVELS

Measured = Mapping[str, Mapping[str, float] | None]
"""Measure -> its value and the bounds of its interval; None if it could not be measured."""
ENDS = ("value", "low", "high")


@dataclass(frozen=True)
class LevelValidity:
    """Whether the user of one level prefers kindness to cruelty and understands what was said."""

    reader: str
    """What interprets the replies: the scripted user's reader, or the model of a served user."""
    measured: Measured
    """Empty for a user who has not been measured."""
    problems: tuple[str, ...] = ()
    """Reasons why a policy trained on this user does not learn empathy, one sentence each."""

    @property
    def valid(self) -> bool:
        return not self.problems


Validity = Mapping[str, LevelValidity]
"""Name of a level that the run trains on -> its validity."""


def merge(runs: Iterable[Validity]) -> Validity:
    """Return the levels of all `runs`, easiest first; different ones of one name are numbered."""
    levels: dict[str, LevelValidity] = {}
    for level, validity in (item for run in runs for item in run.items()):
        name, number = level, 1
        while levels.get(name, validity) != validity:
            number += 1
            name = f"{level} ({number})"
        levels[name] = validity
    return dict(sorted(levels.items(), key=lambda item: _rank(item[0])))


def _rank(name: str) -> tuple[int, str]:
    level = name.partition(" ")[0]
    return (LEVELS.index(level) if level in LEVELS else len(LEVELS), name)


def to_json(validity: Validity) -> dict[str, Any]:
    """Return the value of `validity` in run.json."""
    return {level: asdict(level_validity) for level, level_validity in validity.items()}


def from_json(values: Any) -> Validity | None:
    """Read `validity` of a run.json; None if it is missing or malformed."""
    with contextlib.suppress(AttributeError, LookupError, TypeError, ValueError):
        return {
            str(level): LevelValidity(
                str(entry["reader"]),
                _intervals(entry["measured"]),
                tuple(map(str, entry["problems"])),
            )
            for level, entry in values.items()
        }
    return None


def _intervals(values: Mapping[str, Any]) -> dict[str, dict[str, float] | None]:
    """Return the measures that are intervals, ignoring entries of other versions."""
    return {
        name: None if value is None else {end: float(value[end]) for end in ENDS}
        for name, value in values.items()
        if value is None or set(ENDS) <= value.keys()
    }


def is_measured(values: Any) -> bool:
    """Whether `values` is a valid section of measures from a card or the cache."""
    with contextlib.suppress(AttributeError, LookupError, TypeError, ValueError):
        measures = [value for name, value in values.items() if name != "by_category"]
        intervals = [v is None or [float(v[end]) for end in ENDS] for v in measures]
        return bool(intervals)
    return False


def of_card(reader: str, card: Mapping[str, Any], problems: tuple[str, ...]) -> LevelValidity:
    """Return the validity from a difficulty card's section, without its values by category."""
    measured = {name: value for name, value in card.items() if name != "by_category"}
    return LevelValidity(reader, _intervals(measured), problems)
