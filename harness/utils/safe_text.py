"""Text to people: what cannot be seen is written as an escape, and no reader is waited for.

Names of folders, values that were given and what a run.json says come from others: an escape
sequence in one of them would move the cursor, set a title or fill the clipboard. Every sink
(terminal, CSV, figure) starts from `visible` and adds what is special to it.

A reader may also stop reading and leave the stream open and full. What ends a process is said
within a second or two all the same, or left unsaid.
"""

from __future__ import annotations

import _thread
import contextlib
import io
import os
import select
import sys
import time
from typing import TYPE_CHECKING, TextIO

from harness.utils import terminal

if TYPE_CHECKING:
    from rich.text import Text

WAIT_S = 2.0
_stalled: set[int] = set()
"""Descriptors that took nothing for WAIT_S: until they do again, they are not waited for."""


def visible(text: str) -> str:
    r"""`text` on one line, with every character that is not plainly visible as \xNN or \uNNNN.

    Escaped are control characters (ESC, CR, C1), format characters (bidirectional overrides, zero
    width), separators other than the blank, lone surrogates, private use and unassigned ones.
    """
    return "".join(char if char.isprintable() else escaped(char) for char in text)


def escaped(char: str) -> str:
    """Write one character as ASCII, as Python does."""
    return char.encode("unicode_escape", "backslashreplace").decode("ascii")


def text(value: object, style: str = "") -> Text:
    """`value` as rich's Text, shown literally: no markup, emoji codes, links or escapes."""
    from rich.text import Text

    return Text(visible(str(value)), style=style)


def shown(text: str) -> str:
    """Escape `text`, with line ends and other white space as single blanks."""
    return visible(" ".join(text.split()))


def say(text: str) -> None:
    """Print one line on stderr, wrapped at the width of a terminal; dropped where nobody reads it
    for some seconds.
    """
    if sys.stderr is None:
        return
    line = terminal.wrapped(f"harness: {shown(text)}", terminal.width(sys.stderr), "  ")
    tell(sys.stderr, f"{line}\n")


def write(descriptor: int, data: bytes, within_s: float = WAIT_S) -> bool:
    """Whether all of `data` was taken within so many seconds; also from within a signal's handler,
    since nothing is buffered. What nobody takes any more is let go.
    """
    until = time.monotonic() + (0.0 if descriptor in _stalled else within_s)
    rest = memoryview(data)
    with contextlib.suppress(OSError, ValueError):
        while rest:
            _, ready, _ = select.select([], [descriptor], [], max(0.0, until - time.monotonic()))
            if not ready:
                if within_s:
                    _stalled.add(descriptor)
                return False
            _stalled.discard(descriptor)
            rest = rest[os.write(descriptor, rest[: select.PIPE_BUF]) :]  # what never blocks
        return True
    return False


def tell(stream: TextIO, text: str, within_s: float = WAIT_S) -> bool:
    """`write`, to what `stream` writes to, in its encoding; a stream of memory takes all."""
    try:
        descriptor = None if hasattr(stream, "rich_proxied_file") else stream.fileno()
    except (OSError, ValueError, AttributeError):
        descriptor = None
    if descriptor is not None:
        encoded = text.encode(getattr(stream, "encoding", None) or "utf-8", "backslashreplace")
        return write(descriptor, encoded, within_s)
    try:
        stream.write(text)
        stream.flush()
    except OSError:
        return False
    except RuntimeError:  # a signal came within a write of rich's, and this is its handler's
        behind: TextIO | None = getattr(stream, "rich_proxied_file", None)
        if behind is None:
            raise
        return tell(behind, text, within_s)
    return True


class Stream(io.TextIOBase):
    """Stream that is written to by `tell`: for a library that takes a stream."""

    def __init__(self, of: TextIO) -> None:
        self._of = of

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return getattr(self._of, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        tell(self._of, text)
        return len(text)

    def isatty(self) -> bool:
        return self._of.isatty()

    def fileno(self) -> int:
        return self._of.fileno()


def exit_within(seconds: float, code: int) -> None:
    """End this process by then with this exit code, whatever its threads wait for."""

    def end() -> None:
        time.sleep(seconds)
        os._exit(code)

    with contextlib.suppress(RuntimeError):  # no room for another thread
        _thread.start_new_thread(end, ())  # takes no lock that who was interrupted may have
