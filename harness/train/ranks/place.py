"""The file in a run's folder by which its nodes find the first; no torch is imported here."""

from __future__ import annotations

import contextlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.errors import HarnessError
from harness.records import atomic, run_folder
from harness.records.run_folder import RunFolder
from harness.utils import slurm_step


@dataclass(frozen=True)
class Place:
    """Where rank 0 listens, or that it never will."""

    step: str
    """The start of the step that it is for; see SlurmStep.name."""
    host: str = ""
    port: int = 0
    key: str = ""
    """What both ends prove that they know."""
    ended: str = ""
    """How the first node's process ended; empty while it lives."""


def place_file(run: Path) -> Path:
    """The file that says where rank 0 of a run listens."""
    return run / ".scratch" / "nodes.json"


def write(run: Path, place: Place) -> None:
    """Raises StorageError."""
    file = place_file(run)
    with atomic.storage(file):
        file.parent.mkdir(mode=0o700, exist_ok=True)
        atomic.write_bytes(file, json.dumps(asdict(place)).encode(), mode=0o600)


def read(run: Path) -> Place | None:
    """What the file says; None where there is none, or it is another version's."""
    with contextlib.suppress(FileNotFoundError, ValueError, TypeError):
        return Place(**json.loads(place_file(run).read_text()))
    return None


def tell_ended(run: RunFolder, how: str) -> None:
    """Tell nodes that have not found the first one yet that its process ended.

    Does nothing for a run on one node, one that cannot be read, and a folder that is full.
    """
    with contextlib.suppress(HarnessError):
        nodes = run_folder.read_config(run).trainer.nodes
        if nodes > 1:
            write(run.path, Place(slurm_step.read(nodes).name, ended=how))
