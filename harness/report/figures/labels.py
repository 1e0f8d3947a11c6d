"""Names and sentences in figures: what the font can draw, short enough, and in lines.

Names come from configs and file names that anybody may have written: nothing in them is parsed as a
formula, and two different names never look the same.
"""

from __future__ import annotations

import functools
import itertools
import re
import textwrap
from collections.abc import Iterable, Sequence

from harness.report.figures import style
from harness.utils.safe_text import escape, escape_char
from harness.utils.terminal import shorten_middle

LONGEST_NAME, LONGEST_GROUP = 32, 60
"""Longest names of a run and of a group in a legend or a title, in characters."""
FEW_SHARED = 4
"""Number of characters kept of a beginning or an end that all labels share."""
TIE = "\u00a0"
"""A no-break space."""


def label(value: object, most: int = LONGEST_NAME) -> str:
    """Return `value` on one line of at most `most` characters, all of which the font can draw."""
    font = drawable_characters()
    text = escape(str(value))
    return shorten_middle("".join(c if ord(c) in font else escape_char(c) for c in text), most)


def labels(values: Iterable[str], most: int = LONGEST_NAME) -> dict[str, str]:
    """Return value -> label, all different.

    If shortening would make two equal, most of the beginning and the end that all share is removed.
    """
    names = list(dict.fromkeys(values))
    shortened = {name: label(name, most) for name in names}
    if len(set(shortened.values())) == len(names):
        return shortened
    start = _shared_length(names)
    end = max(_shared_length([name[start:][::-1] for name in names]) - FEW_SHARED, 0)
    start = max(start - FEW_SHARED, 0)
    prefix, suffix = "..." if start else "", "..." if end else ""
    characters = most - len(prefix) - len(suffix)
    shortened = {n: f"{prefix}{label(n[start : len(n) - end], characters)}{suffix}" for n in names}
    if len(set(shortened.values())) == len(names):
        return shortened
    return {name: f"{number}: {shortened[name]}" for number, name in enumerate(names, 1)}


def _shared_length(names: Sequence[str]) -> int:
    """Return how many characters all names begin with."""
    are_equal = (len(set(characters)) == 1 for characters in zip(*names, strict=False))
    return sum(1 for _ in itertools.takewhile(bool, are_equal))


def wrap(sentence: str, width: int) -> str:
    """Wrap our own sentence at `width` characters; `[a, b]` and `in 3` are not broken."""
    tied = re.sub(r"\[[^][ ]+ [^][ ]+\]|\b(in|of|all|step) \d+", _tie_words, sentence)
    lines = textwrap.wrap(tied, width, break_on_hyphens=False)
    return "\n".join(lines).replace(TIE, " ")


def _tie_words(match: re.Match[str]) -> str:
    return match[0].replace(" ", TIE)


@functools.cache
def drawable_characters() -> frozenset[int]:
    """Return the code points that the font has."""
    from harness.report.figures.matplotlib_loader import FT2Font, font_manager

    return frozenset(FT2Font(font_manager.findfont(style.FONT)).get_charmap())
