"""Tables in LaTeX (booktabs) and in Markdown.

A cell is plain text from any source; each language escapes its own markup in it.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.utils.safe_text import escape, escape_char

LONGEST_PAGE = 40
"""The most lines of a table that fit on a page; a longer table is a longtable."""


@dataclass(frozen=True)
class TypesetTable:
    """Headings and rows of plain text."""

    name: str
    headings: tuple[str, ...]
    left: int
    """Number of columns of words, aligned left; the others hold numbers."""
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def latex(table: TypesetTable) -> str:
    """Return a tabular with the rules of booktabs, or a longtable if it does not fit on a page."""
    is_long = sum(_height(row, table.left) for row in table.rows) > LONGEST_PAGE
    environment = "longtable" if is_long else "tabular"
    columns = "l" * table.left + "r" * (len(table.headings) - table.left)
    packages = "booktabs and longtable" if is_long else "booktabs"
    rows = [_latex_row(row, table.left) for row in table.rows]
    return "\n".join(
        [
            f"% The numbers are those of {table.name}.csv; needs the package {packages}.",
            *(f"% {_comment(note)}" for note in table.notes),
            "{\\footnotesize\\setlength{\\tabcolsep}{3pt}%",
            f"\\begin{{{environment}}}{{@{{}}{columns}@{{}}}}",
            "\\toprule",
            _latex_row(table.headings, len(table.headings)),
            "\\midrule",
            *(["\\endhead"] if is_long else []),
            *_space_rows(rows),
            "\\bottomrule",
            f"\\end{{{environment}}}}}",
            "",
        ]
    )


def markdown(table: TypesetTable) -> str:
    """Return a table in GitHub's Markdown, followed by its notes."""
    sides = [":--"] * table.left + ["--:"] * (len(table.headings) - table.left)
    lines = [_markdown_row(table.headings, table.left), f"| {' | '.join(sides)} |"]
    lines += [_markdown_row(row, table.left) for row in table.rows]
    return "\n".join([*lines, "", *(f"{in_markdown(note)}  " for note in table.notes), ""])


_MEANT: dict[str, str] = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "_": r"\_", "%": r"\%", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': r"{\char34}",
    "'": r"{\char39}", "`": r"{\char96}", "[": "{[}", "]": "{]}", "*": "{*}",
}  # fmt: skip
"""Replacements in LaTeX: its special characters, those with a meaning at the start of a row (`[`
and `*`), and quotes, which form ligatures and which language packages make active.
"""
_JOINED = re.compile(r"([-,])(?=\1)")
"""LaTeX would turn `--` into a dash and `,,` into a quote."""


def in_latex(text: str) -> str:
    r"""Return `text` as LaTeX prints it with any engine and font encoding.

    Characters that are invisible or not ASCII are escaped, as \xNN.
    """
    escaped = "".join(c if c in string.printable else escape_char(c) for c in escape(text))
    return _JOINED.sub(r"\1{}", "".join(_MEANT.get(c, c) for c in escaped))


_MARKED = re.compile(r"([\\`*_\[\]<>#|~$&@])")


def in_markdown(text: str) -> str:
    """Return `text` as Markdown shows it, without markup, links, HTML or mentions."""
    escaped = _MARKED.sub(r"\\\1", escape(text))
    return escaped.replace("www.", r"www\.").replace("://", r":\//")


_OF_WORDS = re.compile(r" (?=[\[(])|(?<=,) (?![^\[]*\])")
_OF_NUMBERS = re.compile(r" (?=[\[(])|, (?![^\[]*\])")
"""The points at which a cell is split into lines: before an interval or a bracket, and at a comma
outside an interval. Words keep the comma, since a name may contain it.
"""


def _latex_row(cells: Sequence[str], left: int) -> str:
    cell_lines = _split_cells(cells, left)
    words = [_latex_cell([*map(in_latex, lines)], "l") for lines in cell_lines[:left]]
    numbers = [_latex_cell([*map(_latex_number, lines)], "r") for lines in cell_lines[left:]]
    return " & ".join([*words, *numbers]) + r" \\"


def _split_cells(cells: Sequence[str], left: int) -> list[list[str]]:
    """Split cells into lines, since a page is too narrow for numbers next to their intervals."""
    words = [_OF_WORDS.split(cell) for cell in cells[:left]]
    return [*words, *(_OF_NUMBERS.split(cell) for cell in cells[left:])]


def _height(cells: Sequence[str], left: int) -> int:
    """Return the number of lines of a row."""
    return max(map(len, _split_cells(cells, left)))


def _latex_cell(lines: Sequence[str], side: str) -> str:
    if len(lines) == 1:
        return lines[0]
    joined = r"\\".join(lines)
    return rf"\begin{{tabular}}[t]{{@{{}}{side}@{{}}}}{joined}\end{{tabular}}"


def _space_rows(rows: Sequence[str]) -> list[str]:
    """Return the rows with space between them if any cell has several lines."""
    if not any("{tabular}" in row for row in rows):
        return list(rows)
    return [line for row in rows for line in (row, r"\addlinespace")][:-1]


def _latex_number(cell: str) -> str:
    """Return the number with a minus sign instead of a hyphen."""
    return re.sub(r"(?<![\w.])-(?=\d)", "$-$", in_latex(cell))


def _comment(note: str) -> str:
    """Return the text of a LaTeX comment, which must be on one line."""
    return escape(note)


def _markdown_row(cells: Sequence[str], left: int) -> str:
    """Return a row. Cells of numbers are our own text, so their brackets need no escape."""
    words = [in_markdown(cell) for cell in cells[:left]]
    return f"| {' | '.join([*words, *cells[left:]])} |"


LANGUAGES: dict[str, Callable[[TypesetTable], str]] = {"tex": latex, "md": markdown}
"""File extension -> the function that writes a table."""
