"""The difficulty cards of a run's sweep: how hard its level is, what reference policies reach.

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
from harness.law.results import Anchors, Bounded, Interval
from harness.records import plain_file

FILE = "cards.json"
MEASURES = ("acceptance", "need_expression", "population_final_emotion")
"""The measures of a difficulty card that a run's onset is set against."""
OWN = "own"
"""The key of the run's own level among those of `anchors`, beside the named ones."""
ENDS = ("value", "low", "high")
DAMAGED = (ValueError, LookupError, TypeError, AttributeError, RecursionError)


@dataclass(frozen=True)
class Cards:
    """What the cards say of one run."""

    measures: Mapping[str, Interval] | None = None
    """Each of MEASURES at the run's level; None where a card lacks one."""
    anchors: Mapping[str, Anchors] = field(default_factory=dict)
    """By OWN and by named level, of the levels that have a card with anchors."""


def read(folder: Path, levels: Mapping[str, Any]) -> Cards:
    """Read cards.json beside the run `folder`; nothing of a file that is none, or is a link.

    `levels`: the named levels of the run's config. The card of another run counts for one of them
    where it is of exactly these settings: an override can give a level its name and other users.
    """
    if (folder.parent / FILE).is_symlink():
        return Cards()
    with contextlib.suppress(DataError, OSError, *DAMAGED):
        entries = json.loads(plain_file.text(folder.parent / FILE))["cards"]
        return Cards(_measures(entries, folder.name), _anchors(entries, folder.name, levels))
    return Cards()


def _measures(entries: Sequence[Any], run: str) -> Mapping[str, Interval] | None:
    with contextlib.suppress(*DAMAGED):
        (card,) = (entry["card"] for entry in entries if run in entry["runs"])
        measured = {name: _interval(card[name]) for name in MEASURES}
        return measured if all(map(_finite, measured.values())) else None
    return None


def _anchors(entries: Sequence[Any], run: str, levels: Mapping[str, Any]) -> dict[str, Anchors]:
    found: dict[str, Anchors] = {}
    for entry in entries:
        with contextlib.suppress(*DAMAGED):
            anchors = _of_card(entry["card"]["anchors"])
            if run in entry["runs"]:
                found[OWN] = anchors
            if entry["level"] in LEVELS and _same(entry["difficulty"], levels[entry["level"]]):
                found[entry["level"]] = anchors
    return found


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
