"""Our own sentences on stderr: one line each, in which no character is obeyed by a terminal.

Names of folders, values that were given and what a run.json says come from others: an escape
sequence in one of them would move the cursor, set a title or fill the clipboard.
"""

from __future__ import annotations

import contextlib
import sys


def visible(text: str) -> str:
    """`text`; a character that a terminal would obey is written as an escape."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def shown(text: str) -> str:
    """The same, with line ends and other white space as single blanks."""
    return visible(" ".join(text.split()))


def say(text: str) -> None:
    """One line on stderr; where nobody reads it any more, none."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(f"harness: {shown(text)}", file=sys.stderr, flush=True)
