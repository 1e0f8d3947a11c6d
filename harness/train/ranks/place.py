"""The file in a run's folder by which its nodes find rank 0, without an import of torch."""

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
class RankAddress:
    """The address where rank 0 listens, or the fact that it has ended."""

    step: str
    """The Slurm step that this belongs to; see SlurmStep.name."""
    host: str = ""
    port: int = 0
    key: str = ""
    """The shared secret for authentication."""
    ended: str = ""
    """How the first node's process ended; empty while it lives."""


def place_file(run: Path) -> Path:
    """Return the path of the file with the address of a run's rank 0."""
    return run / ".scratch" / "nodes.json"


def write(run: Path, address: RankAddress) -> None:
    """Write `address`, readable by the owner only. Raises StorageError."""
    file = place_file(run)
    with atomic.storage_errors(file):
        file.parent.mkdir(mode=0o700, exist_ok=True)
        atomic.write_bytes(file, json.dumps(asdict(address)).encode(), mode=0o600)


def read(run: Path) -> RankAddress | None:
    """Return the file's content; None if there is none or it is from another version."""
    with contextlib.suppress(FileNotFoundError, ValueError, TypeError):
        return RankAddress(**json.loads(place_file(run).read_text()))
    return None


def tell_ended(run: RunFolder, ending: str) -> None:
    """Tell nodes that have not found rank 0 yet that its process has ended.

    Does nothing for a run on one node, and if the config cannot be read or the file not be written.
    """
    with contextlib.suppress(HarnessError):
        nodes = run_folder.read_config(run).trainer.nodes
        if nodes > 1:
            write(run.path, RankAddress(slurm_step.read(nodes).name, ended=ending))
