"""`.holder`: the process that holds a folder.

    4711 on node-1              shown in messages; older versions wrote only this line
    started 8d6f4c02 1234567    boot id of the machine, and start time in clock ticks since boot
    folder 2049:131077          device and inode of the folder, which a copy does not share

A process number alone does not identify a process: numbers are reused, and the folder may have been
copied from another machine.
"""

from __future__ import annotations

import contextlib
import functools
import os
import platform
import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from harness.errors import DataError
from harness.records import plain_file, run_lock

NAME = ".holder"
PROC = Path("/proc")
FORMAT = re.compile(
    r"(\d{1,10}) on ([^\n]{0,300})(?:\nstarted ([^\n]{1,200}))?(?:\nfolder (\d+:\d+))?\n?"
)
LARGEST_BYTES = 1000


@dataclass(frozen=True)
class Holder:
    """Contents of a `.holder` file."""

    pid: int
    node: str
    started: str | None = None
    """Start time of the process; None in a file of an older version."""
    folder: str | None = None
    """Device and inode of the folder; None in a file of an older version."""

    def __str__(self) -> str:
        return f"{self.pid} on {self.node}"

    @property
    def lives(self) -> bool:
        """Whether this process is still running, on this machine."""
        is_here = self.started is not None and self.node == platform.node()
        return is_here and self.started == start_time(self.pid)

    def to_text(self) -> str:
        folder_line = f"folder {self.folder}\n" if self.folder else ""
        return f"{self}\nstarted {self.started}\n{folder_line}"


def this_process(folder: Path) -> Holder:
    """Return this process as the holder of `folder`. Raises OSError if `folder` is missing."""
    return Holder(os.getpid(), platform.node(), start_time(os.getpid()), _device_and_inode(folder))


def read(folder: Path) -> Holder | None:
    """Return the recorded holder of `folder`, alive or not; None if there is no valid record.

    A copy of a held folder has no holder either.
    """
    recorded = _read_record(folder)
    try:
        return (
            recorded if recorded and recorded.folder in (None, _device_and_inode(folder)) else None
        )
    except OSError:
        return None


def _read_record(folder: Path) -> Holder | None:
    try:
        match = FORMAT.fullmatch(plain_file.text(folder / NAME, LARGEST_BYTES))
    except (DataError, OSError):
        return None
    return Holder(int(match[1]), match[2], match[3], match[4]) if match else None


SILENT_S = 600.0
"""A process on another machine that has written nothing for this long counts as ended, or for
STEPS_SILENT times its last step if that is longer."""
STEPS_SILENT = 3
WRITTEN = ("events.jsonl", "metrics.jsonl", "run.json", "train.log", "sweep.json", NAME)
"""Files that a run or a sweep writes while it is running."""


def elsewhere(folder: Path, step_s: float = 0.0) -> str | None:
    """Describe the process on another machine that holds `folder` and has written to it recently,
    with the time since; None if there is none. `step_s`: duration of the run's last step.

    Needed since a lock may not work across a network file system, and a process number cannot be
    checked on another machine. Only the folder's inode is compared: the device differs by machine.
    """
    recorded = _read_record(folder)
    if recorded is None or recorded.node == platform.node():
        return None
    try:
        if recorded.folder and recorded.folder.rpartition(":")[2] != str(folder.stat().st_ino):
            return None  # a copy
    except OSError:
        return None
    ages = []
    for name in WRITTEN:
        with contextlib.suppress(OSError):
            ages.append(time.time() - (folder / name).lstat().st_mtime)
    age = max(0.0, min(ages, default=float("inf")))
    silence_limit = max(SILENT_S, STEPS_SILENT * step_s)
    return f"{recorded}, which wrote to it {age:.0f} s ago" if age < silence_limit else None


def _device_and_inode(folder: Path) -> str:
    """Return device and inode of a folder, which are unique and survive a move within a disk."""
    status = folder.stat()
    return f"{status.st_dev}:{status.st_ino}"


def other_writer(folder: Path, metrics: Path) -> str | None:
    """Describe another live process that holds `folder` or writes `metrics`; None if there is none.

    Does not rely on the folder's lock, whose file may have been deleted.
    """
    recorded = read(folder)
    if recorded is not None and recorded.pid != os.getpid() and recorded.lives:
        return str(recorded)
    return UNNAMED if run_lock.is_file_locked(metrics) else None


UNNAMED = f"(number unknown, since {NAME} does not name it)"


def start_time(pid: int) -> str | None:
    """Return the start time of process `pid` as a text, which tells it from earlier processes of
    that number; None if there is no such process or it is a zombie.
    """
    if not (PROC / "self/stat").exists():
        return _start_time_by_ps(pid)
    try:
        fields = (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    state, ticks = fields[0], fields[19]
    return None if state in "ZX" else f"{_boot_id()} {ticks}"


@functools.cache
def _boot_id() -> str:
    try:
        return (PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return "-"


def _start_time_by_ps(pid: int) -> str | None:
    """Return the start time as ps prints it, to the second; for systems without /proc (macOS)."""
    return _ps(pid, "lstart=")


def command_line(pid: int) -> str:
    """Return the command line of process `pid`, space-separated; empty if there is none."""
    try:
        return (PROC / str(pid) / "cmdline").read_text(errors="replace").replace("\0", " ")
    except OSError:
        return _ps(pid, "command=") or ""


def _ps(pid: int, column: str) -> str | None:
    try:
        process = subprocess.run(
            ["ps", "-o", column, "-p", str(pid)],
            env={"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"},
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return process.stdout.strip() or None
