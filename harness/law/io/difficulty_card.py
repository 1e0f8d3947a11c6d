"""The difficulty cards of a run: how hard its level is, what reference policies reach there.

cards.json of its sweep has what was measured. The start event of the run has the shipped anchors of
all levels that it is evaluated at; they count where no card of the sweep has any.

Read leniently, as law.io.identity reads a run: cards of before a measure came lack it.
"""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from harness.config.run import LEVELS
from harness.errors import DataError
from harness.law.result_parts import Anchors
from harness.law.results import Bounded, Interval
from harness.records import events, plain_file
from harness.records.outcomes import OWN
from harness.records.run_folder import RunFolder

FILE = "cards.json"
MEASURES = ("acceptance", "need_expression", "population_final_emotion")
"""The measures of a difficulty card that a run's onset is set against."""
ENDS = ("value", "low", "high")
DAMAGED = (
    ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError,
)  # fmt: skip


@dataclass(frozen=True)
class Cards:
    """What the cards say of one run."""

    measures: Mapping[str, Interval] | None = None
    """Each of MEASURES at the run's level; None where a card lacks one."""
    anchors: Mapping[str, Anchors] = field(default_factory=dict)
    """By OWN and by named level, of the levels whose anchors are told."""


def read(folder: Path, levels: Mapping[str, Any]) -> Cards:
    """Read cards.json beside the run `folder`, nothing of a file that is none, or is a link; and
    what the run began with.

    `levels`: the named levels of the run's config. The card of another run counts for one of them
    where it is of exactly these settings: an override can give a level its name and other users.
    """
    entries, began = _entries(folder.parent / FILE), _began_with(RunFolder(folder).events)
    of_cards = _anchors(entries, folder.name, levels)
    return Cards(_measures(entries, folder.name), {**began, **of_cards})


def _entries(path: Path) -> Sequence[Any]:
    if not path.is_symlink():
        with contextlib.suppress(DataError, OSError, *DAMAGED):
            return list(json.loads(plain_file.text(path))["cards"])
    return ()


def _began_with(path: Path) -> dict[str, Anchors]:
    """The anchors in the start event of the run; none of older versions."""
    with contextlib.suppress(*DAMAGED):
        told = events.beginning(path)["anchors"]
        return {level: _of_card(told[level]) for level in (OWN, *LEVELS) if told.get(level)}
    return {}


def _measures(entries: Sequence[Any], run: str) -> Mapping[str, Interval] | None:
    with contextlib.suppress(*DAMAGED):
        (card,) = (entry["card"] for entry in entries if run in entry["runs"])
        measured = {name: _interval(card[name]) for name in MEASURES}
        return measured if all(map(_finite, measured.values())) else None
    return None


def _anchors(entries: Sequence[Any], run: str, levels: Mapping[str, Any]) -> dict[str, Anchors]:
    by_level: dict[str, Anchors] = {}
    for entry in entries:
        with contextlib.suppress(*DAMAGED):
            anchors = _of_card(entry["card"]["anchors"])
            if run in entry["runs"]:
                by_level[OWN] = anchors
            if entry["level"] in LEVELS and _same(entry["difficulty"], levels[entry["level"]]):
                by_level[entry["level"]] = anchors
    return by_level


def _same(card: Mapping[str, Any], level: Mapping[str, Any]) -> bool:
    """Whether two levels are one but for the name."""
    return all(level[key] == value for key, value in card.items() if key != "name")


def _of_card(anchors: Mapping[str, Any]) -> Anchors:
    attentive = anchors.get("attentive") or {}
    return Anchors(
        deaf=_reward(anchors, "deaf"),
        attentive=_reward(anchors, "attentive"),
        attentive_listening=_number(attentive.get("listening")),
        optimum=_reward(anchors, "optimum"),
        random=_reward(anchors, "random"),
    )


def _reward(anchors: Mapping[str, Any], policy: str) -> Bounded | None:
    """Read the reward of a reference policy, which is an interval, or a number that is exact."""
    value = (anchors.get(policy) or {}).get("reward")
    if isinstance(value, Mapping):
        middle, low, high = (_number(value.get(end)) for end in ENDS)
    else:
        middle, low, high = _number(value), None, None
    return None if middle is None else Bounded(middle, low, high)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _interval(value: Mapping[str, Any]) -> Interval:
    return Interval(*(float(value[end]) for end in ENDS))


def _finite(interval: Interval) -> bool:
    return all(map(math.isfinite, (interval.value, interval.low, interval.high)))
