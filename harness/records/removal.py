"""Removes a run or a sweep, unless it has foreign files, is held by a process, or is a link.

A folder is first renamed to `.NAME.HEX.trash` in the same place. Then its files are deleted, the
ones that identify it last. So a crash leaves either the unchanged folder or a trash folder, which
the next removal in the same place finishes. The folder itself is locked meanwhile: of two
simultaneous removals, one succeeds and the other raises GoneError.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.errors import ConfigError, DataError, StoppedError
from harness.records import (
    atomic,
    folder_contents,
    holder,
    holder_file,
    run_lock,
    sweep_file,
)
from harness.records.run_folder import RunFolder

LAST = ("config.yaml", "metrics.jsonl", "run.json", sweep_file.FILE)
"""Deleted last, in this order: they identify the folder as a run or a sweep."""


@dataclass(frozen=True)
class Removable:
    """A folder that may be removed."""

    path: Path
    is_sweep: bool
    size_bytes: int
    """Disk space that the removal frees."""
    number: tuple[int, int]
    """Device and inode, to detect that another folder has taken its name since."""
    others: tuple[str, ...] = ()
    """Names of runs in a sweep's folder that the sweep did not plan."""


class GoneError(DataError):
    """Another process has removed the folder, or is removing it."""


def check(path: Path) -> Removable:
    """Check that the folder may be removed, and measure its size. Changes nothing.

    Raises DataError if it is neither a run nor a sweep or is gone, ConfigError if it is a link,
    contains foreign files or is the working directory or a parent of it, and StoppedError if a live
    process holds it.
    """
    path = path.parent.resolve() / path.name if path.name not in ("", "..") else path.resolve()
    if path.is_symlink():
        rule = "links and their targets are not removed; name the folder itself"
        raise ConfigError(f"{path}: {rule}, got one to {path.readlink()}")
    names = folder_contents.names(path)
    is_sweep = sweep_file.FILE in names
    if not is_sweep and not folder_contents.is_run(names):
        rule = f"neither a run nor a sweep: no run.json, no {sweep_file.FILE}"
        raise DataError(f"{path}: {rule}; only those are removed")
    try:
        _refuse_held(path)
    except FileNotFoundError as error:
        raise GoneError(f"{path}: {REMOVED}") from error
    folder_contents.refuse_foreign(path, path, is_sweep)
    with contextlib.suppress(OSError):
        if path in (current := Path.cwd()).parents or path == current:
            raise ConfigError(f"{path}: is the current folder; leave it first")
    others = folder_contents.other_runs(path) if is_sweep else ()
    try:
        status = path.lstat()
    except FileNotFoundError as error:
        raise GoneError(f"{path}: {REMOVED}") from error
    return Removable(path, is_sweep, _size(path), (status.st_dev, status.st_ino), others)


REMOVED = "another process has removed it meanwhile"
NO_LOCKS = (errno.EBADF, errno.EINVAL, errno.ENOLCK, errno.ENOTSUP)
"""Errors of file systems that cannot lock a folder, such as NFS."""


@contextlib.contextmanager
def _only_remover(path: Path) -> Iterator[int]:
    """Yield a descriptor of the folder, locked against other removals. Raises GoneError."""
    shown_path = path.parent / original_name(path)
    try:
        with atomic.open_folder(path) as folder:
            deadline = time.monotonic() + run_lock.ASKING_S
            while not _is_locked(folder, fcntl.LOCK_EX):
                if time.monotonic() > deadline:
                    raise GoneError(f"{shown_path}: another process is removing it now")
                time.sleep(run_lock.POLL_S)
            if not os.path.samestat(path.lstat(), os.fstat(folder)):
                raise GoneError(f"{shown_path}: {REMOVED}")
            yield folder
    except FileNotFoundError as error:
        raise GoneError(f"{shown_path}: {REMOVED}") from error


