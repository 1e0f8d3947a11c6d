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
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") != "dumb"
    return wanted and width(stream) is not None


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
    for number in range(1, len(parts) - 1, 2):
        if len(parts[number]) <= room:
            parts[number] = parts[number].replace(" ", UNBROKEN)
    broken = textwrap.wrap(
        "`".join(parts), columns, subsequent_indent=indent, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    return "\n".join(broken).replace(UNBROKEN, " ")


def shorten_middle(text: str, most: int) -> str:
    """Shorten to `most` characters, keeping head and tail, since run names differ at their end."""
    if len(text) <= most:
        return text
    head = (most - 3) // 2
    return f"{text[:head]}...{text[len(text) - (most - 3 - head) :]}"


def split_name(name: str, most: int) -> list[str]:
    """A name in lines of at most so many characters, each ending with a `-`, `_` or `/` of it.

    A part that is longer stays whole.
    """
    lines = [""]
    for part in re.split(r"(?<=[-_/])", name):
        if lines[-1] and len(lines[-1] + part) > most:
            lines.append("")
        lines[-1] += part
    return lines


def truncate(text: str, most: int) -> str:
    """Shorten to `most` characters after a whole item or word, ending in `...`."""
    if len(text) <= most:
        return text
    start = text[: max(most - 3, 0)]
    whole = start.rpartition(", ")[0] or start.rpartition(" ")[0]
    return (
        f"{whole.rstrip(' ,;:')}..." if whole else shorten_middle(text, most) if most > 3 else "..."
    )


def cell(text: str, most: int) -> str:
    """Shorten to `most` characters: names by `shorten_middle`, texts with spaces by `truncate`."""
    return truncate(text, most) if " " in text else shorten_middle(text, most)


def fit(
    rows: Sequence[Sequence[str]],
    columns: int | None,
    least: Mapping[int, int],
    dropped_first: Sequence[int],
) -> dict[int, int]:
    """Return column -> width, so that the columns of `rows` together fit in `columns` characters.

    First the columns in `least` are narrowed in turn, each down to its width there. If that is not
    enough, the columns in `dropped_first` are dropped one by one. Finally the widest is narrowed.
    """
    widths = {n: max(map(len, column)) for n, column in enumerate(zip(*rows, strict=True))}
    if columns is None:
        return widths
    for gone in (None, *dropped_first):
        if gone is not None:
            widths.pop(gone, None)
        tried = dict(widths)
        for number in [number for number in least if number in tried]:
            narrowest = min(tried[number], least[number])
            tried[number] = max(narrowest, tried[number] - _excess(tried, columns))
        if not _excess(tried, columns):
            return tried
    widest = max(tried, key=lambda number: tried[number])
    tried[widest] = max(8, tried[widest] - _excess(tried, columns))
    return tried


def _excess(widths: Mapping[int, int], columns: int) -> int:
    return max(0, sum(widths.values()) + len(GAP) * (len(widths) - 1) - columns)


def row(cells: Sequence[str], widths: Mapping[int, int], painted_at: Mapping[int, str]) -> str:
    """Format a line from the columns in `widths`. `painted_at`: column -> status for its colour."""
    shown = []
    for number, wide in widths.items():
        text = f"{cell(cells[number], wide):{wide}}"
        shown.append(colourize(text, painted_at.get(number, ""), True))
    return GAP.join(shown).rstrip()


def format_size(size: float) -> str:
    """Return a size in bytes as `1.2 GB`, `310 MB` or `12 kB`."""
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:.{1 if size < 10 * unit else 0}f} {name}"
    return f"{size / 1e3:.0f} kB"
