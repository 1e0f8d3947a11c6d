"""Files that appear whole or not at all, and I/O errors that say where they happened."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import StorageError


@contextlib.contextmanager
def storage(path: Path) -> Iterator[None]:
    """Turn an OSError into a StorageError that names `path`."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{path}: {error.strerror or error}") from error


def write_text(path: Path, text: str) -> None:
    """Replace `path` by `text`, as UTF-8, in one rename."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, data: bytes) -> None:
    """Replace `path` by `data` in one rename; a crash leaves the old file or the new one."""
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with storage(path):
        try:
            with scratch.open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            scratch.replace(path)
        finally:
            scratch.unlink(missing_ok=True)
        sync_folder(path.parent)


def write_json(path: Path, value: Any) -> None:
    """Replace `path` by `value` as indented JSON. Raises ValueError on NaN: missing is null."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n")


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable, not only the bytes behind them."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
