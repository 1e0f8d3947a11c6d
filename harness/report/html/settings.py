"""The config: the keys in which runs differ, with the runs of each value, and the shared keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from harness.law.compare.groups import flatten_config
from harness.law.group_results import Analysis
from harness.report.html.blocks import Card, HtmlTable, NamedValue, row
from harness.report.html.cards import exact
from harness.report.text import naming
from harness.report.text.wording import plural

MOST_VALUES = 6
"""If a key has more values, such as seeds, they are listed without their runs."""
MOST_LISTED = 40
ABSENT = "(not set)"


def differing_settings(analysis: Analysis) -> HtmlTable | None:
    """Return a row per key in which the configs differ; None with fewer than two configs."""
    configs = _configs(analysis)
    if len(configs) < 2:
        return None
    run_names = naming.names(analysis)
    rows = []
    for key in sorted({key for config in configs.values() for key in config}):
        by_value: dict[str, list[str]] = {}
        for run, config in configs.items():
            text = exact(config[key]) if key in config else ABSENT
            by_value.setdefault(text, []).append(run_names[run])
        if len(by_value) > 1:
            rows.append(row(key, *_values_and_runs(by_value)))
    if not rows:
        return HtmlTable("Config differences", ("key",), (row("none: all configs are equal"),))
    without_config = len(analysis.runs) - len(configs)
    notes = [f"{plural(without_config, 'run')} without a config.yaml"] if without_config else []
    return HtmlTable(
        "Config differences", ("key", "values", "runs"), tuple(rows), notes, equal_lines=True
    )


def _values_and_runs(by_value: Mapping[str, Sequence[str]]) -> tuple[str, str]:
    """Return the values of a key and the runs that have them, one line per value."""
    if len(by_value) <= MOST_VALUES:
        return "\n".join(by_value), "\n".join(map(_list_names, by_value.values()))
    listed = ", ".join(list(by_value)[:MOST_LISTED])
    more = len(by_value) - MOST_LISTED
    counts = sorted({len(names) for names in by_value.values()})
    runs_each = " to ".join(dict.fromkeys((str(counts[0]), str(counts[-1]))))
    return f"{listed}{f' and {more} more' if more > 0 else ''}", f"{runs_each} of each"


def _list_names(names: Sequence[str]) -> str:
    if len(names) <= 2:
        return ", ".join(names)
    return f"{plural(len(names), 'run')}: {names[0]}, {names[1]}, ..."


def shared_settings(analysis: Analysis) -> Card | None:
    """Return the keys in which all configs agree; for a single run, its config."""
    configs = list(_configs(analysis).values())
    if not configs:
        return None
    first, others = configs[0], configs[1:]
    shared = [
        NamedValue(key, exact(setting))
        for key, setting in first.items()
        if all(key in other and other[key] == setting for other in others)
    ]
    title = "Shared by all runs" if others else "The run's config"
    return Card(title, shared)


def _configs(analysis: Analysis) -> dict[str, dict[str, Any]]:
    """Return run -> dotted key -> value."""
    return {
        run.run: {**flatten_config(run.config), "seed": run.config.get("seed")}
        for run in analysis.runs
        if run.config is not None
    }
