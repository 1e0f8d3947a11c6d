"""Removing a run or a sweep: only ours, never one that a process holds, never behind a link.

A folder is first renamed to `.NAME.HEX.trash` beside itself, in one step, and its files are deleted
then, those that say what it was last. So a crash leaves the folder as it was, or one of that name,
which the next removal in the same place finishes.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.errors import ConfigError, DataError, StoppedError
from harness.records import (
    atomic,
    holder,
    holder_file,
    run_lock,
    study_file,
    sweep_file,
)
from harness.records.run_folder import RunFolder

TRASH = re.compile(r"\.(.+)\.[0-9a-f]{16}\.trash")
LAUNCHER = re.compile(r"\.launcher-[0-9a-f]{16}")
"""What a launcher that was killed leaves in a sweep."""
OF_ANY = {"debug.log", "law", "report.html", ".lock", ".holder", ".stop", ".scratch"}
OF_A_RUN = {
    "run.json", "config.yaml", "metrics.jsonl", "events.jsonl", "outcomes.json", "profiles.jsonl",
    "train.log", "conversations", "checkpoints", "simulator", "trackers", *OF_ANY,
}  # fmt: skip
OF_A_SWEEP = {sweep_file.FILE, study_file.FILE, "cards.json", "study", *OF_ANY}
LAST = ("config.yaml", "metrics.jsonl", "run.json", sweep_file.FILE)
"""Deleted in this order after all else: they say that the folder is ours."""


@dataclass(frozen=True)
class Removable:
    """A folder that may be removed."""

    path: Path
    is_sweep: bool
    size_bytes: int
    """Space on disk that is free once it is gone."""
    number: tuple[int, int]
    """Device and inode: by its name somebody may have put another folder there since."""


def check(path: Path) -> Removable:
    """Whether the folder may be removed, and its size; nothing is changed.

    Raises DataError for what is no run and no sweep, ConfigError for a link, for a folder with
    other files in it and for the one that this process is in, StoppedError where a live process
    holds it.
    """
    path = path.parent.resolve() / path.name if path.name not in ("", "..") else path.resolve()
    if path.is_symlink():
        rule = "a link is not removed, nor what it leads to; name the folder itself"
        raise ConfigError(f"{path}: {rule}, got one to {path.readlink()}")
    names = _names(path)
    is_sweep = sweep_file.FILE in names
    if not is_sweep and not _is_run(names):
        rule = f"neither a run nor a sweep: no run.json, no {sweep_file.FILE}"
        raise DataError(f"{path}: {rule}; only those are removed")
    _refuse_held(path)
    _refuse_foreign(path, path, is_sweep)
    with contextlib.suppress(OSError):
        if path in (here := Path.cwd()).parents or path == here:
            raise ConfigError(f"{path}: is the folder that you are in; leave it first")
    status = path.lstat()
    return Removable(path, is_sweep, _size(path), (status.st_dev, status.st_ino))


def remove(checked: Removable) -> None:
    """Remove what `check` has let pass. Raises StoppedError where a process has come to hold it,
    ConfigError where another folder has come to its place or a file of somebody's into it,
    StorageError where it cannot be removed, or not wholly: another removal goes on then.
    """
    path = checked.path
    with atomic.storage(path), contextlib.ExitStack() as at_end:
        descriptor = run_lock.acquire(path, run_lock.ASKING_S)
        if descriptor is None:
            raise StoppedError(f"{path}: held by a process that has come to it just now")
        at_end.callback(os.close, descriptor)
        trash = path.with_name(f".{path.name}.{secrets.token_hex(8)}.trash")
        with atomic.opened(path.parent) as parent:
            os.rename(path.name, trash.name, src_dir_fd=parent, dst_dir_fd=parent)
            os.fsync(parent)
    try:
        status = trash.lstat()
        if (status.st_dev, status.st_ino) != checked.number:
            raise ConfigError(f"{path}: another folder has come to its place; it is left alone")
        _refuse_foreign(trash, path, checked.is_sweep)  # an answer may take an hour
        _refuse_held(trash)  # nobody finds it any more who does not have it now
    except (StoppedError, ConfigError, DataError):
        with atomic.storage(path):
            trash.rename(path)
        raise
    finish(trash)


def leftovers(parent: Path) -> list[Path]:
    """Folders in `parent` whose removal was begun and not finished."""
    with contextlib.suppress(OSError):
        rests = [path for path in parent.iterdir() if TRASH.fullmatch(path.name)]
        return sorted(path for path in rests if _is_begun(path))
    return []


def named(trash: Path) -> str:
    """The name of the folder that `trash` was."""
    match = TRASH.fullmatch(trash.name)
    return match[1] if match else trash.name


def _is_begun(path: Path) -> bool:
    if path.is_symlink() or not path.is_dir():
        return False
    names = _names(path)
    return not names or bool(names & {*LAST})


def finish(trash: Path) -> None:
    """Delete a folder that was renamed for it. Raises StorageError."""
    with atomic.storage(trash), atomic.opened(trash) as folder:
        names = os.listdir(folder)  # noqa: PTH208 - of the folder that is open
        for name in sorted(names, key=lambda name: LAST.index(name) + 1 if name in LAST else 0):
            atomic.remove_at(name, folder)
        with atomic.opened(trash.parent) as parent:
            os.rmdir(trash.name, dir_fd=parent)
            os.fsync(parent)


def _called(is_sweep: bool) -> str:
    return "a sweep" if is_sweep else "a run"


def _names(path: Path) -> set[str]:
    try:
        with os.scandir(path) as found:
            return {entry.name for entry in found}
    except OSError as error:
        why = "there is none" if error.errno == errno.ENOENT else error.strerror
        raise DataError(f"{path}: must be the folder of a run or a sweep: {why}") from error


def _is_run(names: set[str]) -> bool:
    rest = {"metrics.jsonl", "events.jsonl", "checkpoints"}
    return "run.json" in names or ("config.yaml" in names and bool(names & rest))


def _is_ours(path: Path, name: str, is_sweep: bool) -> bool:
    if name in (OF_A_SWEEP if is_sweep else OF_A_RUN) or atomic.TEMPORARY.fullmatch(name):
        return True
    if is_sweep and LAUNCHER.fullmatch(name):
        return True
    inside = path / name
    if not is_sweep or inside.is_symlink() or not inside.is_dir():
        return False
    names = _names(inside)
    return bool(TRASH.fullmatch(name)) or (
        (_is_run(names) or not names - {"config.yaml", *OF_ANY}) and not names - OF_A_RUN
    )


def _refuse_foreign(path: Path, named: Path, is_sweep: bool) -> None:
    """Raise ConfigError for files that are no part of a run or a sweep; `named`: as it is told."""
    foreign = sorted(name for name in _names(path) if not _is_ours(path, name, is_sweep))
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        rule = f"holds {foreign[0]!r}{more}, which is no part of {_called(is_sweep)}"
        raise ConfigError(f"{named}: {rule}; move it away first")


def _refuse_held(path: Path) -> None:
    for place in _places(path):
        held = holder_file.beside(place, RunFolder(place).metrics) or holder.holder(
            RunFolder(place)
        )
        if held is not None:
            raise StoppedError(f"{place}: held by process {held}; stop that first")


def _places(path: Path) -> Iterator[Path]:
    """The folder, the runs in it, and the sweep that it is a run of."""
    yield path
    if (path.parent / sweep_file.FILE).is_file():
        yield path.parent
    with os.scandir(path) as found:
        inside = [Path(entry.path) for entry in found if entry.is_dir(follow_symlinks=False)]
    yield from (place for place in inside if RunFolder(place).is_run())


def _size(path: Path) -> int:
    """Bytes on disk of all files below, each once; what has a name elsewhere too is not freed."""
    total, ahead = 0, [path]
    while ahead:
        with contextlib.suppress(OSError), os.scandir(ahead.pop()) as found:
            for entry in found:
                status = entry.stat(follow_symlinks=False)
                if stat.S_ISDIR(status.st_mode):
                    ahead.append(Path(entry.path))
                if stat.S_ISDIR(status.st_mode) or status.st_nlink == 1:
                    total += status.st_blocks * 512
    return total
