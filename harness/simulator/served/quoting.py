"""Quotes one side's words for the other as plain data, without role markers or special tokens."""

from __future__ import annotations

import re
import unicodedata

LONGEST_QUOTE = 2000
"""Most characters of a policy's message in the user's prompt."""
LONGEST_REPLY = 600
"""Most characters of a user's message in the policy's prompt."""
LONGEST_WORD = 50
"""Most characters that are left out to end at a blank. Some languages write without blanks."""
MOST_READ = 4 * LONGEST_QUOTE
CUT = " ..."
_SPECIAL = re.compile(
    r"<\|[^|<>]{0,40}\|>"  # <|im_start|> and its like
    r"|<\uff5c[^\uff5c<>]{0,40}\uff5c>"  # the same with full-width bars
    r"|\[/?(?:INST|TOOL_CALLS)\]|<</?SYS>>|<(?:start|end)_of_turn>|</?(?:s|bos|eos|unk|pad)>"
    r"|</?(?:system|assistant|user|think|tool_call|tool_response)>",
    re.IGNORECASE,
)
_BARS = re.compile(r"<\||\|>|<\uff5c|\uff5c>")
"""Remainders of nested markers. A blank in their place cannot form a new marker."""
_ROLE = re.compile(
    r"(?m)^(?:#+\s?|\*\*\s?)?(system|assistant|user|developer|human|tool)\s?(?:\*\*)?\s?:", re.I
)
"""Applied to lines with single blanks only, so that `\\s?` suffices and cannot backtrack."""
_LINE_ENDS = re.compile("[\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")
_NO_TEXT = ("Cc", "Cs", "Co", "Cn", "Zl", "Zp")
_LONE_JOINER = re.compile("\u200d(?![^\x00-\x7f\u200d])|(?<![^\x00-\x7f\u200d])\u200d")
"""Zero-width joiners, except those within an emoji sequence."""


def quote_reply(text: str) -> str:
    """Return a policy's message as one line without control characters or role markers."""
    return _shorten(plain(text[:MOST_READ]), LONGEST_QUOTE)


def clean_user_text(text: str) -> str:
    """Return a user's message, safe for the policy's chat template and for a terminal."""
    return _shorten(plain(text[:MOST_READ]), LONGEST_REPLY)


def plain(text: str) -> str:
    """Return one line without control characters, role markers or special tokens."""
    text = "".join(map(_clean_character, _LINE_ENDS.sub("\n", text)))
    text = _BARS.sub(" ", _SPECIAL.sub(" ", _LONE_JOINER.sub("", text)))
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return " ".join(_ROLE.sub(r"\1 -", "\n".join(line for line in lines if line)).split())


def _clean_character(character: str) -> str:
    """Return a character of text unchanged, nothing for a formatting character, which could hide a
    marker, and a space for control characters, lone surrogates and private use.
    """
    category = unicodedata.category(character)
    if character in "\n\u200d":
        return character
    return "" if category == "Cf" else " " if category in _NO_TEXT else character


def _shorten(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    kept = text[: longest - len(CUT)]
    start, _, last_word = kept.rpartition(" ")
    return (start if len(last_word) < LONGEST_WORD else kept) + CUT
