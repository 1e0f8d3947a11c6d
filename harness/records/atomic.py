"""Every write of harness: files that appear whole or not at all, and never behind a link.

Who shares a folder may put links into it while we write. So a folder of ours is opened once, as
itself; what is new in it has a random name, is made by us or not at all, and takes its place by a
rename within the opened folder. I/O errors say where they happened.
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
"""End of a temporary file's name, after a dot and the name of what it is to become; the
number stood there in names of earlier versions."""
TEMPORARY = re.compile(rf"\..+{TAIL}")
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
COPIED_BYTES = 2**22
"""Read at a time by `copy`."""
APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK


@contextlib.contextmanager
def storage(path: Path) -> Iterator[None]:
    """Turn an OSError into a StorageError that names `path`."""
    try:
        yield
    except OSError as error:
        why = error.strerror or f"{error}; is the disk full?"  # as numpy and pyarrow leave it open
        raise StorageError(f"{path}: {why}") from error


def write_text(path: Path, text: str, *, durable: bool = True) -> None:
    """Replace `path` by `text`, as UTF-8, in one rename. Raises StorageError."""
    write_bytes(path, text.encode("utf-8"), durable=durable)


def write_bytes(path: Path, data: Buffer, *, durable: bool = True, mode: int = 0o666) -> None:
    """Replace `path`, a link too, by `data` in one rename; a crash leaves the old file or the new.

    `durable`: on disk when this returns; `mode`: who may read it, cut by the umask. Raises
    StorageError, also where the folder is a link.
    """
    with storage(path), opened(path.parent) as folder:
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
    """Replace `path` by `value` as indented JSON. Raises ValueError on NaN: missing is null."""
    write_text(path, json.dumps(value, indent=1, allow_nan=False) + "\n", durable=durable)


def write_folder(
    target: Path, fill: Callable[[Path], object], *, over_another: bool = True
) -> None:
    """Let `fill` write a new folder, then put it durably in the place of `target`, at once.

    What `fill` has left is removed where it fails. Raises OSError, and what `fill` raises; without
    `over_another`, OSError also where `target` has come to hold something meanwhile.
    """
    with opened(target.parent) as folder:
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
            with contextlib.suppress(OSError):  # on a full disk it stands in the way
                remove_at(scratch, folder)
            raise
        os.fsync(folder)


def copy(source: BinaryIO, target: Path) -> str:
    """Write what is left of `source` durably into the new file `target`; its sha256, hex.

    Raises OSError, also where `target` is there already or its folder is a link.
    """
    summed = hashlib.sha256()
    with opened(target.parent) as folder:
        descriptor = os.open(target.name, NEW, 0o666, dir_fd=folder)
        try:
            while block := source.read(COPIED_BYTES):
                summed.update(block)
                write_all(descriptor, block)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    return summed.hexdigest()


@contextlib.contextmanager
def pinned(folder: Path) -> Iterator[Path]:
    """A path to `folder` for a library that opens files by their names: it stays that folder's
    where somebody exchanges it for a link meanwhile. `folder` itself where there is no /proc.

    Raises OSError, also where it is a link.
    """
    with opened(folder) as descriptor:
        path = Path(f"/proc/self/fd/{descriptor}")
        yield path if path.is_dir() else folder


def open_to_append(path: Path, mode: int = 0o666) -> int:
    """Descriptor of `path`, made if need be. Raises OSError, also where it or its folder is a link,
    DataError where it is a pipe or a device: others must not say where we write.
    """
    with opened(path.parent) as folder:
        descriptor = os.open(path.name, APPEND, mode, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise DataError(f"{path}: must be a regular file, and is not")
    return descriptor


def write_all(descriptor: int, data: Buffer) -> None:
    """Write every byte: one call may write fewer, as it does where the disk fills up."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable, not only the bytes behind them."""
    with opened(folder) as descriptor:
        os.fsync(descriptor)


def probe(folder: Path) -> None:
    """Raise OSError if no file can be made in `folder`, which may be a link."""
    with opened(folder.resolve()) as descriptor:
        scratch = _random_name("probe")
        _write_new(scratch, b"", descriptor, durable=False)
        os.unlink(scratch, dir_fd=descriptor)


def remove(path: Path) -> None:
    """Remove a file, a folder with all that is in it, or a link; never what it links to.

    Raises OSError; what is not there is no error.
    """
    with contextlib.suppress(FileNotFoundError), opened(path.parent) as folder:
        remove_at(path.name, folder)


def clear(folder: Path, of: str = "") -> int:
    """Remove the temporary files and folders that killed writes have left in `folder`, where their
    names begin with `of`; how many. For the folder's only writer.
    """
    count = 0
    with contextlib.suppress(OSError), opened(folder) as descriptor:
        for name in os.listdir(descriptor):  # noqa: PTH208
            if TEMPORARY.fullmatch(name) and name.startswith(f".{of}"):
                with contextlib.suppress(OSError):
                    remove_at(name, descriptor)
                    count += 1
    return count


@contextlib.contextmanager
def opened(folder: Path) -> Iterator[int]:
    """Descriptor of `folder` itself. Raises OSError, saying so where it is a link."""
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
    """Return a name that nobody can have put a link at."""
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
    """Remove `name`, a folder too, from the folder that is open; what is not there is no error.

    rmtree refuses a link, and by the descriptor none can be put in its way.
    """
    try:
        is_folder = stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return
    if is_folder:
        shutil.rmtree(name, dir_fd=folder)
    else:
        os.unlink(name, dir_fd=folder)
