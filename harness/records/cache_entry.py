"""Entries of the user's cache: folders built once, by one process, and checked before each use.

An entry appears in one rename, and a file lock keeps two processes from building it at once. An
entry that differs from its manifest, or that another user could have written, is reported, set
aside and built again.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from filelock import FileLock

from harness.records import atomic, manifest
from harness.utils import safe_text

OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def ensure(entry: Path, needed: Sequence[str], make: Callable[[], None]) -> Path:
    """Return `entry`, checked and with the files `needed`. If it is not, `make` must `put` it.

    Raises StorageError if the cache cannot be written, and what `make` raises.
    """
    with atomic.storage_errors(entry):
        entry.parent.mkdir(parents=True, exist_ok=True)
        if not is_sound(entry, needed):
            with FileLock(entry.with_suffix(".lock")):
                if not is_sound(entry, needed):
                    _set_aside_if_there(entry, needed)
                    make()
    return entry


def put(entry: Path, fill: Callable[[Path], None]) -> None:
    """Create `entry` from what `fill` writes into a folder. Called by the `make` of `ensure`."""

    def sealed(scratch: Path) -> None:
        fill(scratch)
        seal(scratch)

    target = entry.parent.resolve() / entry.name  # the user's cache may itself be a link
    atomic.clear(target.parent, target.name)  # safe: `ensure` holds the entry's lock
    atomic.write_folder(target, sealed)


def is_sound(entry: Path, needed: Sequence[str]) -> bool:
    """Whether an entry exists and may be used."""
    return os.path.lexists(entry) and problem(entry, needed) is None


def problem(entry: Path, needed: Sequence[str]) -> str | None:
    """Describe what is wrong with an entry, as FILE: RULE, GIVEN; None if it may be used."""
    try:
        ownership_problem = _first_foreign([entry]) or _first_foreign(sorted(entry.rglob("*")))
        manifest_problem = (
            None if ownership_problem else manifest.problem(entry) or _not_described(entry, needed)
        )
    except FileNotFoundError as error:  # another process has just set it aside
        return f"{error.filename}: must exist, but is gone"
    return (
        f"{entry}: must be as its {manifest.NAME} says: {manifest_problem}"
        if manifest_problem
        else ownership_problem
    )


def seal(scratch: Path) -> None:
    """Make a future entry writable only by its user, and write its manifest."""
    for path in [scratch, *scratch.rglob("*")]:
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~OTHERS_MAY_WRITE)
    manifest.write(scratch)


def set_aside(entry: Path) -> Path:
    """Rename a rejected entry and return its new path. Raises OSError."""
    aside = entry.with_name(f".{entry.name}.{time.time_ns()}.aside")
    entry.rename(aside)  # a link itself is renamed, not its target
    return aside


def sum_of(entry: Path, names: Sequence[str]) -> str:
    """Return the sha256, hex, of the manifest's entries for these files. Raises DataError."""
    files = manifest.read(entry)["files"]
    return manifest.digest_of({name: files[name] for name in names})


def _set_aside_if_there(entry: Path, needed: Sequence[str]) -> None:
    """Report what is wrong with an existing entry, and set it aside."""
    if os.path.lexists(entry):
        problem_found = problem(entry, needed)
        aside = set_aside(entry)
        safe_text.say(
            f"{problem_found}; it is built again, and the old entry was renamed to {aside.name}"
        )


def _not_described(entry: Path, needed: Sequence[str]) -> str | None:
    """Describe the first of `needed` that the manifest lacks; None if it has all."""
    recorded = manifest.read(entry)["files"]
    missing = [name for name in needed if name not in recorded]
    return f"{missing[0]} is not in its manifest" if missing else None


def _first_foreign(paths: Iterable[Path]) -> str | None:
    """Describe the first path that another user could write; None if there is none."""
    for path in paths:
        info = path.lstat()
        rule = f"{path}: must be owned by you and not writable by others"
        if not (stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode)):
            return f"{rule}, got a link or a special file"
        if info.st_uid != os.geteuid():
            return f"{rule}, got one of user {info.st_uid}"
        if info.st_mode & OTHERS_MAY_WRITE:
            return f"{rule}, got mode {stat.S_IMODE(info.st_mode):o}"
    return None
