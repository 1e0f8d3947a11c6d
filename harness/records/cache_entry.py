"""Folders in the user's cache: made once, whole, by one process, and checked before each use.

An entry appears by one rename, and two processes never make it at once. One that differs from its
manifest, or that another user could have written, is reported, set aside and made again.
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
    """Return `entry`, sound and with the files `needed`; where it is not, `make` has to `put` it.

    Raises StorageError if the cache cannot be written, and what `make` raises.
    """
    with atomic.storage(entry):
        entry.parent.mkdir(parents=True, exist_ok=True)
        if not is_sound(entry, needed):
            with FileLock(entry.with_suffix(".lock")):
                if not is_sound(entry, needed):
                    _set_aside_if_there(entry, needed)
                    make()
    return entry


def put(entry: Path, fill: Callable[[Path], None]) -> None:
    """Make `entry` of what `fill` writes into a folder. To be called by `make` of `ensure`."""

    def sealed(scratch: Path) -> None:
        fill(scratch)
        seal(scratch)

    place = entry.parent.resolve() / entry.name  # a cache may be a link of its user's
    atomic.clear(place.parent, place.name)  # the lock is ours: what a killed process left behind
    atomic.write_folder(place, sealed)


def is_sound(entry: Path, needed: Sequence[str]) -> bool:
    """Whether an entry is there and may be used."""
    return os.path.lexists(entry) and problem(entry, needed) is None


def problem(entry: Path, needed: Sequence[str]) -> str | None:
    """The fault of an entry, as FILE: RULE, GIVEN; None if it may be used."""
    try:
        foreign = _first_foreign([entry]) or _first_foreign(sorted(entry.rglob("*")))
        differs = None if foreign else manifest.problem(entry) or _not_described(entry, needed)
    except FileNotFoundError as error:  # another process has just set it aside
        return f"{error.filename}: must be there, and is gone"
    return f"{entry}: must be as its {manifest.NAME} says: {differs}" if differs else foreign


def seal(scratch: Path) -> None:
    """Make a future entry writable by its user alone, and write its manifest."""
    for path in [scratch, *scratch.rglob("*")]:
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~OTHERS_MAY_WRITE)
    manifest.write(scratch)


def set_aside(entry: Path) -> Path:
    """Move an unsound entry away; returns its new path. Raises OSError."""
    aside = entry.with_name(f".{entry.name}.{time.time_ns()}.aside")
    entry.rename(aside)  # of a link, the link
    return aside


def sum_of(entry: Path, names: Sequence[str]) -> str:
    """sha256, hex, over the manifest's lines of these files. Raises DataError."""
    files = manifest.read(entry)["files"]
    return manifest.digest_of({name: files[name] for name in names})


def _set_aside_if_there(entry: Path, needed: Sequence[str]) -> None:
    """Report what is wrong with an entry, and move it away."""
    if os.path.lexists(entry):
        flaw = problem(entry, needed)
        aside = set_aside(entry)
        safe_text.say(f"{flaw}; it is built again, and what was there is now {aside.name}")


def _not_described(entry: Path, needed: Sequence[str]) -> str | None:
    """The first of `needed` that the manifest lacks, as a sentence; None if it has all."""
    described = manifest.read(entry)["files"]
    missing = [name for name in needed if name not in described]
    return f"{missing[0]} is not in its manifest" if missing else None


def _first_foreign(paths: Iterable[Path]) -> str | None:
    """The fault of the first path that another user could write, as a sentence; None if none."""
    for path in paths:
        info = path.lstat()
        rule = f"{path}: must be your own, and writable by nobody else"
        if not (stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode)):
            return f"{rule}, got a link or what is no file"
        if info.st_uid != os.geteuid():
            return f"{rule}, got one of user {info.st_uid}"
        if info.st_mode & OTHERS_MAY_WRITE:
            return f"{rule}, got mode {stat.S_IMODE(info.st_mode):o}"
    return None
