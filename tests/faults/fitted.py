"""A fit by the command, and what it says of each run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from harness.testing.commands import harness, here


def fitted(*words: str, cwd: Path, real: bool = False) -> tuple[dict[str, Any], str]:
    """law.json as the command prints it, and what it said beside."""
    run = harness if real else here
    done = run("fit-entropy-law", *words, "--json", "--figures", "none", "--out", "law", cwd=cwd)
    assert done.returncode in (0, 3), done.stderr
    return json.loads(done.stdout), done.stderr


def the_run(found: dict[str, Any], name: str) -> dict[str, Any]:
    (one,) = [run for run in found["runs"] if Path(run["run"]).name == name]
    return dict(one)


def law_of(run: dict[str, Any]) -> dict[str, Any]:
    """A run but for its name and what was left out of it."""
    named = ("run", "dropped", "dropped_at", "checksums", "unfinished")
    return {key: value for key, value in run.items() if key not in named}
