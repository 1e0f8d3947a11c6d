"""Folders outside of any run: the user's cache, and the machine's for what does not last."""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

from harness.errors import ConfigError, DeviceError, FolderError, StorageError
from harness.records import atomic


def cache() -> Path:
    """Folder for what is costly to make, by a hash of all that determines it: $HARNESS_CACHE, else
    harness/ in the XDG cache; a link is followed, being the user's own.

    Raises FolderError for a user without a home, where neither is set.
    """
    if named := os.environ.get("HARNESS_CACHE"):
        return Path(os.path.realpath(named))
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return Path(os.path.realpath(Path(xdg) / "harness"))
    with contextlib.suppress(RuntimeError):  # neither $HOME nor an entry among the users
        if Path.home().is_absolute():
            return (Path.home() / ".cache" / "harness").resolve()
    rule = "must name a folder for what is kept between runs, since this user has no home"
    raise FolderError(f"HARNESS_CACHE: {rule}; got nothing: set it, or XDG_CACHE_HOME")


def writable_cache() -> Path:
    """The cache, if files can be made in it; it need not be there yet, and nothing is made.

    Raises ConfigError where a variable names another, FolderError where none names one.
    """
    path = cache()
    there = next(folder for folder in (path, *path.parents) if os.path.lexists(folder))
    if not there.is_dir():
        given = f"{there}, which is no folder"
    elif not os.access(there, os.W_OK | os.X_OK):
        given = f"{there}, which cannot be written to"
    else:
        return path
    named = [name for name in ("HARNESS_CACHE", "XDG_CACHE_HOME") if os.environ.get(name)]
    rule = "must name a folder that can be written to, for what is kept between runs"
    if named:
        raise ConfigError(f"{named[0]}: {rule}; got {given}")
    raise FolderError(f"HARNESS_CACHE: {rule}; got nothing, and without it {given}")


def temporary() -> Path:
    """$TMPDIR, else /tmp or what stands for it here. Raises StorageError where there is none."""
    try:
        return Path(tempfile.gettempdir())
    except OSError as error:
        named = os.environ.get("TMPDIR", "nothing")
        rule = "must name a folder that can be written to, and neither it nor /tmp is one"
        raise StorageError(f"TMPDIR: {rule}; got {named}") from error


def own_temporary(name: str) -> Path:
    """The folder NAME-UID in it, made if need be, that nobody else may write to.

    Raises DeviceError if somebody else has made it, StorageError if it cannot be made.
    """
    path = temporary() / f"{name}-{os.getuid()}"
    with atomic.storage(path):
        path.mkdir(mode=0o700, exist_ok=True)
        status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise DeviceError(f"{path}: must be a folder of your own; somebody else has made it")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        rule = "must be a folder that nobody else may write to"
        raise DeviceError(
            f"{path}: {rule}, got mode {stat.S_IMODE(status.st_mode):o}; chmod 700 it"
        )
    return path
