"""Talks with a simulated user from the command line, a script of replies piped in."""

import subprocess
from pathlib import Path

from harness.testing.commands import here


def chat(*words: str, stdin: bytes | str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run `harness chat WORDS` with `stdin` piped in."""
    return here("chat", *words, stdin=stdin, cwd=cwd)


def lines(out: str, label: str) -> list[str]:
    return [x.removeprefix(label).strip() for x in out.splitlines() if x.startswith(label)]
