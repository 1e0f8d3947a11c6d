"""The plain grid for results on a terminal."""

from __future__ import annotations

from rich import box
from rich.table import Table
from rich.text import Text

from harness.utils.safe_text import text


def grid(*headings: str) -> Table:
    """Return an empty table whose columns fold where the terminal is narrow."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for heading in headings:
        table.add_column(text(heading), overflow="fold")
    return table


def stacked(*lines: str) -> Text:
    """Return the lines of a cell that are not empty, each shown literally."""
    return Text("\n").join(text(line) for line in lines if line)
