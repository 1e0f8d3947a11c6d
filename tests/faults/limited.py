"""Commands and runs under a kernel's limits, and the uninterrupted run they must end equal to."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.records.run_folder import RunFolder
from harness.testing.commands import command
from tests.train.made import brief, finish, make_run

RUN = (sys.executable, "-P", "-m", "harness.train")
UNDER = (
    "import os, resource as r, sys; r.setrlimit({}, ({}, {})); os.execv(sys.argv[1], sys.argv[1:])"
)


def quick(**trainer: Any) -> Any:
    """24 steps of 8 short conversations, a checkpoint every 5, evaluated at both ends."""
    return brief(conversations=8, eval_every=1000, **trainer)


def train(run: RunFolder, limit: str = "", most: int = 0) -> subprocess.CompletedProcess[str]:
    """The run's own process to its end, with `limit`, as in RLIMIT_FSIZE, at `most`."""
    words = [*RUN, str(run.path), "--events", "jsonl"]
    if limit:
        words = [sys.executable, "-c", UNDER.format(f"r.{limit}", most, most), *words]
    unhurt = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}  # modules' caches would be cut too
    return subprocess.run(
        words, env=unhurt, capture_output=True, text=True, timeout=120, check=False
    )


def events(text: str) -> list[Mapping[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def acknowledged(text: str) -> int:
    """The last step that stdout speaks of."""
    return max((e["step"] for e in events(text) if e["event"] == "step"), default=0)


def whole_rows(path: Path) -> bytes:
    """metrics.jsonl of the quick run that nothing happened to."""
    run = make_run(path, quick())
    code, _, err = finish(run)
    assert code == 0, err
    return run.metrics.read_bytes()


def modes(root: Path) -> dict[str, str]:
    """Permissions of everything below `root`, octal, by relative path."""
    found = [Path(at) / name for at, folders, files in os.walk(root) for name in folders + files]
    return {str(p.relative_to(root)): oct(p.lstat().st_mode & 0o777)[2:] for p in found}


def on(
    machine: Sequence[str], *words: str, cwd: Path, **environment: str
) -> subprocess.CompletedProcess[str]:
    """`harness WORDS` there; skips where there can be no such machine."""
    if machine and not _can_be(tuple(machine)):
        pytest.skip(f"{machine[0]} needs rights that are not here")
    return subprocess.run(
        [*machine, *command(*words)],
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=180,
        check=False,
    )


@functools.cache
def _can_be(machine: tuple[str, ...]) -> bool:
    try:
        return subprocess.run([*machine, "true"], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def sentence(done: subprocess.CompletedProcess[str]) -> str:
    """The one line on stderr."""
    (line,) = done.stderr.splitlines()
    assert line.startswith("harness: ")
    return line
