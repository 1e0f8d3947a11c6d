"""The hosts that a user has confirmed, each with the variables that may be sent there.

They are stored in one file of the user, outside of folders that may come from somebody else.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from harness.config.grant import Grant
from harness.errors import ConfigError, StorageError
from harness.records import atomic, run_lock

SCHEMA = 1
NAME = "trust.json"
LARGEST_BYTES = 1_000_000
OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
LOCK_WAIT_S = 5.0


def file() -> Path:
    """Return the path of trust.json: in $HARNESS_CONFIG, else in harness/ of the XDG config folder.

    Raises ConfigError if $HARNESS_CONFIG is not absolute, since a file below the current folder may
    come from somebody else, or if there is no home folder.
    """
    if directory := os.environ.get("HARNESS_CONFIG"):
        if not Path(directory).is_absolute():
            raise ConfigError(f"HARNESS_CONFIG must be an absolute path, got {directory!r}")
        return Path(directory) / NAME
    xdg = Path(os.environ.get("XDG_CONFIG_HOME", ""))  # by the standard, a relative one is ignored
    try:
        folder = xdg if xdg.is_absolute() else Path.home() / ".config"
    except RuntimeError as error:
        raise ConfigError("HARNESS_CONFIG must be set where there is no home folder") from error
    return folder / "harness" / NAME


def read() -> frozenset[Grant]:
    """Read the confirmed grants; none if there is no file.

    Raises ConfigError, naming the file, if somebody else may have written it or it is malformed.
    """
    path = file()
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return frozenset()
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise _not_own(path, "a link") from error
        raise ConfigError(f"{path}: cannot be read: {error.strerror or error}") from error
    try:
        _refuse_others(path, os.fstat(descriptor))
        with open(descriptor, "rb", closefd=False) as stream:  # which refuses a folder, unnamed
            return _grants(path, stream.read(LARGEST_BYTES + 1))
    finally:
        os.close(descriptor)


def add(grant: Grant) -> None:
    """Add a grant to the file. Raises ConfigError as `read` does, and StorageError."""
    with _locked():
        _write({*read(), grant})


def remove(grant: Grant) -> None:
    """Remove a grant from the file.

    Raises ConfigError as `read` does and if the grant is not confirmed, and StorageError.
    """
    with _locked():
        grants = read()
        if grant not in grants:
            rule = "must be confirmed before it can be revoked; `harness trust` lists permissions"
            raise ConfigError(f"{file()}: {grant.host} {grant.variable} {rule}")
        _write(grants - {grant})


def _write(grants: Iterable[Grant]) -> None:
    hosts: dict[str, list[str]] = {}
    for grant in sorted(grants):
        hosts.setdefault(grant.host, []).append(grant.variable)
    atomic.write_json(file(), {"schema": SCHEMA, "hosts": hosts})


@contextlib.contextmanager
def _locked() -> Iterator[None]:
    """Lock the file within the block, and make new files and folders private."""
    umask = os.umask(0o077)  # HARNESS_UMASK is for runs only
    try:
        folder = file().parent
        with atomic.storage_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
            lock = run_lock.acquire(folder, LOCK_WAIT_S)
        if lock is None:
            raise StorageError(f"{folder}: must not be in use for {LOCK_WAIT_S:g} s, but was")
        try:
            yield
        finally:
            os.close(lock)
    finally:
        os.umask(umask)


def _refuse_others(path: Path, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise _not_own(path, "something else")
    if status.st_uid != os.geteuid():
        raise _not_own(path, f"a file of user {status.st_uid}")
    if status.st_mode & OTHERS_WRITE:
        raise _not_own(path, f"mode {status.st_mode & 0o777:o}")
    folder = path.parent.stat()
    if folder.st_uid not in (0, os.geteuid()):
        raise _not_own(path, f"one in a folder of user {folder.st_uid}")
    if folder.st_mode & OTHERS_WRITE:
        raise _not_own(path, f"one in a folder of mode {folder.st_mode & 0o777:o}")


def _not_own(path: Path, problem: str) -> ConfigError:
    rule = "must be a regular file of your own that nobody else can change"
    return ConfigError(f"{path}: {rule}, got {problem}; check what it confirms, then remove it")


def _grants(path: Path, data: bytes) -> frozenset[Grant]:
    try:
        values: Any = json.loads(data) if len(data) <= LARGEST_BYTES else None
        if not isinstance(values, dict) or values["schema"] != SCHEMA:
            raise ValueError("must be a mapping with schema 1")
        hosts: dict[str, list[str]] = values["hosts"]
        return frozenset(Grant(host, name) for host, names in hosts.items() for name in names)
    except (ValueError, LookupError, AttributeError, TypeError, RecursionError) as error:
        raise ConfigError(f"{path}: must be what `harness trust` writes, got {error}") from error
    except ConfigError as error:
        raise ConfigError(f"{path}: {error}") from error
