"""checkpoints/step-NNNNN/: folders that appear complete, in one rename, or not at all.

manifest.json, written last, holds the size and sha256 of every file and the identity of the run.
Loading takes the newest checkpoint whose manifest verifies, and refuses one of another run. The two
newest are kept, since the last may be damaged, and every trainer.keep_every-th step.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import reprlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

from harness.errors import DataError
from harness.records import atomic, manifest, provenance
from harness.records.metric_rows import RowSums
from harness.records.provenance import RunIdentity

KEEP = 2
MODEL = "trainer"
"""Folder in a language model's checkpoint with its weights and tokenizer, as saved by the
libraries. A tabular checkpoint has none."""
CRITIC, KEPT = "critic.npz", "kept.npz"
ALGORITHM_FILES = {CRITIC: "critic", KEPT: "kept conversations"}
"""Files with what an algorithm learns besides the policy -> description of their contents."""


@dataclass(frozen=True)
class Checkpoint:
    """A verified checkpoint: the state after step `step`."""

    step: int
    path: Path
    identity: RunIdentity | None = None
    """The run that saved it; None if an older version saved it without an identity."""


def publish(
    root: Path,
    step: int,
    fill: Callable[[Path], object],
    identity: RunIdentity | None = None,
    rows: RowSums | None = None,
    keep_every: int = 0,
) -> Checkpoint:
    """Let `fill` write a scratch folder, then rename it to `root/step-NNNNN` durably.

    `identity`: of the run. `rows`: fingerprint of the metrics rows up to `step`. Older checkpoints
    are removed, except the KEEP newest and those of steps that are multiples of `keep_every`.
    """
    target = root / f"step-{step:05d}"
    with atomic.storage_errors(target):
        root.mkdir(exist_ok=True)  # without parents: a removed run folder is not created again
        atomic.write_folder(target, lambda scratch: _write(scratch, step, fill, identity, rows))
        _prune(root, step, keep_every)
    return Checkpoint(step, target, identity)


def newest(root: Path, identity: RunIdentity | None = None) -> tuple[Checkpoint | None, list[str]]:
    """Return the newest checkpoint that verifies, and why newer ones were passed over.

    Raises DataError if it belongs to another run than `identity`: both loading it and silently
    skipping it would mix two runs.
    """
    problems: list[str] = []
    with atomic.storage_errors(root):
        for path in reversed(all_in(root)):
            problem = manifest.problem(path)
            if problem is None:
                checkpoint = Checkpoint(step_of(path), path, identity_of(path))
                refuse_another(checkpoint, identity)
                return checkpoint, problems
            problems.append(f"{path}: {problem}")
    return None, problems


def identity_of(path: Path) -> RunIdentity | None:
    """Return the run that the manifest in `path` names; None if it names none.

    Raises DataError if the entry is malformed.
    """
    recorded = manifest.read(path).get("identity")
    identity = provenance.from_json(recorded)
    if recorded is not None and identity is None:
        rule = "identity must be the hash, seed, start model, versions and git of a run"
        raise DataError(f"{path / manifest.NAME}: {rule}, got {reprlib.repr(recorded)}")
    return identity


def refuse_another(checkpoint: Checkpoint, identity: RunIdentity | None) -> None:
    """Raise DataError if the manifest names another step than the folder, or another run."""
    rule, difference = "of the step that its name says", None
    step = manifest.read(checkpoint.path).get("step")
    if step != checkpoint.step:
        difference = f"step {reprlib.repr(step)}"
    elif identity is not None and checkpoint.identity is not None:
        rule, difference = (
            "of the run that it lies in",
            provenance.conflict(checkpoint.identity, identity),
        )
    if difference:
        raise DataError(
            f"{checkpoint.path / manifest.NAME}: a checkpoint must be {rule}, got one of "
            f"{difference}; move {checkpoint.path.name} away to go on from what is the run's own"
        )


def refuse_other_rows(path: Path, metrics: Path, rows: RowSums | None) -> None:
    """Raise DataError if the rows of `metrics` up to the checkpoint in `path` are not the rows
    that it was saved after. Such rows may be valid one by one, but belong to another run.
    """
    saved = manifest.read(path).get("rows")
    if saved is None or rows is None or saved == asdict(rows):
        return
    raise DataError(
        f"{metrics}: rows 1 to {step_of(path)} must be those that {path.name} was saved after "
        f"(sum {reprlib.repr(saved)}), got rows with sum {asdict(rows)}, perhaps of another run; "
        f"restore the run's own {metrics.name}"
    )


def clear(root: Path) -> int:
    """Remove the leftovers of killed saves and return how many. Only the run's holder may do so."""
    return atomic.clear(root, "step-")


def _write(
    scratch: Path,
    step: int,
    fill: Callable[[Path], object],
    identity: RunIdentity | None,
    rows: RowSums | None,
) -> None:
    fill(scratch)
    identity_json = identity.to_json() if identity else None
    manifest.write(scratch, step=step, identity=identity_json, rows=asdict(rows) if rows else None)


def all_in(root: Path) -> list[Path]:
    """Return the checkpoint folders, oldest first, without verifying them."""
    if not root.is_dir():
        return []
    folders = (p for p in root.iterdir() if re.fullmatch(r"step-\d{5,18}", p.name))
    return sorted((p for p in folders if p.is_dir() and not p.is_symlink()), key=step_of)


def step_of(path: Path) -> int:
    return int(path.name.removeprefix("step-"))


def _prune(root: Path, step: int, keep_every: int) -> None:
    """Remove all but `step`, the KEEP - 1 before it and the multiples of `keep_every`.

    Later checkpoints are removed too: they were passed over as damaged.
    """
    folders = all_in(root)
    up_to_step = [p for p in folders if step_of(p) <= step]
    kept = up_to_step[-KEEP:] + [
        p for p in up_to_step if keep_every and step_of(p) % keep_every == 0
    ]
    for path in set(folders) - set(kept):
        with contextlib.suppress(OSError):
            atomic.remove(path)
    clear(root)


def sum_of(checkpoint: Checkpoint) -> str:
    """Return the sha256 of the manifest, which contains those of all files. Raises StorageError."""
    with atomic.storage_errors(checkpoint.path):
        return hashlib.sha256((checkpoint.path / manifest.NAME).read_bytes()).hexdigest()
