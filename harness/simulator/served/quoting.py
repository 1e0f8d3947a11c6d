"""Words of one side made safe for the other: data in a prompt, never part of its frame."""

from __future__ import annotations

import re
import unicodedata

LONGEST_QUOTE = 2000
"""Characters of one message of the policy that the user hears."""
LONGEST_REPLY = 600
"""Characters of one message of the user that the policy hears."""
MOST_READ = 4 * LONGEST_QUOTE
CUT = " ..."
_SPECIAL = re.compile(
    r"<\|[^|<>]{0,40}\|>"  # <|im_start|> and its like
    r"|<\uff5c[^\uff5c<>]{0,40}\uff5c>"  # the same with full-width bars
    r"|\[/?INST\]|<</?SYS>>|</?s>|<(?:start|end)_of_turn>"
    r"|</?(?:system|assistant|user|think|tool_call)>",
    re.IGNORECASE,
)
_ROLE = re.compile(
    r"(?m)^\s*(?:#+\s*|\*\*)?(system|assistant|user|developer|human|tool)\s*(?:\*\*)?\s*:", re.I
)


def quoted(text: str) -> str:
    """What the policy said, as one line of plain text: no control character, no role marker."""
    return _shortened(plain(text[:MOST_READ]), LONGEST_QUOTE)


def spoken(text: str) -> str:
    """What the user said, fit for the policy's chat template and for a terminal."""
    return _shortened(plain(text[:MOST_READ]), LONGEST_REPLY)


def plain(text: str) -> str:
    """One line without control characters, role markers or special tokens."""
    while (fewer := _SPECIAL.sub(" ", text)) != text:  # taking one out may make another
        text = fewer
    text = _ROLE.sub(r"\1 -", text)
    return " ".join("".join(map(_visible, text)).split())


def _visible(character: str) -> str:
    """A space for what is no text: control and format characters, lone surrogates, private use."""
    keep = character == "\u200d" or unicodedata.category(character) not in (
        "Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp",
    )  # fmt: skip
    return character if keep else " "


def _shortened(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    return text[: longest - len(CUT)].rsplit(" ", 1)[0] + CUT
