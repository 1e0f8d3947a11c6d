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
        run_identity = identity.read(run.folder)
        config = (
            None
            if run_identity.full_config is None
            else groups.flatten_config(dict(run_identity.full_config))
        )
        why = (
            run.problem.message.removeprefix(f"{run.run}: ")
            if run.problem and not run_identity.has_record
            else _reason_unusable(run_identity)
        )
        if (
            why is None
            and run.folder is not None
            and config is not None
            and run_identity.seed is not None
        ):
            usable.append(Candidate(run.folder, config, run_identity.seed))
        else:
            why = why or "not a run folder"
            others.append(
                UnusableRun(
                    run.run, why, config, run_identity.is_ours, run_identity.status == FAILED
                )
            )
    return usable, others


def _reason_unusable(run_identity: FolderIdentity) -> str | None:
    """Return why a run cannot be used; None for a finished run with a config and a seed."""
    if run_identity.unreadable is not None:
        return run_identity.unreadable
    if run_identity.status is None:
        return "its run.json is missing or cannot be read"
    if run_identity.config is None:
        return "its config.yaml is missing or cannot be read"
    if run_identity.seed is None:
        return "its config.yaml has no seed"
    if run_identity.status == "done":
        return None
    status_text = (
        f"{run_identity.status} at step {run_identity.last_step}"
        if run_identity.last_step
        else f"{run_identity.status}, no step"
    )
    return f"{status_text}: {run_identity.reason}" if run_identity.reason else status_text
