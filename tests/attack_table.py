"""The table that `make attack` prints: what was tried, what must happen, what was seen.

A test takes part by its marker, `@pytest.mark.attack(WHAT, EXPECTED)`, and says what it saw with
`record_property("seen", TEXT)`. Loaded by `pytest -p tests.attack_table`.
"""

from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from harness.visible import visible

WIDTH = 150


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """What the marker says travels with the report, also from another process."""
    marker = item.get_closest_marker("attack")
    if marker is not None:
        what, expected = (*marker.args, *marker.kwargs.values())
        item.user_properties += [("attack", what), ("expected", expected)]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One row an attack, those that got through first."""
    found = [
        (report.outcome, dict(report.user_properties))
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "call" and dict(report.user_properties).get("attack")
    ]
    table = Table("attack", "expected", "seen", "", title=f"{len(found)} attacks")
    for outcome, told in sorted(
        found, key=lambda entry: (entry[0] == "passed", entry[1]["attack"])
    ):
        cells = (told["attack"], told["expected"], str(told.get("seen", "")), outcome)
        table.add_row(*(Text(visible(cell)) for cell in cells))
    Console(width=WIDTH).print(table)
