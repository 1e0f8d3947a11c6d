"""Text from runs and files is hostile: what cannot be seen is written as an escape.

Every sink (terminal, CSV, figure) starts from `visible` and adds what is special to it.
"""

from __future__ import annotations


def visible(text: str) -> str:
    r"""`text` on one line, with every character that is not plainly visible as \xNN or \uNNNN.

    Escaped are control characters (ESC, CR, C1), format characters (bidirectional overrides, zero
    width), separators other than the blank, lone surrogates, private use and unassigned ones.
    """
    return "".join(char if char.isprintable() else escaped(char) for char in text)


def escaped(char: str) -> str:
    """Write one character as ASCII, as Python does."""
    return char.encode("unicode_escape", "backslashreplace").decode("ascii")


def shortened(text: str, most: int) -> str:
    """At most `most` characters: head and tail, since names of runs differ at their end."""
    if len(text) <= most:
        return text
    head = (most - 3) // 2
    return f"{text[:head]}...{text[len(text) - (most - 3 - head) :]}"
