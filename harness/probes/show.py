"""A probe's answer on a terminal: one table a level."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.probes.over_users import Estimate
from harness.probes.results import Probed, Reading
from harness.report.tables.grid import grid
from harness.report.text import wording
from harness.utils.safe_text import text

METHOD = (
    "[low, high]: 95% over users; change: the same users and draws, held against the same policy; "
    "bold: its interval does not hold 0"
)


def show(probed: Probed, console: Console) -> None:
    """Print the question, a table for each level, and how to read it."""
    each = f"{probed.users} held-out users x {wording.plural(probed.repeats, 'conversation')}"
    console.print(text(probed.asks, "bold"), soft_wrap=True)
    console.print(text(f"{probed.run}: {each} a level and policy", "dim"), soft_wrap=True)
    for level in probed.levels:
        console.print(_table(probed, level))
    console.print(text(METHOD, "dim"), soft_wrap=True)
    if len(probed.steps) > 1:
        shown = f"{len(probed.steps)} steps, {probed.steps[0]} to {probed.steps[-1]}"
        console.print(text(f"the picture and readings.csv have {shown}", "dim"), soft_wrap=True)


def _table(probed: Probed, level: str) -> Table:
    has_people = any(reading.people is not None for reading in probed.readings)
    headings = [_against(probed), f"step {probed.steps[-1]}", "change"]
    table = grid(level, *headings, *(["people"] if has_people else []))
    last = {r.label: r for r in probed.readings if r.level == level}  # of the last step
    for reading in probed.reference:
        if reading.level == level:
            table.add_row(*_cells(reading, last[reading.label], has_people))
    return table


def _against(probed: Probed) -> str:
    return "start" if probed.against == "start" else "against"


def _cells(reference: Reading, last: Reading, has_people: bool) -> list[Text]:
    change = last.change
    is_sure = None not in (change.low, change.high) and not change.holds(0.0)
    people = "" if reference.people is None else f"{reference.people:g}"
    return [
        text(f"{reference.label} ({reference.unit})"),
        text(_value(reference.estimate)),
        text(_value(last.estimate)),
        text(_full(change), "bold" if is_sure else ""),
        *([text(people)] if has_people else []),
    ]


def _value(one: Estimate) -> str:
    return "-" if one.value is None else wording.number(one.value)


def _full(one: Estimate) -> str:
    if one.value is None or one.low is None or one.high is None:
        return "not measured"
    return wording.estimate(one.value, one.low, one.high)
