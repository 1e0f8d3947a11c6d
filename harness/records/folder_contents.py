"""Contents of a run's or a sweep's folder: its own files, runs, and foreign files."""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path

from harness.errors import ConfigError, DataError
from harness.records import atomic, study_file, sweep_file
from harness.records.run_folder import RunFolder

TRASH = re.compile(r"\.(.+)\.[0-9a-f]{16}\.trash")
LAUNCHER = re.compile(r"\.launcher-[0-9a-f]{16}")
"""Leftover of a killed launcher in a sweep's folder."""
OF_ANY = {"debug.log", "law", "report.html", ".lock", ".holder", ".stop", ".scratch"}
OF_A_RUN = {
    "run.json", "config.yaml", "metrics.jsonl", "metrics.superseded.jsonl", "events.jsonl",
    "outcomes.json", "profiles.jsonl", "train.log", "conversations", "checkpoints", "simulator",
    "trackers", "probes", *OF_ANY,
}  # fmt: skip
OF_A_SWEEP = {sweep_file.FILE, study_file.FILE, "cards.json", "study", *OF_ANY}


def _kind_name(is_sweep: bool) -> str:
    return "a sweep" if is_sweep else "a run"


def names(path: Path) -> set[str]:
    """Return the names in the folder. Raises DataError if it cannot be listed."""
    try:
        with os.scandir(path) as entries:
            return {entry.name for entry in entries}
    except OSError as error:
        why = "there is none" if error.errno == errno.ENOENT else error.strerror
        raise DataError(f"{path}: must be the folder of a run or a sweep: {why}") from error


def is_run(file_names: set[str]) -> bool:
    """Whether a folder with these names is a run's."""
    run_files = {"metrics.jsonl", "events.jsonl", "checkpoints"}
    return "run.json" in file_names or (
        "config.yaml" in file_names and bool(file_names & run_files)
    )


def _is_ours(path: Path, name: str, is_sweep: bool) -> bool:
    if name in (OF_A_SWEEP if is_sweep else OF_A_RUN) or atomic.TEMPORARY.fullmatch(name):
        return True
    if is_sweep and LAUNCHER.fullmatch(name):
        return True
    inner_path = path / name
    if not is_sweep or inner_path.is_symlink() or not inner_path.is_dir():
        return False
    inner_names = names(inner_path)
    return bool(TRASH.fullmatch(name)) or (
        (is_run(inner_names) or not inner_names - {"config.yaml", *OF_ANY})
        and not inner_names - OF_A_RUN
    )


def refuse_foreign(path: Path, shown_path: Path, is_sweep: bool) -> None:
    """Raise ConfigError if `path` contains files that are no part of a run or a sweep.

    `shown_path`: the path to show in the message.
    """
    foreign = sorted(name for name in names(path) if not _is_ours(path, name, is_sweep))
    if foreign:
        more = f" and {len(foreign) - 1} more" if len(foreign) > 1 else ""
        rule = f"holds {foreign[0]!r}{more}, which is not part of {_kind_name(is_sweep)}"
        raise ConfigError(f"{shown_path}: {rule}; move it away first")


def other_runs(path: Path) -> tuple[str, ...]:
    """Return the names of runs in a sweep's folder that the sweep did not plan.

    Returns none if sweep.json or study.json cannot be read.
    """
    try:
        planned = {row.name for row in sweep_file.read(path).runs}
        if (path / study_file.FILE).is_file():
            planned |= study_file.read(path).runs.keys()
    except DataError:
        return ()
    unplanned = [name for name in names(path) - planned if not TRASH.fullmatch(name)]
    return tuple(sorted(name for name in unplanned if RunFolder(path / name).is_run()))
