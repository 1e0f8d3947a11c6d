"""The parts of a section of the page: sentences, tables, lists of settings.

Their text is unescaped; rendering escapes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.table import Table as RichTable
from rich.text import Text

QUIET, HEADING = "quiet", "level"
"""CSS classes of rows: a minor row, and the heading of the rows below it."""


@dataclass(frozen=True)
class Cell:
    """The lines of one cell."""

    lines: tuple[str, ...]


@dataclass(frozen=True)
class TableRow:
    """A row; `kind` is QUIET, HEADING or empty."""

    cells: tuple[Cell, ...]
    kind: str = ""


@dataclass(frozen=True)
class HtmlTable:
    """A table with a caption and notes below it."""

    caption: str
    headings: tuple[str, ...]
    rows: tuple[TableRow, ...]
    notes: Sequence[str] = ()
    equal_lines: bool = False
    """True if a cell's lines have equal weight; else the second is the interval of the first."""


@dataclass(frozen=True)
class NamedValue:
    """A name and its value."""

    name: str
    value: str


@dataclass(frozen=True)
class Card:
    """A titled list of settings or measurements, and the runs that it is about."""

    title: str
    pairs: Sequence[NamedValue]
    about: str = ""
    tables: Sequence[HtmlTable] = ()


def row(*cells: str, kind: str = "") -> TableRow:
    """Return a row; a line break in a cell separates its lines."""
    return TableRow(tuple(Cell(tuple(cell.split("\n"))) for cell in cells), kind)


def from_rich(caption: str, table: RichTable, notes: Sequence[str] = ()) -> HtmlTable:
    """Convert a table of the terminal, so that both have the same content."""
    columns = [list(column.cells) for column in table.columns]
    rows = []
    for index, rich_row in enumerate(table.rows):
        cells = [column[index] for column in columns]
        rows.append(row(*map(plain, cells), kind=_kind(str(rich_row.style or ""), cells)))
    headings = tuple(plain(column.header) for column in table.columns)
    return HtmlTable(caption, headings, tuple(rows), notes)


def plain(cell: object) -> str:
    """Return the text of a cell of rich."""
    return cell.plain if isinstance(cell, Text) else str(cell)


def _kind(style: str, cells: Sequence[object]) -> str:
    first, others = cells[0], cells[1:]
    is_alone = not any(plain(cell) for cell in others)
    if len(cells) > 1 and is_alone and isinstance(first, Text) and "bold" in str(first.style):
        return HEADING
    return QUIET if "dim" in style else ""
