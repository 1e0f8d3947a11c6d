"""The key is repeated nowhere: an endpoint that was given it may echo it, in any of its answers."""

from __future__ import annotations

import re
from collections.abc import Callable

SHORTEST = 8
"""A shorter key is a word that stands for none (`EMPTY`), and would be found in words."""
_BETWEEN = r"(?:[^!-\[\]-~]|(?<=\\)(?:[bfnrt]|u(?!00[2-7])[0-9a-fA-F]{4}))*"
"""What may stand between two characters of the key: nothing that is seen, nor its JSON escape."""
Redact = Callable[[str], str]


def redactor(key: str) -> Redact:
    r"""Puts KEY for `key`: also with control characters or blanks in it, and where JSON, itself
    in JSON or not, writes its characters as `\/` or `\u0073`.
    """
    seen = [c for c in key if c not in " \\"]
    if len(seen) < SHORTEST:
        return str
    first, *others = (f"(?:{re.escape(c)}|%su00(?i:{ord(c):02x}))" for c in seen)
    written = [first % r"(?<!\\)\\+", *(other % "" for other in others)]
    pattern = re.compile(_BETWEEN.join(written))
    return lambda text: pattern.sub("KEY", text)
