"""Discover runs: named files, and folders with run.json or metrics.jsonl."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.law.result_parts import ReadProblem, SkippedPath
from harness.records.run_folder import RunFolder

NOT_THERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
NEVER_ENTERED = {"checkpoints", "conversations"}
RESULTS = "law.json"
OF_NO_RUN = {RESULTS, "result.json"}
"""A folder with one of these files is not expected to hold a run."""
A_RUN = "a run holds run.json or metrics.jsonl"
A_LOG = "name the file itself for a log of another program"
OF_A_RUN = {"run.json", "metrics.jsonl", "config.yaml"}
"""Files of a run that the analysis reads."""


@dataclass(frozen=True)
class DiscoveredRun:
    """A discovered run: its name in the results, its folder, and its metrics or its problem."""

    run: str
    folder: Path | None
    metrics: Path | None
    problem: ReadProblem | None = None


@dataclass(frozen=True)
class Discovery:
    """The discovered runs without repeats, in the order of the paths and then of their names."""

    runs: tuple[DiscoveredRun, ...]
    skipped: tuple[SkippedPath, ...]


class _Walk:
    """A walk from a path named by the user. It visits each folder once, so loops of links end.

    Links that lead out of the path are not followed: their targets were not asked for, and may be
    as large as a disk.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.real_root = os.path.realpath(root)
        self.seen: set[tuple[int, int]] = set()
        self.skipped: list[SkippedPath] = []

    def named(self, path: Path) -> Iterator[DiscoveredRun]:
        """Yield the runs at or below a path named by the user."""
        if not is_folder(path):
            yield _named_file(path)
            return
        runs = list(self.below(path, depth=0, in_run=False))
        yield from runs
        if not runs:
            rule = f"{A_RUN}; no such folder at or below this one; {A_LOG}"
            yield DiscoveredRun(
                str(path), path, None, ReadProblem("missing_file", f"{path}: {rule}")
            )

    def below(self, folder: Path, depth: int, in_run: bool) -> Iterator[DiscoveredRun]:
        try:
            if not self._first_visit(folder):
                return
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
            targets = {
                entry.name: target
                for entry in entries
                if (target := self._outside_target(entry)) is not None
            }
            names = {entry.name: is_folder(entry) for entry in entries}
        except OSError as error:
            message = f"{folder}: cannot be listed: {error.strerror or error}"
            yield DiscoveredRun(str(folder), None, None, ReadProblem("unreadable", message))
            return
        is_run = "run.json" in names or "metrics.jsonl" in names
        if is_run and RESULTS in names and depth > 0:
            self.skipped.append(SkippedPath(str(folder), f"holds {RESULTS}"))
            return
        unread = [name for name in targets if names[name] and _is_entered(name)]
        unread += [name for name in targets if is_run and name in OF_A_RUN]
        self.skipped += [self._skipped_link(folder / name, targets[name]) for name in unread]
        subfolders = [
            name for name in names if names[name] and _is_entered(name) and name not in targets
        ]
        if is_run and not OF_A_RUN & targets.keys():  # a run with files out of reach is skipped
            yield _folder_run(folder)
        elif depth == 1 and not in_run and not any(names.values()) and not names.keys() & OF_NO_RUN:
            message = f"{folder}: {A_RUN}; this folder holds neither; {A_LOG}"
            if not unread:
                yield DiscoveredRun(str(folder), folder, None, ReadProblem("missing_file", message))
        for name in sorted(subfolders, key=_numeric_sort_key):
            yield from self.below(folder / name, depth + 1, in_run or is_run)

    def _outside_target(self, entry: os.DirEntry[str]) -> str | None:
        """Return the target of a link that leads out of the named path, else None."""
        if not entry.is_symlink():
            return None
        target = os.path.realpath(entry.path)
        is_inside = os.path.commonpath([target, self.real_root]) == self.real_root
        return None if is_inside else target

    def _skipped_link(self, path: Path, target: str) -> SkippedPath:
        reason = f"a link that leads out of {self.root}, to {target}"
        return SkippedPath(str(path), f"{reason}; name it directly to include it")

    def _first_visit(self, folder: Path) -> bool:
        status = folder.stat()
        key = (status.st_dev, status.st_ino)
        if key in self.seen:
            return False
        self.seen.add(key)
        return True


def discover(paths: Sequence[Path]) -> Discovery:
    """Return all runs at or below `paths`. A path that does not exist is a run with a problem."""
    runs: dict[str, DiscoveredRun] = {}
    skipped: dict[str, SkippedPath] = {}
    for path in paths:
        walk = _Walk(path)
        for run in walk.named(path):
            runs.setdefault(os.path.realpath(run.run), run)
        skipped |= {entry.path: entry for entry in walk.skipped}
    return Discovery(tuple(runs.values()), tuple(skipped.values()))


def is_folder(entry: os.DirEntry[str] | Path) -> bool:
    """Return whether it is a folder; False if that is unknown, as for a link to itself."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _numeric_sort_key(name: str) -> list[tuple[int, str]]:
    """Return a sort key that puts 2-hard before 10-hard."""
    parts = re.split(r"(\d+)", name)
    return [(int(part) if index % 2 else 0, part) for index, part in enumerate(parts)]


def _is_entered(name: str) -> bool:
    return name not in NEVER_ENTERED and not name.startswith(".")


def _named_file(path: Path) -> DiscoveredRun:
    try:
        path.stat()
    except OSError as error:
        rule = f"must be readable, but is not: {error.strerror or error}"
        problem = ReadProblem("unreadable", f"{path}: {rule}")
        if error.errno in NOT_THERE:
            rule = "no such file or folder"
            problem = ReadProblem("missing_file", f"{path}: {rule}")
        return DiscoveredRun(str(path), None, None, problem)
    in_run_folder = path.name == "metrics.jsonl" and RunFolder(path.parent).is_run()
    return DiscoveredRun(str(path), path.parent if in_run_folder else None, path)


def _folder_run(folder: Path) -> DiscoveredRun:
    metrics = folder / "metrics.jsonl"
    if metrics.exists() or metrics.is_symlink():
        return DiscoveredRun(str(folder), folder, metrics)
    message = f"{folder}: a fitted run needs rows in metrics.jsonl; only run.json is there so far"
    return DiscoveredRun(str(folder), folder, None, ReadProblem("missing_file", message))
