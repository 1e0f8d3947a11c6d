"""An entry of the cache of start models: put there whole, and found sound before each use.

An entry without a manifest is rot like any other: its name is a hash of the code that writes the
manifest too, so that no older version can have made it.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable
from pathlib import Path

from harness.records import manifest

LOADED = ("model.safetensors", "tokenizer.json")
"""What the frozen judge's numbers hang on; the rest tells of sizes, versions and measurements."""
OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def problem(entry: Path) -> str | None:
    """What is wrong with it, as FILE: RULE, GIVEN; None where it may be used."""
    try:
        foreign = _first_foreign([entry]) or _first_foreign(sorted(entry.rglob("*")))
        differs = None if foreign else manifest.problem(entry) or _not_described(entry)
    except FileNotFoundError as error:  # another process has just set it aside
        return f"{error.filename}: must be there, and is gone"
    return f"{entry}: must be as its {manifest.NAME} says: {differs}" if differs else foreign


def _not_described(entry: Path) -> str | None:
    """A manifest that names none of what is loaded vouches for nothing."""
    described = manifest.read(entry)["files"]
    missing = [name for name in LOADED if name not in described]
    return f"{missing[0]} is not in its manifest" if missing else None


def seal(scratch: Path) -> None:
    """Make what will be an entry its user's alone to write, and write its manifest."""
    for path in [scratch, *scratch.rglob("*")]:
        path.chmod(stat.S_IMODE(path.stat().st_mode) & ~OTHERS_MAY_WRITE)
    manifest.write(scratch)


def set_aside(entry: Path) -> Path:
    """Move away what is no sound entry; where to. Raises OSError."""
    aside = entry.with_name(f".{entry.name}.{time.time_ns()}.aside")
    entry.rename(aside)  # of a link, the link
    return aside


def sum_of(entry: Path) -> str:
    """sha256, hex, over the manifest's lines of what is loaded. Raises DataError."""
    files = manifest.read(entry)["files"]
    return manifest.digest_of({name: files[name] for name in LOADED})


def _first_foreign(paths: Iterable[Path]) -> str | None:
    """The first that somebody else could have written, or could change under our eyes."""
    for path in paths:
        found = path.lstat()
        rule = f"{path}: must be your own, and writable by nobody else"
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)):
            return f"{rule}, got a link or what is no file"
        if found.st_uid != os.geteuid():
            return f"{rule}, got one of user {found.st_uid}"
        if found.st_mode & OTHERS_MAY_WRITE:
            return f"{rule}, got mode {stat.S_IMODE(found.st_mode):o}"
    return None