def _is_locked(folder: int, mode: int) -> bool:
    """Try to lock the folder. True if locked, or if the file system has no such locks."""
    try:
        fcntl.flock(folder, mode | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in run_lock.HELD:
            return False
        if error.errno not in NO_LOCKS:
            raise
    return True


def remove(checked: Removable) -> None:
    """Remove a folder that passed `check`.

    Raises StoppedError if a process holds it by now, GoneError if another process removes it,
    ConfigError if another folder has taken its place or new foreign files are in it, and
    StorageError if it cannot be removed completely; the next removal then continues.
    """
    with _only_remover(checked.path) as folder:
        _delete(_set_aside(checked), folder)


def _set_aside(checked: Removable) -> Path:
    """Rename the folder, so that no process can start using it, and repeat the checks.

    Renames it back if a check fails.
    """
    path = checked.path
    with atomic.storage_errors(path), contextlib.ExitStack() as at_end:
        descriptor = run_lock.acquire(path, run_lock.ASKING_S)
        if descriptor is None:
            raise StoppedError(f"{path}: held by a process that has just started")
        at_end.callback(os.close, descriptor)
        trash = path.with_name(f".{path.name}.{secrets.token_hex(8)}.trash")
        with atomic.open_folder(path.parent) as parent:
            os.rename(path.name, trash.name, src_dir_fd=parent, dst_dir_fd=parent)
            os.fsync(parent)
    try:
        status = trash.lstat()
        if (status.st_dev, status.st_ino) != checked.number:
            raise ConfigError(f"{path}: was replaced by another folder, which was not removed")
        folder_contents.refuse_foreign(trash, path, checked.is_sweep)  # `check` may be long ago
        _refuse_held(trash)  # processes that held it before the rename
        if added := {*folder_contents.other_runs(trash)} - {*checked.others}:
            raise ConfigError(
                f"{path}: the run {min(added)} was added meanwhile; nothing was removed"
            )
    except (StoppedError, ConfigError, DataError):
        with atomic.storage_errors(path):
            trash.rename(path)
        raise
    return trash


def leftovers(parent: Path) -> list[Path]:
    """Return the folders in `parent` whose removal was started but not finished."""
    with contextlib.suppress(OSError):
        trash_folders = [
            path for path in parent.iterdir() if folder_contents.TRASH.fullmatch(path.name)
        ]
        return sorted(path for path in trash_folders if _is_begun(path))
    return []


def original_name(trash: Path) -> str:
    """Return the name of the folder before it was renamed to `trash`."""
    match = folder_contents.TRASH.fullmatch(trash.name)
    return match[1] if match else trash.name


def _is_begun(path: Path) -> bool:
    if path.is_symlink() or not path.is_dir():
        return False
    names = folder_contents.names(path)
    return not names or bool(names & {*LAST})


def is_going_on(trash: Path) -> bool:
    """Whether a process is removing it."""
    try:
        with atomic.open_folder(trash) as folder:
            return not _is_locked(folder, fcntl.LOCK_SH)  # shared: several may check at once
    except OSError:
        return True


def finish(trash: Path) -> None:
    """Finish a removal, by deleting its trash folder. Raises GoneError, StorageError."""
    with _only_remover(trash) as folder:
        _delete(trash, folder)


def _delete(trash: Path, folder: int) -> None:
    with atomic.storage_errors(trash):
        names = os.listdir(folder)
        for name in sorted(names, key=lambda name: LAST.index(name) + 1 if name in LAST else 0):
            atomic.remove_at(name, folder)
        with atomic.open_folder(trash.parent) as parent:
            os.rmdir(trash.name, dir_fd=parent)
            os.fsync(parent)


def _refuse_held(path: Path) -> None:
    for folder in _related_folders(path):
        run = RunFolder(folder)
        process = holder_file.other_writer(folder, run.metrics) or holder.holder(run)
        if process is not None:
            raise StoppedError(f"{folder}: held by process {process}; stop it first")
        process = holder.holder_elsewhere(run)
        if process is not None:
            silence = f"{holder_file.SILENT_S / 60:.0f} minutes"
            advice = f"stop it first, or wait until it has written nothing for {silence}"
            raise StoppedError(f"{folder}: held by process {process}; {advice}")


def _related_folders(path: Path) -> Iterator[Path]:
    """Yield the folder, the sweep that it belongs to, and the runs in it."""
    yield path
    if (path.parent / sweep_file.FILE).is_file():
        yield path.parent
    with os.scandir(path) as entries:
        subfolders = [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    yield from (folder for folder in subfolders if RunFolder(folder).is_run())


def _size(path: Path) -> int:
    """Return the disk space of all files below, in bytes; files with further hard links are not
    counted, since removing one link does not free them.
    """
    total, pending = 0, [path]
    while pending:
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    pending.append(Path(entry.path))
                if stat.S_ISDIR(status.st_mode) or status.st_nlink == 1:
                    total += status.st_blocks * 512
    return total
