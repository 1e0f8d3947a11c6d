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

from harness.utils.safe_text import escape

WIDTH = 150


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Attach the marker's texts to the report, so that they come from another process too."""
    marker = item.get_closest_marker("attack")
    if marker is not None:
        what, expected = (*marker.args, *marker.kwargs.values())
        item.user_properties += [("attack", what), ("expected", expected)]


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """One row an attack, those that got through first: how many of its cases were held, and what
    was seen in one of them.
    """
    attacks: dict[tuple[str, str], list[tuple[bool, str]]] = {}
    skipped = 0
    for reports in terminalreporter.stats.values():
        for report in reports:
            properties = dict(getattr(report, "user_properties", ()))
            if "attack" in properties and report.outcome == "skipped":
                skipped += 1
            elif "attack" in properties and report.when == "call":
                case = (report.outcome == "passed", str(properties.get("seen", "")))
                attacks.setdefault((properties["attack"], properties["expected"]), []).append(case)
    table = Table("attack", "expected", "seen", "held", show_lines=True)
    for (attack, expected), cases in sorted(attacks.items(), key=_got_through_first):
        held = sum(passed for passed, _ in cases)
        seen = min(cases)[1]  # of a case that got through, where there is one
        cells = (attack, expected, seen, f"{held} of {len(cases)}")
        table.add_row(*(Text(escape(cell)) for cell in cells))
    Console(width=WIDTH).print(table)
    total = sum(map(len, attacks.values()))
    held = sum(passed for cases in attacks.values() for passed, _ in cases)
    print(f"{len(attacks)} attacks, {held} of {total} cases held, {skipped} skipped")


def _got_through_first(entry: tuple[tuple[str, str], list[tuple[bool, str]]]) -> tuple[bool, str]:
    (attack, _), cases = entry
    return all(passed for passed, _ in cases), attack
