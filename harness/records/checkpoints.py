"""checkpoints/step-NNNNN/: a folder that appears whole, by one rename, or not at all.

manifest.json, written last, holds size and sha256 of every file; loading takes the newest
checkpoint whose manifest verifies. At least two are kept, since the newest may be damaged.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.errors import DataError
from harness.records import atomic, plain_file

KEEP = 2
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Checkpoint:
    """A verified checkpoint: the state after step `step`."""

    step: int
    path: Path


def publish(root: Path, step: int, fill: Callable[[Path], None]) -> Checkpoint:
    """Let `fill` write a scratch folder, then make it `root/step-NNNNN` durably and at once."""
    target = root / f"step-{step:05d}"
    with atomic.storage(target):
        root.mkdir(exist_ok=True)  # but not the run's folder, should that have been removed
        atomic.write_folder(target, lambda scratch: _write(scratch, step, fill))
        _prune(root, step)
    return Checkpoint(step, target)


def newest(root: Path) -> tuple[Checkpoint | None, list[str]]:
    """The newest checkpoint that verifies, and why newer ones were passed over."""
    problems: list[str] = []
    with atomic.storage(root):
        for path in reversed(_all(root)):
            problem = _problem(path)
            if problem is None:
                return Checkpoint(_step(path), path), problems
            problems.append(f"{path}: {problem}")
    return None, problems


def clear(root: Path) -> int:
    """Remove what killed saves have left; how many there were. Only its holder may, of a run."""
    return atomic.clear(root, "step-")


def _write(scratch: Path, step: int, fill: Callable[[Path], None]) -> None:
    fill(scratch)
    described = _describe(scratch)
    for folder in (path for path in scratch.rglob("*") if path.is_dir()):
        atomic.sync_folder(folder)
    atomic.write_json(scratch / MANIFEST, {"step": step, "files": described})


def _all(root: Path) -> list[Path]:
    if not root.is_dir():
        return []
    found = (p for p in root.iterdir() if re.fullmatch(r"step-\d{5,18}", p.name))
    return sorted((p for p in found if p.is_dir() and not p.is_symlink()), key=_step)


def _step(path: Path) -> int:
    return int(path.name.removeprefix("step-"))


def _describe(folder: Path) -> dict[str, dict[str, int | str]]:
    files: dict[str, dict[str, int | str]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            with path.open("rb") as file:
                os.fsync(file.fileno())
                digest = hashlib.file_digest(file, "sha256").hexdigest()
                size = file.tell()
            files[path.relative_to(folder).as_posix()] = {"size": size, "sha256": digest}
    return files


def _problem(folder: Path) -> str | None:
    try:
        wanted = json.loads(plain_file.text(folder / MANIFEST))["files"]
        names = set(wanted)
    except (DataError, ValueError, KeyError, TypeError, RecursionError) as error:
        return f"no readable {MANIFEST} ({type(error).__name__})"
    if any(path.is_symlink() for path in folder.rglob("*")):
        return "must hold no link, and does"
    found = {name: v for name, v in _describe(folder).items() if name != MANIFEST}
    if found == wanted:
        return None
    if not isinstance(wanted, dict):
        return f"no readable {MANIFEST} (files must be a mapping)"
    changed = sorted(n for n in names | found.keys() if wanted.get(n) != found.get(n))
    return f"{changed[0]} differs from its manifest"


def _prune(root: Path, step: int) -> None:
    """Keep `step` and the newest before it; what is later was passed over as damaged."""
    found = _all(root)
    kept = [p for p in found if _step(p) <= step][-KEEP:]
    for path in set(found) - set(kept):
        with contextlib.suppress(OSError):
            atomic.remove(path)
    clear(root)
