"""manifest.json: size and sha256 of every file of a folder, to detect damage."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from harness.errors import DataError
from harness.records import atomic, plain_file

NAME = "manifest.json"
KEYS = ("step", "identity", "rows", "files")
"""Keys of a checkpoint's manifest."""
Files = dict[str, dict[str, int | str]]
"""Path in the folder -> size and sha256."""


def write(folder: Path, **more: Any) -> None:
    """Make the contents of `folder` durable, then write its manifest with the extra keys `more`."""
    files = _describe(folder, durable=True)
    for inner in (path for path in folder.rglob("*") if path.is_dir()):
        atomic.sync_folder(inner)
    atomic.write_json(folder / NAME, {**more, "files": files})


def read(folder: Path) -> dict[str, Any]:
    """Read the manifest of `folder`. Raises DataError if it cannot be read."""
    try:
        values = json.loads(plain_file.text(folder / NAME))
        files = values["files"]
    except (DataError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise DataError(f"no readable {NAME} ({type(error).__name__})") from error
    if not isinstance(files, dict):
        raise DataError(f"no readable {NAME} (files must be a mapping)")
    return dict(values)


def problem(folder: Path) -> str | None:
    """Describe how `folder` differs from its manifest; None if it does not."""
    try:
        recorded = read(folder)["files"]
    except DataError as error:
        return str(error)
    if any(path.is_symlink() for path in folder.rglob("*")):
        return "must not contain links, but does"
    changed = _changed_files(folder, recorded)
    return f"{changed[0]} differs from its manifest" if changed else None


def lacks_only(folder: Path, name: str) -> bool:
    """Whether `folder` differs from its manifest only in that the file `name` is missing."""
    try:
        recorded = read(folder)["files"]
    except DataError:
        return False
    if name not in recorded or os.path.lexists(folder / name):
        return False  # before reading the other files, which may be many gigabytes
    has_link = any(path.is_symlink() for path in folder.rglob("*"))
    return not has_link and _changed_files(folder, recorded) == [name]


def _changed_files(folder: Path, recorded: Mapping[str, Any]) -> list[str]:
    """Return the files that are missing, new or different from `recorded`, sorted."""
    current = {name: v for name, v in _describe(folder).items() if name != NAME}
    return sorted(n for n in {*recorded, *current} if recorded.get(n) != current.get(n))


def digest(folder: Path, names: Iterable[str]) -> str:
    """Return the sha256, hex, over names, sizes and hashes of these files of `folder`."""
    entries = {name: _entry(folder / name) for name in names}
    return digest_of(entries)


def digest_of(files: Mapping[str, Mapping[str, int | str]]) -> str:
    """`digest` from the manifest's entries of the files."""
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()


def _describe(folder: Path, durable: bool = False) -> Files:
    paths = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return {path.relative_to(folder).as_posix(): _entry(path, durable) for path in paths}


def _entry(path: Path, durable: bool = False) -> dict[str, int | str]:
    with open(path, "rb", opener=plain_file.opener) as file:
        if durable:
            os.fsync(file.fileno())
        digest_hex = hashlib.file_digest(file, "sha256").hexdigest()
        return {"size": file.tell(), "sha256": digest_hex}
