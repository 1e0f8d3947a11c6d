"""Tables in LaTeX (booktabs) and in Markdown.

A cell is plain text here, whoever wrote it; each language escapes all of it that it would read as
its own.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.utils.safe_text import escaped, visible

LONGEST_PAGE = 40
"""Lines of a table that one page can hold; a longer one is a longtable."""


@dataclass(frozen=True)
class Table:
    """Headings and rows of text, before any language."""

    name: str
    headings: tuple[str, ...]
    left: int
    """Columns that hold words, and are set to the left; the others hold numbers."""
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]


def latex(table: Table) -> str:
    """A tabular with the rules of booktabs; a longtable where one page cannot hold it."""
    is_long = sum(_height(row, table.left) for row in table.rows) > LONGEST_PAGE
    environment = "longtable" if is_long else "tabular"
    columns = "l" * table.left + "r" * (len(table.headings) - table.left)
    needs = "booktabs and longtable" if is_long else "booktabs"
    rows = [_latex_row(row, table.left) for row in table.rows]
    return "\n".join(
        [
            f"% The numbers are those of {table.name}.csv; needs the package {needs}.",
            *(f"% {_comment(note)}" for note in table.notes),
            "{\\footnotesize\\setlength{\\tabcolsep}{3pt}%",
            f"\\begin{{{environment}}}{{@{{}}{columns}@{{}}}}",
            "\\toprule",
            _latex_row(table.headings, len(table.headings)),
            "\\midrule",
            *(["\\endhead"] if is_long else []),
            *_apart(rows),
            "\\bottomrule",
            f"\\end{{{environment}}}}}",
            "",
        ]
    )


def markdown(table: Table) -> str:
    """A table of GitHub's kind, with its notes below."""
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
"""Besides LaTeX's own characters those that mean something after the end of a row (`[` and `*`),
and quotes, which join into others and which language packages make active."""
_JOINED = re.compile(r"([-,])(?=\1)")
"""`--` would be a dash, `,,` a quote."""


def in_latex(text: str) -> str:
    r"""`text` as LaTeX prints it, by any engine and in any font encoding: what is not ASCII, or is
    not to be seen, as \xNN.
    """
    shown = "".join(c if c in string.printable else escaped(c) for c in visible(text))
    return _JOINED.sub(r"\1{}", "".join(_MEANT.get(c, c) for c in shown))


_MARKED = re.compile(r"([\\`*_\[\]<>#|~$&@])")


def in_markdown(text: str) -> str:
    """`text` as Markdown shows it, without markup, links, HTML or mentions."""
    shown = _MARKED.sub(r"\\\1", visible(text))
    return shown.replace("www.", r"www\.").replace("://", r":\//")


_OF_WORDS = re.compile(r" (?=[\[(])|(?<=,) (?![^\[]*\])")
_OF_NUMBERS = re.compile(r" (?=[\[(])|, (?![^\[]*\])")
"""Where a cell is parted: before an interval or a bracket, and at a comma outside of an interval,
which stays at the end of words, since a name may have it.
"""


def _latex_row(cells: Sequence[str], left: int) -> str:
    parted = _in_lines(cells, left)
    words = [_latex_cell([*map(in_latex, lines)], "l") for lines in parted[:left]]
    numbers = [_latex_cell([*map(_latex_number, lines)], "r") for lines in parted[left:]]
    return " & ".join([*words, *numbers]) + r" \\"


def _in_lines(cells: Sequence[str], left: int) -> list[list[str]]:
    """Cells in lines, since a page is not wide enough for numbers beside their intervals."""
    words = [_OF_WORDS.split(cell) for cell in cells[:left]]
    return [*words, *(_OF_NUMBERS.split(cell) for cell in cells[left:])]


def _height(cells: Sequence[str], left: int) -> int:
    """Lines of a row."""
    return max(map(len, _in_lines(cells, left)))


def _latex_cell(lines: Sequence[str], side: str) -> str:
    if len(lines) == 1:
        return lines[0]
    inside = r"\\".join(lines)
    return rf"\begin{{tabular}}[t]{{@{{}}{side}@{{}}}}{inside}\end{{tabular}}"


def _apart(rows: Sequence[str]) -> list[str]:
    """Rows, with space between them where cells have several lines."""
    if not any("{tabular}" in row for row in rows):
        return list(rows)
    return [line for row in rows for line in (row, r"\addlinespace")][:-1]


def _latex_number(cell: str) -> str:
    """A number whose minus is one."""
    return re.sub(r"(?<![\w.])-(?=\d)", "$-$", in_latex(cell))


def _comment(note: str) -> str:
    """What stands after `%`: on one line, and nothing in it is read."""
    return visible(note)


def _markdown_row(cells: Sequence[str], left: int) -> str:
    """Numbers, and the words in their place, are our own text: brackets need no escape there."""
    words = [in_markdown(cell) for cell in cells[:left]]
    return f"| {' | '.join([*words, *cells[left:]])} |"


LANGUAGES: dict[str, Callable[[Table], str]] = {"tex": latex, "md": markdown}
"""Ending of the file -> how it is written."""
