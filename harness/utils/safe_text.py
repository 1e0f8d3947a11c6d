"""Output for users: invisible characters are escaped, and writing never blocks for long.

Folder names, given values and the contents of run.json may come from others. An escape sequence in
them could move the cursor, set a title or fill the clipboard. So every output (terminal, CSV,
figure) applies `escape` first, and then its own escaping.

A reader may also stop reading and leave a pipe open and full. So that the process can end, a
message that is not read within a second or two is dropped.
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
"""Descriptors that were not writable for WAIT_S; no further wait for them until they are again."""


def escape(text: str) -> str:
    r"""Escape every character that is not printable, as \xNN or \uNNNN.

    These are control characters (ESC, CR, C1), format characters (bidirectional overrides, zero
    width), separators other than the space, lone surrogates, private-use and unassigned ones.
    """
    return "".join(char if char.isprintable() else escape_char(char) for char in text)


def escape_char(char: str) -> str:
    """Return one character as a Python escape sequence in ASCII."""
    return char.encode("unicode_escape", "backslashreplace").decode("ascii")


def text(value: object, style: str = "") -> Text:
    """Return `value` as rich's Text, shown literally: no markup, emoji codes, links or escapes."""
    from rich.text import Text

    return Text(escape(str(value)), style=style)


def escape_one_line(text: str) -> str:
    """Escape `text`, with each run of white space as a single space."""
    return escape(" ".join(text.split()))


def say(text: str) -> None:
    """Print one message on stderr, wrapped at the terminal's width; drop it if not read in time."""
    if sys.stderr is None:
        return
    line = terminal.wrap(f"harness: {escape_one_line(text)}", terminal.width(sys.stderr), "  ")
    tell(sys.stderr, f"{line}\n")


def write(descriptor: int, data: bytes, within_s: float = WAIT_S) -> bool:
    """Write `data` within `within_s` seconds; return whether all of it was written.

    Drops the rest on a timeout or an error. Unbuffered, so that signal handlers may use it.
    """
    deadline = time.monotonic() + (0.0 if descriptor in _stalled else within_s)
    remaining = memoryview(data)
    with contextlib.suppress(OSError, ValueError):
        while remaining:
            _, ready, _ = select.select([], [descriptor], [], max(0.0, deadline - time.monotonic()))
            if not ready:
                if within_s:
                    _stalled.add(descriptor)
                return False
            _stalled.discard(descriptor)
            written = os.write(descriptor, remaining[: select.PIPE_BUF])  # so much never blocks
            remaining = remaining[written:]
        return True
    return False


def tell(stream: TextIO, text: str, within_s: float = WAIT_S) -> bool:
    """`write` to the descriptor of `stream`, in its encoding. Streams without one are written to
    directly.
    """
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
    except RuntimeError:  # called by a signal handler that interrupted a write of rich
        wrapped: TextIO | None = getattr(stream, "rich_proxied_file", None)
        if wrapped is None:
            raise
        return tell(wrapped, text, within_s)
    return True


class Stream(io.TextIOBase):
    """A stream that writes by `tell`, for libraries that need a stream."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return getattr(self._stream, "encoding", None) or "utf-8"

    def write(self, text: str) -> int:
        tell(self._stream, text)
        return len(text)

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()


def exit_within(seconds: float, code: int) -> None:
    """End this process with this exit code after `seconds`, even if its threads are blocked."""

    def end() -> None:
        time.sleep(seconds)
        os._exit(code)

    with contextlib.suppress(RuntimeError):  # no further thread is possible
        _thread.start_new_thread(end, ())  # unlike threading, needs no lock that may be held
