"""The figure as a sink: text is drawn as it stands, never read as a formula."""

from __future__ import annotations

import functools
import re
import textwrap

from matplotlib import font_manager
from matplotlib.ft2font import FT2Font

from harness.utils.safe_text import escaped, shortened, visible

LONGEST_NAME = 32
TIE = "\u00a0"
"""A blank at which no line breaks."""
FONT = "DejaVu Sans"
"""Comes with matplotlib, so that a figure is the same on every machine."""


def label(value: object, most: int = LONGEST_NAME) -> str:
    """`value` on one line of at most `most` characters, all of which the font can draw."""
    drawable = _drawable()
    text = visible(str(value))
    return shortened("".join(c if ord(c) in drawable else escaped(c) for c in text), most)


def wrapped(sentence: str, width: int) -> str:
    """Our own sentence in lines of at most `width` characters; `[a, b]` and `in 3` stay whole."""
    kept = re.sub(r"\[[^][ ]+ [^][ ]+\]|\b(in|of|all|step) \d+", _tied, sentence)
    lines = textwrap.wrap(kept, width, break_on_hyphens=False)
    return "\n".join(lines).replace(TIE, " ")


def _tied(found: re.Match[str]) -> str:
    return found[0].replace(" ", TIE)


@functools.cache
def _drawable() -> frozenset[int]:
    return frozenset(FT2Font(font_manager.findfont(FONT)).get_charmap())
