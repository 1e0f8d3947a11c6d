"""The harness command on a terminal of a stated width, as a user sees it."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.testing.commands import BUDGET_S, command

CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Shown:
    """What a terminal got, and how the command ended."""

    text: str
    """With the escape sequences of the terminal."""
    code: int

    @property
    def plain(self) -> str:
        """Without colours and movements of the cursor; lines end as in a file."""
        return CONTROL.sub("", self.text).replace("\r\n", "\n")

    @property
    def lines(self) -> list[str]:
        return self.plain.splitlines()


def on_terminal(
    *words: str,
    cwd: Path,
    columns: int = 80,
    interrupt: Callable[[str], bool] | None = None,
    answers: str = "",
    **environment: str,
) -> Shown:
    """`harness WORDS` to its end on a terminal; `answers` is typed at once, and Ctrl-C is pressed
    when `interrupt` is true of what was shown so far.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    given = {"OMP_NUM_THREADS": "1", "TERM": "xterm-256color", **environment}
    inherited = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS", "LINES")}
    child = subprocess.Popen(
        command(*words), cwd=cwd, env={**inherited, **given},
        stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    try:
        if answers:
            os.write(ours, answers.encode())
        seen = _seen(ours, child, interrupt)
        return Shown(seen, child.wait(BUDGET_S))
    finally:
        child.kill()
        child.wait()
        os.close(ours)


def _seen(
    ours: int, child: subprocess.Popen[bytes], interrupt: Callable[[str], bool] | None
) -> str:
    seen, deadline = b"", time.monotonic() + BUDGET_S
    while time.monotonic() < deadline:
        if select.select([ours], [], [], 0.05)[0]:
            data = b""
            with contextlib.suppress(OSError):  # the child has closed its end
                data = os.read(ours, 65536)
            if not data:
                break
            seen += data
        if interrupt is not None and interrupt(seen.decode(errors="replace")):
            child.send_signal(signal.SIGINT)
            interrupt = None
    return seen.decode(errors="replace")
