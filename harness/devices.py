"""Cores and GPUs of this machine, and one GPU per run whatever launched it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from harness.config import RunConfig
from harness.errors import DeviceError, StoppedError

POLL_S = 0.5
NO_GPU = "trainer.gpus: must be 0 without a visible GPU, got 1"


def cores() -> int:
    """CPU cores that this process may use: its affinity, cut to a container's quota."""
    try:
        allowed = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        allowed = os.cpu_count() or 1
    return max(1, min(allowed, _quota_cores() or allowed))


def runs_at_once(configs: Sequence[RunConfig]) -> int:
    """How many of these runs this machine has room for: one a GPU, or as many as have a core."""
    if any(config.trainer.gpus for config in configs):
        room = len(gpus())
    else:
        room = cores() // max(config.trainer.threads for config in configs)
    return max(1, min(room, len(configs)))


def gpus() -> tuple[str, ...]:
    """Ids of the GPUs that this process may use, as CUDA_VISIBLE_DEVICES takes them."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        return tuple(part.strip() for part in visible.split(",") if part.strip() not in ("", "-1"))
    return tuple(str(n) for n in range(len(gpu_names())))


def check(configs: Iterable[RunConfig]) -> None:
    """Raise DeviceError if one of them asks for a GPU and this machine has none."""
    if any(config.trainer.gpus for config in configs) and not gpus():
        raise DeviceError(NO_GPU)


def gpu_names() -> list[str]:
    """What nvidia-smi lists, one line a GPU; empty without a driver."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return []
    try:
        done = subprocess.run([command, "-L"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line for line in done.stdout.splitlines() if line.startswith("GPU ")]


@contextlib.contextmanager
def lease(count: int, give_up: Callable[[], bool] = lambda: False) -> Iterator[str]:
    """The CUDA_VISIBLE_DEVICES of one run: empty for `count` 0, else a GPU nobody else leases.

    Waits for a free one. Raises DeviceError without GPUs, StoppedError once `give_up()` is true.
    """
    if count == 0:
        yield ""
        return
    device, lock = acquire(give_up)
    with lock:
        yield device


def acquire(give_up: Callable[[], bool] = lambda: False) -> tuple[str, IO[str]]:
    """A GPU and its open lock file; the kernel frees it with the last process that has it open."""
    names = gpus()
    if not names:
        raise DeviceError(NO_GPU)
    while not give_up():
        for name in names:
            lock = _lock(name)
            if lock is not None:
                return name, lock
        time.sleep(POLL_S)
    raise StoppedError("stopped while waiting for a free GPU")


def _lock(device: str) -> IO[str] | None:
    folder = Path(tempfile.gettempdir()) / f"harness-gpus-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    if folder.is_symlink() or folder.stat().st_uid != os.getuid():
        raise DeviceError(f"{folder}: must be a folder of your own; somebody else has made it")
    file = (folder / f"{device.replace('/', '_')}.lock").open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file


def _quota_cores() -> int | None:
    """Whole cores of a cgroup v2 quota, which a process's affinity does not show."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return max(1, int(quota) // int(period))
    except (OSError, ValueError):
        return None
