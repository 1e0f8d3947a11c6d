"""Lines for a terminal: wrapped at its width, in columns that fit, with colour for status words.

Where nobody looks (a pipe, a file) a line stays a line, and nothing is coloured or left out.
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
"""Colour of a status word, by rich's name."""
CODES = {"cyan": 36, "green": 32, "red": 31, "yellow": 33}
NARROWEST = 20
GAP = "  "
UNBROKEN = "\0"
"""Stands for a blank that no line is broken at."""


def width(stream: TextIO) -> int | None:
    """Columns of the terminal that `stream` writes to; None where it is none."""
    try:
        if not stream.isatty():
            return None
        columns = os.get_terminal_size(stream.fileno()).columns
    except (OSError, ValueError, AttributeError):
        return None
    return max(columns, NARROWEST) if columns else None


def is_coloured(stream: TextIO) -> bool:
    """Whether colours are shown: on a terminal, unless NO_COLOR or TERM=dumb says otherwise."""
    wanted = not os.environ.get("NO_COLOR") and os.environ.get("TERM", "") != "dumb"
    return wanted and width(stream) is not None


def painted(text: str, status: str, coloured: bool) -> str:
    """`text` in the colour of a status word."""
    style = STYLES.get(status)
    return f"\x1b[{CODES[style]}m{text}\x1b[0m" if coloured and style else text


def wrapped(line: str, columns: int | None, indent: str = "") -> str:
    """`line` broken between words so that it fits; `indent` begins every line but the first.

    A word that is longer is not broken, and neither is a command in backticks that fits by itself.
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


def shortened(text: str, most: int) -> str:
    """Shorten to `most` characters: head and tail, since names of runs differ at their end."""
    if len(text) <= most:
        return text
    head = (most - 3) // 2
    return f"{text[:head]}...{text[len(text) - (most - 3 - head) :]}"


def parted(name: str, most: int) -> list[str]:
    """A name in lines of at most so many characters, each ending with a `-`, `_` or `/` of it.

    A part that is longer stays whole.
    """
    lines = [""]
    for part in re.split(r"(?<=[-_/])", name):
        if lines[-1] and len(lines[-1] + part) > most:
            lines.append("")
        lines[-1] += part
    return lines


def cut(text: str, most: int) -> str:
    """At most so many characters of `text`, whole items or words of it; `...` for the rest."""
    if len(text) <= most:
        return text
    start = text[: max(most - 3, 0)]
    whole = start.rpartition(", ")[0] or start.rpartition(" ")[0]
    return f"{whole.rstrip(' ,;:')}..." if whole else shortened(text, most) if most > 3 else "..."


def cell(text: str, most: int) -> str:
    """`text` in at most so many characters: the middle of a name is left out, or the last words."""
    return cut(text, most) if " " in text else shortened(text, most)


def fit(
    rows: Sequence[Sequence[str]],
    columns: int | None,
    least: Mapping[int, int],
    dropped_first: Sequence[int],
) -> dict[int, int]:
    """Column -> its width, for columns of `rows` that fit `columns` characters beside each other.

    The columns of `least` are narrowed in turn, each down to its least width; where that is not
    enough, those of `dropped_first` are left out one by one, in that order; at last the widest of
    the others is narrowed.
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
    """One line of the columns that fit; `painted_at`: column -> status in whose colour it is."""
    shown = []
    for number, wide in widths.items():
        text = f"{cell(cells[number], wide):{wide}}"
        shown.append(painted(text, painted_at.get(number, ""), True))
    return GAP.join(shown).rstrip()


def size_shown(size: float) -> str:
    """`1.2 GB`, `310 MB`, `12 kB`."""
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:.{1 if size < 10 * unit else 0}f} {name}"
    return f"{size / 1e3:.0f} kB"
