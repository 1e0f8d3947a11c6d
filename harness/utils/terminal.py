"""Formats lines for a terminal: wrapped at its width, in columns that fit, with coloured statuses.

For a pipe or a file, lines are not wrapped, coloured or shortened.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import TextIO

STYLES = {
    "running": "cyan", "done": "green", "failed": "red", "crashed": "red", "damaged": "red",
    "stopped": "yellow",
}  # fmt: skip
"""Status -> its colour, by rich's name."""
CODES = {"cyan": 36, "green": 32, "red": 31, "yellow": 33}
NARROWEST = 20
GAP = "  "
UNBROKEN = "\0"
"""Placeholder for a space at which a line must not be broken."""


def width(stream: TextIO) -> int | None:
    """Return the columns of the terminal that `stream` writes to; None if it is no terminal."""
    try:
        if not stream.isatty():
            return None
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError, AttributeError):
        return None
    return max(columns, NARROWEST) if columns else None


def is_coloured(stream: TextIO) -> bool:
    """Whether to use colours: on a terminal, unless NO_COLOR or TERM=dumb is set."""
    enabled = not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") != "dumb"
    return enabled and width(stream) is not None


def colourize(text: str, status: str, coloured: bool) -> str:
    """Return `text` in the colour of `status`, if `coloured` and it has one."""
    style = STYLES.get(status)
    return f"\x1b[{CODES[style]}m{text}\x1b[0m" if coloured and style else text


def wrap(line: str, columns: int | None, indent: str = "") -> str:
    """Wrap `line` between words at `columns`; lines after the first begin with `indent`.

    Longer words are not broken, nor are commands in backticks that fit on one line.
    """
    if columns is None or len(line) <= columns:
        return line
    parts = line.split("`")
    room = columns - len(indent) - 2
    for index in range(1, len(parts) - 1, 2):
        if len(parts[index]) <= room:
            parts[index] = parts[index].replace(" ", UNBROKEN)
    broken = textwrap.wrap(
        "`".join(parts), columns, subsequent_indent=indent, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    return "\n".join(broken).replace(UNBROKEN, " ")


def shorten_middle(text: str, limit: int) -> str:
    """Shorten to `limit` characters, keeping head and tail, since run names differ at their end."""
    if len(text) <= limit:
        return text
    head = (limit - 3) // 2
    return f"{text[:head]}...{text[len(text) - (limit - 3 - head) :]}"


def split_name(name: str, limit: int) -> list[str]:
    """Split a name after its `-`, `_` and `/` into lines of at most `limit` characters.

    A longer part is not split.
    """
    lines = [""]
    for part in re.split(r"(?<=[-_/])", name):
        if lines[-1] and len(lines[-1] + part) > limit:
            lines.append("")
        lines[-1] += part
    return lines


def truncate(text: str, limit: int) -> str:
    """Shorten to `limit` characters after a whole item or word, ending in `...`."""
    if len(text) <= limit:
        return text
    start = text[: max(limit - 3, 0)]
    shortened = start.rpartition(", ")[0] or start.rpartition(" ")[0]
    if shortened:
        return f"{shortened.rstrip(' ,;:')}..."
    return shorten_middle(text, limit) if limit > 3 else "..."


def cell(text: str, limit: int) -> str:
    """Shorten to `limit` characters: names by `shorten_middle`, texts with spaces by `truncate`."""
    return truncate(text, limit) if " " in text else shorten_middle(text, limit)


def fit(
    rows: Sequence[Sequence[str]],
    columns: int | None,
    minimums: Mapping[int, int],
    dropped_first: Sequence[int],
) -> dict[int, int]:
    """Return column -> width, so that the columns of `rows` together fit in `columns` characters.

    First the columns in `minimums` are narrowed in turn, each to its width there. If that is not
    enough, the columns in `dropped_first` are dropped one by one. Finally the widest is narrowed.
    """
    widths = {n: max(map(len, column)) for n, column in enumerate(zip(*rows, strict=True))}
    if columns is None:
        return widths
    for dropped in (None, *dropped_first):
        if dropped is not None:
            widths.pop(dropped, None)
        narrowed = dict(widths)
        for index in [index for index in minimums if index in narrowed]:
            narrowest = min(narrowed[index], minimums[index])
            narrowed[index] = max(narrowest, narrowed[index] - _excess(narrowed, columns))
        if not _excess(narrowed, columns):
            return narrowed
    widest = max(narrowed, key=lambda index: narrowed[index])
    narrowed[widest] = max(8, narrowed[widest] - _excess(narrowed, columns))
    return narrowed


def _excess(widths: Mapping[int, int], columns: int) -> int:
    return max(0, sum(widths.values()) + len(GAP) * (len(widths) - 1) - columns)


def row(cells: Sequence[str], widths: Mapping[int, int], statuses: Mapping[int, str]) -> str:
    """Format a line from the columns in `widths`. `statuses`: column -> status for its colour."""
    shown = []
    for column, column_width in widths.items():
        text = f"{cell(cells[column], column_width):{column_width}}"
        shown.append(colourize(text, statuses.get(column, ""), True))
    return GAP.join(shown).rstrip()


def format_size(size: float) -> str:
    """Return a size in bytes as `1.2 GB`, `310 MB` or `12 kB`."""
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:.{1 if size < 10 * unit else 0}f} {name}"
    return f"{size / 1e3:.0f} kB"
