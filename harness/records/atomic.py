"""Files that appear whole or not at all, and I/O errors that say where they happened."""

from __future__ import annotations

import contextlib
import json
import os
import threading
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
        why = error.strerror or f"{error}; is the disk full?"  # as numpy and pyarrow leave it open
        raise StorageError(f"{path}: {why}") from error


def write_text(path: Path, text: str) -> None:
    """Replace `path` by `text`, as UTF-8, in one rename."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, data: bytes) -> None:
    """Replace `path` by `data` in one rename; a crash leaves the old file or the new one."""
    scratch = path.with_name(f".{path.name}.{threading.get_native_id()}.tmp")
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


def open_to_append(path: Path) -> int:
    """Descriptor of `path`, made if need be. Raises OSError, also where it is a link or a pipe
    that nobody reads: a folder from somebody else must not say where we write.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
    return os.open(path, flags, 0o666)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte: one call may write fewer, as it does where the disk fills up."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable, not only the bytes behind them."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
