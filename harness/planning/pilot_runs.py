"""Find the runs at or below a path that a plan can use, and the reasons for the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.law.compare import groups
from harness.law.io import discover, identity
from harness.law.io.identity import FolderIdentity

FAILED = "failed"


@dataclass(frozen=True)
class Candidate:
    """A finished run of harness with its settings."""

    folder: Path
    config: Mapping[str, Any]
    """Dotted key -> value, without the seed."""
    seed: int


@dataclass(frozen=True)
class UnusableRun:
    """A run that a plan cannot use."""

    run: str
    why: str
    config: Mapping[str, Any] | None
    """Dotted key -> value, without the seed; None if it cannot be read."""
    ours: bool = True
    failed: bool = False


def find_runs(path: Path) -> tuple[list[Candidate], list[UnusableRun]]:
    """Return the finished runs at or below `path`, and the other runs with reasons."""
    usable, others = [], []
    for run in discover.discover([path]).runs:
        who = identity.read(run.folder)
        config = None if who.full_config is None else groups.flatten_config(dict(who.full_config))
        why = (
            run.problem.message.removeprefix(f"{run.run}: ")
            if run.problem and not who.has_record
            else _why_not(who)
        )
        if why is None and run.folder is not None and config is not None and who.seed is not None:
            usable.append(Candidate(run.folder, config, who.seed))
        else:
            why = why or "not a run folder"
            others.append(UnusableRun(run.run, why, config, who.is_ours, who.status == FAILED))
    return usable, others


def _why_not(who: FolderIdentity) -> str | None:
    """Return why a run cannot be used; None for a finished run with a config and a seed."""
    if who.unreadable is not None:
        return who.unreadable
    if who.status is None:
        return "its run.json is missing or cannot be read"
    if who.config is None:
        return "its config.yaml is missing or cannot be read"
    if who.seed is None:
        return "its config.yaml has no seed"
    if who.status == "done":
        return None
    reached = f"{who.status} at step {who.last_step}" if who.last_step else f"{who.status}, no step"
    return f"{reached}: {who.reason}" if who.reason else reached
