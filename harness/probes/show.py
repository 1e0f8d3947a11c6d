"""Shows a probe's answer on a terminal, with one table per level."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.probes import served
from harness.probes.over_users import ProbeEstimate
from harness.probes.results import START, ProbeReading, ProbeResult
from harness.report.tables.grid import folding_table
from harness.report.text import wording
from harness.utils.safe_text import text

PEOPLE, PUBLISHED = "people", "published"
"""Columns for human supporters, and for published changes by training."""
METHOD = (
    "[low, high]: 95% over {units}; change: relative to the same policy, with the same {units} and "
    "draws; bold: the interval excludes 0"
)


def show(probed: ProbeResult, console: Console) -> None:
    """Print the question, a table for each level, and how to read it."""
    console.print(text(probed.asks, "bold"), soft_wrap=True)
    console.print(text(f"{probed.run}: {_size(probed)}", "dim"), soft_wrap=True)
    for level in probed.levels:
        console.print(_table(probed, level))
    for reason in probed.not_measured:
        console.print(text(f"not measured: {reason}"), soft_wrap=True)
    if probed.cost is not None:
        console.print(text(served.cost_words(probed.cost)), soft_wrap=True)
    if probed.verdict:
        console.print(text(probed.verdict, "bold"), soft_wrap=True)
    if not probed.readings:
        return
    units = "users" if probed.items is None else "items"
    console.print(text(METHOD.format(units=units), "dim"), soft_wrap=True)
    if len(probed.steps) > 1:
        steps = f"{len(probed.steps)} steps, {probed.steps[0]} to {probed.steps[-1]}"
        console.print(text(f"the picture and readings.csv have {steps}", "dim"), soft_wrap=True)


def _size(probed: ProbeResult) -> str:
    if probed.items is not None:
        settings = len({reading.setting for reading in probed.reference})
        return f"{wording.plural(probed.items, 'item')} in each framing" if settings else "no items"
    size = f"{probed.users} held-out users x {wording.plural(probed.repeats, 'conversation')}"
    return f"{size} a level and policy"


def _table(probed: ProbeResult, level: str) -> Table:
    extra_columns = [name for name in (PEOPLE, PUBLISHED) if _has_any(probed, name)]
    step = probed.steps[-1]
    headings = [_reference_heading(probed), "model" if step == START else f"step {step}", "change"]
    table = folding_table(level, *headings, *extra_columns)
    last = {r.label: r for r in probed.readings if r.level == level}  # of the last step
    for reading in probed.reference:
        if reading.level == level:
            table.add_row(*_cells(reading, last[reading.label], extra_columns))
    return table


def _has_any(probed: ProbeResult, name: str) -> bool:
    return any(getattr(reading, name) is not None for reading in probed.readings)


def _reference_heading(probed: ProbeResult) -> str:
    return "start" if probed.against == "start" else "against"


def _cells(reference: ProbeReading, last: ProbeReading, extra_columns: Sequence[str]) -> list[Text]:
    change = last.change
    is_sure = None not in (change.low, change.high) and not change.holds(0.0)
    extras = [getattr(reference, name) for name in extra_columns]
    return [
        text(f"{reference.label} ({reference.unit})"),
        text(_value(reference.estimate)),
        text(_value(last.estimate)),
        text(_with_interval(change), "bold" if is_sure else ""),
        *(text("" if value is None else f"{value:g}") for value in extras),
    ]


def _value(estimate: ProbeEstimate) -> str:
    return "-" if estimate.value is None else wording.number(estimate.value)


def _with_interval(estimate: ProbeEstimate) -> str:
    if estimate.value is None or estimate.low is None or estimate.high is None:
        return "not measured"
    return wording.estimate(estimate.value, estimate.low, estimate.high)
