"""Read the difficulty cards of a run: measures of its level, and results of reference policies.

cards.json of the sweep has the measured values. The start event of the run has the shipped anchors
of all levels that it is evaluated at, which are used if no card of the sweep has any. Damaged files
and missing measures are tolerated, because older cards lack some.
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
from harness.law.result_parts import AnchorRewards
from harness.law.results import BoundedEstimate, Interval
from harness.records import events, plain_file
from harness.records.outcomes import OWN
from harness.records.run_folder import RunFolder

FILE = "cards.json"
OLDER_READER = "lexical"
"""The reader of cards that name none."""
MEASURES = ("acceptance", "need_expression", "population_final_emotion")
"""The measures of a difficulty card that are compared with a run's onset."""
ENDS = ("value", "low", "high")
DAMAGED = (
    ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError,
)  # fmt: skip


@dataclass(frozen=True)
class Cards:
    """The content of the difficulty cards that concerns one run."""

    measures: Mapping[str, Interval] | None = None
    """Name in MEASURES -> its value at the run's level; None if the card lacks one."""
    anchors: Mapping[str, AnchorRewards] = field(default_factory=dict)
    """Level (OWN or a name) -> its anchors, for the levels that have some."""


def read(folder: Path, levels: Mapping[str, Any]) -> Cards:
    """Read cards.json in the parent of the run's `folder`, and the run's start event.

    A damaged cards.json and one that is a symbolic link are ignored. `levels`: the named levels of
    the run's config. The card of another run is used for a named level only if all its settings are
    equal, because an override can change the users of a level and keep its name, and if its users
    are of the same kind, because a sweep can have several.
    """
    folder = folder.absolute()  # `.` has neither name nor parent
    entries = _entries(folder.parent / FILE)
    from_event = _start_event_anchors(RunFolder(folder).events)
    from_cards = _anchors(entries, folder.name, levels)
    return Cards(_measures(entries, folder.name), {**from_event, **from_cards})


def _entries(path: Path) -> Sequence[Any]:
    if not path.is_symlink():
        with contextlib.suppress(DataError, OSError, *DAMAGED):
            return list(json.loads(plain_file.text(path))["cards"])
    return ()


def _start_event_anchors(path: Path) -> dict[str, AnchorRewards]:
    """Return the anchors in the start event of the run. Older versions have none."""
    with contextlib.suppress(*DAMAGED):
        anchors = events.beginning(path)["anchors"]
        return {
            level: _anchor_rewards(anchors[level]) for level in (OWN, *LEVELS) if anchors.get(level)
        }
    return {}


def _measures(entries: Sequence[Any], run: str) -> Mapping[str, Interval] | None:
    with contextlib.suppress(*DAMAGED):
        (card,) = (entry["card"] for entry in entries if run in entry["runs"])
        measured = {name: _interval(card[name]) for name in MEASURES}
        return measured if all(map(_finite, measured.values())) else None
    return None


def _anchors(
    entries: Sequence[Any], run: str, levels: Mapping[str, Any]
) -> dict[str, AnchorRewards]:
    by_level: dict[str, AnchorRewards] = {}
    readers = {_reader(entry) for entry in entries if _is_of(entry, run)}
    for entry in entries:
        with contextlib.suppress(*DAMAGED):
            anchors = _anchor_rewards(entry["card"]["anchors"])
            if run in entry["runs"]:
                by_level[OWN] = anchors
            if readers and _reader(entry) not in readers:
                continue
            level = entry["level"]
            if level in LEVELS and _same_settings(entry["difficulty"], levels[level]):
                by_level[level] = anchors
    return by_level


def _is_of(entry: Any, run: str) -> bool:
    with contextlib.suppress(*DAMAGED):
        return run in entry["runs"]
    return False


def _reader(entry: Any) -> str | None:
    """Return what hears the replies at a card's level; None for a served user, who has no card."""
    card = entry.get("card")
    return str(card.get("reader", OLDER_READER)) if isinstance(card, Mapping) else None


def _same_settings(card: Mapping[str, Any], level: Mapping[str, Any]) -> bool:
    """Return whether two levels are equal except for the name."""
    return all(level[key] == value for key, value in card.items() if key != "name")


def _anchor_rewards(anchors: Mapping[str, Any]) -> AnchorRewards:
    attentive = anchors.get("attentive") or {}
    return AnchorRewards(
        deaf=_reward(anchors, "deaf"),
        attentive=_reward(anchors, "attentive"),
        attentive_listening=_number(attentive.get("listening")),
        optimum=_reward(anchors, "optimum"),
        random=_reward(anchors, "random"),
    )


def _reward(anchors: Mapping[str, Any], policy: str) -> BoundedEstimate | None:
    """Read the reward of a reference policy: an interval, or an exact number without one."""
    value = (anchors.get(policy) or {}).get("reward")
    if isinstance(value, Mapping):
        estimate, low, high = (_number(value.get(end)) for end in ENDS)
    else:
        estimate, low, high = _number(value), None, None
    return None if estimate is None else BoundedEstimate(estimate, low, high)


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _interval(value: Mapping[str, Any]) -> Interval:
    return Interval(*(float(value[end]) for end in ENDS))


def _finite(interval: Interval) -> bool:
    return all(map(math.isfinite, (interval.value, interval.low, interval.high)))
