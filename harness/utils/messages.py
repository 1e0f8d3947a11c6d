"""Our own sentences on stderr: one line each, in which no character is obeyed by a terminal.

Names of folders, values that were given and what a run.json says come from others: an escape
sequence in one of them would move the cursor, set a title or fill the clipboard.
"""

from __future__ import annotations

import sys

from harness.utils import bounded_write
from harness.utils.escape import visible


def shown(text: str) -> str:
    """Escape `text`, with line ends and other white space as single blanks."""
    return visible(" ".join(text.split()))


def say(text: str) -> None:
    """Print one line on stderr; dropped where nobody reads it for some seconds."""
    if sys.stderr is not None:
        bounded_write.tell(sys.stderr, f"harness: {shown(text)}\n")
