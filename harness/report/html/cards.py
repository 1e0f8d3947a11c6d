"""Measurement cards, the versions that made the runs, and difficulty cards."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.report.html.blocks import Card, HtmlTable, NamedValue, TableRow, row
from harness.report.html.folders import CardEntry, LocatedRun
from harness.report.text import wording

INTERVAL = {"value", "low", "high"}
HIDDEN = ("by_decade", "by_decade_of_policy", "validity", "validity_held_out")
"""Long parts of a difficulty card, which are in cards.json; the page only lists them."""
MOST_NAMED = 6
"""The most runs that a card names; further ones are counted."""
LEVELS = (
    ("starts at", ("difficulty", "start_emotion")),
    ("says what it needs", ("difficulty", "disclosure")),
    ("accepts", ("difficulty", "acceptance")),
    ("acceptance of fixed replies", ("card", "acceptance")),
    ("need expression", ("card", "need_expression")),
    ("final emotion, never learning", ("card", "population_final_emotion")),
    ("reward at random", ("card", "anchors", "random", "reward")),
    ("best deaf schedule", ("card", "anchors", "deaf", "reward")),
    ("attentive", ("card", "anchors", "attentive", "reward")),
    ("optimum", ("card", "anchors", "optimum", "reward")),
)
"""Column of the table of levels -> path of its value."""


def measurement_cards(runs: Sequence[LocatedRun], names: Mapping[str, str]) -> list[Card]:
    """Return how H and R were measured: a card for each distinct way, with its runs."""
    by_measurement: dict[str, list[LocatedRun]] = {}
    for run in runs:
        if run.status is not None and run.status.measurement:
            key = json.dumps(run.status.measurement, sort_keys=True, default=str)
            by_measurement.setdefault(key, []).append(run)
    return [
        Card(
            f"Measurement card{_number_suffix(number, by_measurement)}",
            list(pairs(group[0].status.measurement if group[0].status else {})),
            _list_runs([names[run.run] for run in group], len(runs)),
        )
        for number, group in enumerate(by_measurement.values(), 1)
    ]


def provenance_cards(runs: Sequence[LocatedRun], names: Mapping[str, str]) -> list[Card]:
    """Return versions, revision and start model: a card for each distinct set, with its runs."""
    by_version: dict[str, list[LocatedRun]] = {}
    for run in runs:
        if run.status is not None:
            key = json.dumps(_versions(run), sort_keys=True, default=str)
            by_version.setdefault(key, []).append(run)
    return [
        Card(
            f"Made with{_number_suffix(number, by_version)}", list(pairs(_versions(group[0]))),
            _list_runs([names[run.run] for run in group], len(runs)),
        )
        for number, group in enumerate(by_version.values(), 1)
    ]  # fmt: skip


def _versions(run: LocatedRun) -> dict[str, Any]:
    assert run.status is not None
    about = {"git revision": run.status.git, "start model": run.status.start_model}
    about["simulator version"] = run.status.simulator_version  # type: ignore[assignment]
    return {**run.status.versions, **{name: v for name, v in about.items() if v}}


def _number_suffix(number: int, groups: Mapping[str, object]) -> str:
    return f" {number} of {len(groups)}" if len(groups) > 1 else ""


def _list_runs(names: Sequence[str], total: int) -> str:
    """Return the names of the runs that a card is about."""
    if len(names) == total:
        return "all runs" if total > 1 else names[0]
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def level_tables(cards: Sequence[CardEntry]) -> list[HtmlTable]:
    """Return a table with a row per difficulty card."""
    if not cards:
        return []
    rows = [_level(card) for card in cards]
    notes = [
        "Measured on reference users and replies before training; rewards are final emotion / 100. "
        "The best deaf schedule is the best fixed sequence of strategies; it hears nothing."
    ]
    return [
        HtmlTable("Difficulty cards", ("level", *(name for name, _ in LEVELS)), tuple(rows), notes)
    ]


def _level(card: CardEntry) -> TableRow:
    parts = {"difficulty": card.difficulty, "card": card.card}
    return row(
        card.level, *(value(_value_at(parts, path)).replace(" [", "\n[") for _, path in LEVELS)
    )


def _value_at(values: Any, path: Sequence[str]) -> Any:
    for key in path:
        values = values.get(key) if isinstance(values, Mapping) else None
    return values


def level_details(cards: Sequence[CardEntry]) -> list[Card]:
    """Return the other values of each difficulty card, except its long tables."""
    return [
        Card(
            card.level,
            [
                *pairs(card.difficulty),
                *pairs({k: v for k, v in card.card.items() if k not in HIDDEN}),
            ],
            f"{', '.join(name for name in HIDDEN if name in card.card)}: in cards.json",
        )
        for card in cards
    ]


def pairs(values: Any, prefix: str = "") -> Iterator[NamedValue]:
    """Yield each leaf of nested mappings with its dotted name."""
    if isinstance(values, Mapping) and not values.keys() >= INTERVAL:
        for name, part in values.items():
            yield from pairs(part, f"{prefix}.{name}" if prefix else str(name))
    else:
        yield NamedValue(wording.without_underscores(prefix), value(values))


def value(setting: Any) -> str:
    """Return a setting or a measurement as text."""
    if setting is None:
        return "-"
    if isinstance(setting, Mapping) and setting.keys() >= INTERVAL:
        ends = [setting["value"], setting["low"], setting["high"]]
        if all(map(_is_number, ends)):
            return wording.estimate(*ends)
        return wording.number(ends[0]) if _is_number(ends[0]) else "-"
    if isinstance(setting, bool):
        return "true" if setting else "false"
    if isinstance(setting, float):
        return f"{setting:.4g}"
    if isinstance(setting, list | tuple):
        return ", ".join(map(value, setting))
    return str(setting)


def _is_number(value: Any) -> bool:
    """Return whether a value is a number that a float can hold; a damaged file may have longer."""
    return isinstance(value, int | float) and abs(value) <= sys.float_info.max


def exact(setting: Any) -> str:
    """Return a value of the config. Unlike a measurement, a number in it is never rounded."""
    if isinstance(setting, float) and float(value(setting)) != setting:
        return repr(setting)
    if isinstance(setting, list | tuple):
        return ", ".join(map(exact, setting))
    return value(setting)
