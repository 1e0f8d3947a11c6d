"""Cores and GPUs of this machine, and leases of GPUs to runs, independent of the launcher."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.config.run import RunConfig
from harness.errors import DeviceError, StoppedError
from harness.execution import engine_places
from harness.records import atomic, user_folders

POLL_S = 0.5
UUID = re.compile(r"GPU (\d+):.*\(UUID: (\S+)\)")


@dataclass(frozen=True)
class GpuLease:
    """The GPUs of one run; the kernel frees them with the last process that has the locks open."""

    visible: str = ""
    """Value of CUDA_VISIBLE_DEVICES; empty for none."""
    descriptors: tuple[int, ...] = ()
    """File descriptors of their locks."""


def cores() -> int:
    """Return the number of CPU cores that this process may use, by affinity and cgroup quota."""
    try:
        allowed = len(os.sched_getaffinity(0))
    except AttributeError:  # not on macOS
        allowed = os.cpu_count() or 1
    return max(1, min(allowed, _quota_cores() or allowed))


def runs_at_once(configs: Sequence[RunConfig]) -> int:
    """Return how many of these runs can run at once on this machine, by its GPUs or cores and by
    the vLLM servers that they name.
    """
    server_limit = engine_places.in_all(configs)
    if any(config.trainer.gpus for config in configs):
        count = len(gpus()) // max(config.trainer.gpus for config in configs)
        count *= min(config.trainer.runs_per_gpu for config in configs if config.trainer.gpus)
    else:
        count = cores() // max(config.trainer.threads * config.trainer.world for config in configs)
    if server_limit is not None:
        count = min(count, server_limit)
    return max(1, min(count, len(configs)))


def start_order(config: RunConfig) -> bool:
    """Return a sort key that starts runs with GPUs first, so that no usable GPU idles."""
    return not config.trainer.gpus


def gpus() -> tuple[str, ...]:
    """Return the ids of the GPUs that this process may use, in CUDA_VISIBLE_DEVICES's form."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    if visible is not None:
        names = [part.strip() for part in visible.split(",")]
        seen = itertools.takewhile(lambda name: name != "-1", names)  # CUDA ends there too
        return tuple(dict.fromkeys(filter(None, seen)))
    return tuple(str(n) for n in range(len(gpu_names())))


def check(configs: Iterable[RunConfig]) -> None:
    """Raise DeviceError if one of them asks for more GPUs than this machine has."""
    needed = max((config.trainer.gpus for config in configs), default=0)
    if needed > len(gpus()):
        raise _too_few_error(needed)


def gpu_names() -> list[str]:
    """Return the lines of `nvidia-smi -L`, one per GPU; empty without a driver."""
    command = shutil.which("nvidia-smi")
    if command is None:
        return []
    try:
        result = subprocess.run([command, "-L"], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [line for line in result.stdout.splitlines() if line.startswith("GPU ")]


@contextlib.contextmanager
def lease(
    count: int, give_up: Callable[[], bool] = lambda: False, runs_per_gpu: int = 1
) -> Iterator[GpuLease]:
    """`take` as a context manager, which releases the GPUs at the end."""
    leased = take(count, give_up, runs_per_gpu)
    try:
        yield leased
    finally:
        for descriptor in leased.descriptors:
            os.close(descriptor)


def take(
    count: int, give_up: Callable[[], bool] = lambda: False, runs_per_gpu: int = 1
) -> GpuLease:
    """Wait for `count` free GPUs and lease them; return an empty lease for 0. With `runs_per_gpu`
    above 1, lease a part of a GPU that fewer runs share, all of them with `runs_per_gpu` above 1.

    Leases all GPUs at once or none, so that no two runs wait for each other. Raises DeviceError if
    there are fewer than `count` in total, StoppedError once `give_up()` is true.
    """
    if not count:
        return GpuLease()
    names = gpus()
    if len(names) < count:
        raise _too_few_error(count)
    folder, cards = user_folders.own_temporary("harness-gpus"), _uuids(names)
    locks = {name: folder / card.replace("/", "_") for name, card in cards.items()}
    while not give_up():
        with atomic.storage_errors(folder):
            leased = (
                _lease_whole(locks, count)
                if runs_per_gpu == 1
                else _lease_part(locks, runs_per_gpu)
            )
        if leased is not None:
            return leased
        time.sleep(POLL_S)
    raise StoppedError(f"stopped while waiting for {'a free GPU' if count == 1 else 'free GPUs'}")


def _lease_whole(locks: Mapping[str, Path], count: int) -> GpuLease | None:
    """Lease `count` GPUs that no other run uses; None if fewer are free."""
    descriptors: dict[str, int] = {}
    for name, path in locks.items():
        lock_descriptor = lock(path.with_name(f"{path.name}.lock"))
        if lock_descriptor is not None:
            descriptors[name] = lock_descriptor
        if len(descriptors) == count:
            return GpuLease(",".join(descriptors), tuple(descriptors.values()))
    for descriptor in descriptors.values():
        os.close(descriptor)
    return None


def _lease_part(locks: Mapping[str, Path], runs_per_gpu: int) -> GpuLease | None:
    """Lease a part of a GPU, preferring the GPU with the fewest runs; None if all are taken.

    Every run on a shared GPU holds a shared lock of it, which keeps out runs that need the whole
    GPU.
    """
    for number in range(runs_per_gpu):
        for name, path in locks.items():
            descriptors = part(path.with_name(f"{path.name}.lock"), number)
            if descriptors:
                return GpuLease(name, descriptors)
    return None


def part(path: Path, number: int) -> tuple[int, ...]:
    """Lock one part of the device whose lock file is `path`; return the descriptors.

    These are a shared lock of `path`, which keeps out those who need the whole device, and the
    part's own lock. Empty if either is taken.
    """
    shared_lock = lock(path, shared=True)
    if shared_lock is None:
        return ()
    part_lock = lock(path.with_name(f"{path.stem}.part{number}.lock"))
    if part_lock is None:
        os.close(shared_lock)
        return ()
    return shared_lock, part_lock


def _too_few_error(count: int) -> DeviceError:
    available = len(gpus())
    rule = (
        "must be 0 without a visible GPU"
        if not available
        else f"must be at most {available}, the number of visible GPUs"
    )
    return DeviceError(f"trainer.gpus: {rule}, got {count}")


def lock(path: Path, shared: bool = False) -> int | None:
    """Lock the file `path` and return its descriptor; None if another process holds the lock, for
    `shared` if it holds an exclusive one.
    """
    descriptor = atomic.open_to_append(path)
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _uuids(names: Iterable[str]) -> dict[str, str]:
    """Map each GPU's name to its UUID, since the jobs of a cluster may all call their GPU 0, and
    the name may be the beginning of a UUID, as CUDA allows.
    """
    matches = [match for line in gpu_names() if (match := UUID.match(line))]
    uuids = {match[1]: match[2] for match in matches}
    return {name: uuids.get(name) or _whole_uuid(name, uuids.values()) for name in names}


def _whole_uuid(name: str, uuids: Iterable[str]) -> str:
    """Return the only UUID that begins with `name`; `name` itself if there is none."""
    found = [uuid for uuid in uuids if uuid.startswith(name)]
    return found[0] if len(found) == 1 and name.startswith("GPU-") else name


def _quota_cores() -> int | None:
    """Return the whole cores of a cgroup v2 quota, which the affinity does not show; None without
    a quota.
    """
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return max(1, int(quota) // int(period))
    except (OSError, ValueError):
        return None
