"""Folders outside of runs: the user's cache, and the machine's temporary folder."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from harness.errors import ConfigError, DeviceError, FolderError, StorageError
from harness.records import atomic


def cache() -> Path:
    """Return the cache folder: $HARNESS_CACHE, else harness/ in the XDG cache, links resolved.

    It stores what is expensive to compute, under a hash of everything that determines it. Raises
    FolderError for a user without a home folder if neither variable is set.
    """
    if path := os.environ.get("HARNESS_CACHE"):
        return Path(os.path.realpath(path))
    if xdg_path := os.environ.get("XDG_CACHE_HOME"):
        return Path(os.path.realpath(Path(xdg_path) / "harness"))
    with contextlib.suppress(RuntimeError):  # neither $HOME nor an entry among the users
        if Path.home().is_absolute():
            return (Path.home() / ".cache" / "harness").resolve()
    rule = "must name a folder for the cache, since this user has no home folder"
    raise FolderError(f"HARNESS_CACHE: {rule}; got nothing: set it, or XDG_CACHE_HOME")


def writable_cache() -> Path:
    """Return the cache folder after checking that it can be written to. Creates nothing.

    Raises ConfigError if a variable names a folder that cannot be written to, FolderError if no
    variable does and the default cannot.
    """
    path = cache()
    existing = next(folder for folder in (path, *path.parents) if os.path.lexists(folder))
    if not existing.is_dir():
        problem = f"{existing}, which is not a folder"
    elif not os.access(existing, os.W_OK | os.X_OK):
        problem = f"{existing}, which cannot be written to"
    else:
        return path
    variables = [name for name in ("HARNESS_CACHE", "XDG_CACHE_HOME") if os.environ.get(name)]
    rule = "must name a writable folder for the cache"
    if variables:
        raise ConfigError(f"{variables[0]}: {rule}; got {problem}")
    raise FolderError(f"HARNESS_CACHE: {rule}; got nothing, and without it {problem}")


def temporary() -> Path:
    """Return the system's temporary folder: $TMPDIR, else usually /tmp.

    Raises StorageError if there is none.
    """
    try:
        return Path(tempfile.gettempdir())
    except OSError as error:
        value = os.environ.get("TMPDIR", "nothing")
        rule = "must name a writable folder, but neither it nor /tmp is writable"
        raise StorageError(f"TMPDIR: {rule}; got {value}") from error


def own_temporary(name: str) -> Path:
    """Return the folder NAME-UID in the temporary folder, writable only by this user.

    Creates it if needed. Raises DeviceError if another user has created it or may write to it,
    StorageError if it cannot be created.
    """
    path = temporary() / f"{name}-{os.getuid()}"
    with atomic.storage_errors(path):
        path.mkdir(mode=0o700, exist_ok=True)
        status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise DeviceError(f"{path}: must be owned by you, but belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        rule = "must be a folder that is not writable by others"
        raise DeviceError(
            f"{path}: {rule}, got mode {stat.S_IMODE(status.st_mode):o}; chmod 700 it"
        )
    return path
