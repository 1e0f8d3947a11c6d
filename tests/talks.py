"""Talks with a simulated user from the command line, a script of replies piped in."""

import os
import subprocess
from pathlib import Path

from tests.commands import BUDGET_S, command


def chat(*words: str, said: bytes | str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """`harness chat WORDS` with `said` piped in; the answer as UTF-8."""
    given = said if isinstance(said, bytes) else said.encode()
    done = subprocess.run(
        command("chat", *words),
        cwd=cwd,
        env={**os.environ, "PYTHONUTF8": "1"},
        input=given,
        capture_output=True,
        timeout=BUDGET_S,
        check=False,
    )
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(), done.stderr.decode()
    )


def lines(out: str, label: str) -> list[str]:
    return [x.removeprefix(label).strip() for x in out.splitlines() if x.startswith(label)]
