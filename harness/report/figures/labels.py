"""Names and sentences in figures: what the font can draw, short enough, and in lines.

Names come from configs and file names that anybody may have written: nothing in them is read as a
formula, and no two that differ look alike.
"""

from __future__ import annotations

import functools
import itertools
import re
import textwrap
from collections.abc import Iterable, Sequence

from harness.report.figures import style
from harness.utils.safe_text import escaped, visible
from harness.utils.terminal import shortened

LONGEST_NAME, LONGEST_GROUP = 32, 60
"""Characters of a run's entry, and of a group's, in a legend or a title."""
FEW_SHARED = 4
"""Characters kept of what all labels begin or end with."""
TIE = "\u00a0"
"""A blank at which no line breaks."""


def label(value: object, most: int = LONGEST_NAME) -> str:
    """`value` on one line of at most `most` characters, all of which the font can draw."""
    font = drawable()
    text = visible(str(value))
    return shortened("".join(c if ord(c) in font else escaped(c) for c in text), most)


def labels(values: Iterable[str], most: int = LONGEST_NAME) -> dict[str, str]:
    """Each value's label, no two alike: where shortening would make them so, without what all begin
    and end with.
    """
    names = list(dict.fromkeys(values))
    found = {name: label(name, most) for name in names}
    if len(set(found.values())) == len(names):
        return found
    start = _shared(names)
    end = max(_shared([name[start:][::-1] for name in names]) - FEW_SHARED, 0)
    start = max(start - FEW_SHARED, 0)
    before, after = "..." if start else "", "..." if end else ""
    room = most - len(before) - len(after)
    found = {n: f"{before}{label(n[start : len(n) - end], room)}{after}" for n in names}
    if len(set(found.values())) == len(names):
        return found
    return {name: f"{number}: {found[name]}" for number, name in enumerate(names, 1)}


def _shared(names: Sequence[str]) -> int:
    """How many characters all begin with."""
    alike = (len(set(characters)) == 1 for characters in zip(*names, strict=False))
    return sum(1 for _ in itertools.takewhile(bool, alike))


def wrapped(sentence: str, width: int) -> str:
    """Our own sentence in lines of at most `width` characters; `[a, b]` and `in 3` stay whole."""
    kept = re.sub(r"\[[^][ ]+ [^][ ]+\]|\b(in|of|all|step) \d+", _tied, sentence)
    lines = textwrap.wrap(kept, width, break_on_hyphens=False)
    return "\n".join(lines).replace(TIE, " ")


def _tied(match: re.Match[str]) -> str:
    return match[0].replace(" ", TIE)


@functools.cache
def drawable() -> frozenset[int]:
    """Code points that the font has."""
    from harness.report.figures.matplotlib_loader import FT2Font, font_manager

    return frozenset(FT2Font(font_manager.findfont(style.FONT)).get_charmap())
