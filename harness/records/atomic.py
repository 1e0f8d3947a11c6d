"""Atomic writes: files appear whole or not at all, and links are never followed.

Someone who shares a folder could place links in it while harness writes. So the folder is opened
once, without following a link. New files get a random name, are created exclusively, and are then
renamed into place within the opened folder. I/O errors name the path.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import secrets
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from harness.errors import DataError, StorageError

Buffer = bytes | memoryview
TAIL = r"\.(\d+|[0-9a-f]{16})\.tmp"
"""End of a temporary file's name, after a dot and the final name. Earlier versions used a decimal
number in place of the 16 hex digits."""
TEMPORARY = re.compile(rf"\..+{TAIL}")
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
COPIED_BYTES = 2**22
"""Block size of `copy`."""
APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK


@contextlib.contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Turn an OSError into a StorageError that names `path`."""
    try:
        yield
    except OSError as error:
        why = error.strerror or f"{error}; is the disk full?"  # numpy and pyarrow give no strerror
        raise StorageError(f"{path}: {why}") from error


def write_text(path: Path, text: str, *, durable: bool = True) -> None:
    """Replace `path` by `text`, as UTF-8, as `write_bytes` does. Raises StorageError."""
    write_bytes(path, text.encode("utf-8"), durable=durable)


def write_bytes(path: Path, data: Buffer, *, durable: bool = True, mode: int = 0o666) -> None:
    """Replace `path` by `data` in one rename: a crash leaves the old file or the new one.

    If `path` is a link, the link itself is replaced. `durable`: fsync before returning. `mode`:
    permissions, reduced by the umask. Raises StorageError, also if the folder is a link.
    """
    with storage_errors(path), open_folder(path.parent) as folder:
        scratch = _random_name(path.name)
        try:
            _write_new(scratch, data, folder, durable, mode)
            os.replace(scratch, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(scratch, dir_fd=folder)
            raise
        if durable:
            os.fsync(folder)


def write_json(path: Path, value: Any, *, durable: bool = True) -> None:
    """Replace `path` by `value` as indented JSON. Raises ValueError on NaN and infinity."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n", durable=durable)


def write_folder(
    target: Path, fill: Callable[[Path], object], *, over_another: bool = True
) -> None:
    """Let `fill` write a new folder, then rename it to `target` durably.

    Removes the new folder if that fails, except on KeyboardInterrupt. `over_another`: remove an
    existing `target` first; without it, a `target` that is not empty raises OSError. Raises
    OSError, and what `fill` raises.
    """
    with open_folder(target.parent) as folder:
        scratch = _random_name(target.name)
        os.mkdir(scratch, dir_fd=folder)
        ours = os.stat(scratch, dir_fd=folder, follow_symlinks=False)
        try:
            fill(target.with_name(scratch))
            if not os.path.samestat(ours, os.stat(scratch, dir_fd=folder, follow_symlinks=False)):
                raise OSError(errno.EEXIST, f"another folder has taken the place of {scratch}")
            if over_another:
                remove_at(target.name, folder)
            os.rename(scratch, target.name, src_dir_fd=folder, dst_dir_fd=folder)
        except Exception:
            with contextlib.suppress(OSError):  # free its space if the disk is full
                remove_at(scratch, folder)
            raise
        os.fsync(folder)


def copy(source: BinaryIO, target: Path) -> str:
    """Write the rest of `source` durably into the new file `target` and return its sha256, hex.

    Raises OSError, also if `target` exists or its folder is a link.
    """
    digest = hashlib.sha256()
    with open_folder(target.parent) as folder:
        descriptor = os.open(target.name, NEW, 0o666, dir_fd=folder)
        try:
            while block := source.read(COPIED_BYTES):
                digest.update(block)
                write_all(descriptor, block)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    return digest.hexdigest()


@contextlib.contextmanager
def pinned(folder: Path) -> Iterator[Path]:
    """Yield a path to `folder` for a library that opens files by name.

    The path leads to this folder even if someone replaces it by a link meanwhile. Without /proc,
    yields `folder` itself. Raises OSError, also if `folder` is a link.
    """
    with open_folder(folder) as descriptor:
        path = Path(f"/proc/self/fd/{descriptor}")
        yield path if path.is_dir() else folder


def open_to_append(path: Path, mode: int = 0o666) -> int:
    """Open `path` for appending, creating it if needed, and return its descriptor.

    Raises OSError, also if the file or its folder is a link, and DataError if it is a pipe or a
    device, so that nobody else can choose where the data goes.
    """
    with open_folder(path.parent) as folder:
        descriptor = os.open(path.name, APPEND, mode, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise DataError(f"{path}: must be a regular file, but is not")
    return descriptor


def write_all(descriptor: int, data: Buffer) -> None:
    """Write all of `data`. A single os.write may write less, for instance on a full disk."""
    remaining = memoryview(data)
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]


def sync_folder(folder: Path) -> None:
    """Make the entries of `folder` durable, as fsync of a file does for its contents."""
    with open_folder(folder) as descriptor:
        os.fsync(descriptor)


def probe(folder: Path) -> None:
    """Raise OSError if no file can be created in `folder`, which may be a link."""
    with open_folder(folder.resolve()) as descriptor:
        scratch = _random_name("probe")
        _write_new(scratch, b"", descriptor, durable=False)
        os.unlink(scratch, dir_fd=descriptor)


def remove(path: Path) -> None:
    """Remove a file, a folder with its contents, or a link, but never the link's target.

    Does nothing if `path` does not exist. Raises OSError.
    """
    with contextlib.suppress(FileNotFoundError), open_folder(path.parent) as folder:
        remove_at(path.name, folder)


def clear(folder: Path, prefix: str = "") -> int:
    """Remove temporary files and folders left in `folder` by killed writes, and return how many.

    Restricted to final names that begin with `prefix`. Only the folder's only writer may call this.
    """
    count = 0
    with contextlib.suppress(OSError), open_folder(folder) as descriptor:
        for name in os.listdir(descriptor):  # noqa: PTH208
            if TEMPORARY.fullmatch(name) and name.startswith(f".{prefix}"):
                with contextlib.suppress(OSError):
                    remove_at(name, descriptor)
                    count += 1
    return count


@contextlib.contextmanager
def open_folder(folder: Path) -> Iterator[int]:
    """Yield a descriptor of `folder`. Raises OSError, with its own message for a link."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        if not folder.is_symlink():
            raise
        rule = f"{folder} must be a folder, got a link to {folder.readlink()}"
        raise OSError(errno.ELOOP, rule) from error
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _random_name(name: str) -> str:
    """Return an unpredictable name, so that nobody can have placed a link there."""
    return f".{name}.{secrets.token_hex(8)}.tmp"


def _write_new(name: str, data: Buffer, folder: int, durable: bool, mode: int = 0o666) -> None:
    descriptor = os.open(name, NEW, mode, dir_fd=folder)
    try:
        write_all(descriptor, data)
        if durable:
            os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_at(name: str, folder: int) -> None:
    """Remove the file or folder `name` from the open folder; do nothing if it does not exist.

    rmtree refuses a link, and working by descriptor prevents a link from being put in its way.
    """
    try:
        is_folder = stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return
    if is_folder:
        shutil.rmtree(name, dir_fd=folder)
    else:
        os.unlink(name, dir_fd=folder)
