"""The plain table for results in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from harness.utils.safe_text import text

GAP = INDENT = 2
ENOUGH = 45
"""Characters per line of the first column that suffice to wrap a sentence beside other columns."""
NARROWEST = 12
MOST_BELOW = 5
"""Maximum number of columns below the first cell; tables with more fold their cells instead."""


class FoldingTable(Table):
    """A table that puts the first cell of each row on separate lines if the terminal is narrow."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        widths = self._widths_below(options.max_width)
        if widths is None:
            yield from super().__rich_console__(console, options)
        else:
            yield from self._stacked(widths)

    def _widths_below(self, width: int) -> list[int] | None:
        """Return the widths of the other columns if they go below the first, else None."""
        first, *widths = (max(map(_width, cells)) for cells in self._columns())
        others = sum(widths) + GAP * len(widths)
        is_few = 0 < len(widths) <= MOST_BELOW
        if not is_few or width - others >= min(first, ENOUGH):
            return None
        widest = widths.index(max(widths))
        widths[widest] -= max(0, INDENT + others - GAP - width)
        return widths if widths[widest] >= min(NARROWEST, max(widths)) else None

    def _stacked(self, widths: Sequence[int]) -> Iterator[Text | Padding]:
        names, *others = self._columns()
        styles = ["", *(row.style or "" for row in self.rows)]
        for number, (name, *cells) in enumerate(zip(names, *others, strict=True)):
            first, *more_lines = name.split("\n")
            padding = (0, 0, 0, INDENT)
            if first:
                yield Text.assemble(first, style=styles[number])
            yield from (
                Padding(line, padding, style=styles[number], expand=False) for line in more_lines
            )
            if any(cells):
                yield Padding(_line(cells, widths), padding, style=styles[number], expand=False)
            if not number:
                yield Text("─" * (INDENT + sum(widths) + GAP * (len(widths) - 1)))

    def _columns(self) -> list[list[Text]]:
        """Return the heading and the cells of each column."""
        return [[_as_text(cell) for cell in (c.header, *c.cells)] for c in self.columns]


def folding_table(*headings: str) -> FoldingTable:
    """Return an empty table whose columns fold where the terminal is narrow."""
    table = FoldingTable(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False, show_edge=False)
    for heading in headings:
        table.add_column(text(heading), overflow="fold")
    return table


def stack_lines(*lines: str) -> Text:
    """Return the lines of a cell that are not empty, each shown literally."""
    return Text("\n").join(text(line) for line in lines if line)


def _as_text(cell: object) -> Text:
    return cell if isinstance(cell, Text) else Text(str(cell))


def _width(cell: Text) -> int:
    return max((line.cell_len for line in cell.split("\n")), default=0)


def _line(cells: Sequence[Text], widths: Sequence[int]) -> Table:
    line = Table.grid(padding=(0, GAP, 0, 0))
    for width in widths:
        line.add_column(width=width, overflow="fold")
    line.add_row(*cells)
    return line
