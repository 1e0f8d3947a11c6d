"""The devices that a run leases while it trains: its GPUs and its vLLM server."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from harness.config.run import RunConfig
from harness.execution import engine_lease, gpu_lease
from harness.execution.engine_lease import EngineLease
from harness.execution.gpu_lease import GpuLease


@dataclass(frozen=True)
class RunLease:
    """The leases of one run. Its process keeps their locks open, so that they end with it."""

    gpu: GpuLease = field(default_factory=GpuLease)
    engine: EngineLease = field(default_factory=EngineLease)

    @property
    def descriptors(self) -> tuple[int, ...]:
        return (*self.gpu.descriptors, *self.engine.descriptors)


def take(
    config: RunConfig,
    give_up: Callable[[], bool] = lambda: False,
    tell: Callable[[str], None] = lambda _: None,
) -> RunLease:
    """Wait for GPUs, then for a server. The fixed order prevents deadlocks between runs.

    Raises DeviceError if the machine has too few GPUs, StoppedError once `give_up()` is true.
    """
    gpu = gpu_lease.take(config.trainer.gpus, give_up, config.trainer.runs_per_gpu)
    try:
        return RunLease(gpu, engine_lease.take(config, give_up, tell))
    except BaseException:
        release(RunLease(gpu))
        raise


def release(lease: RunLease) -> None:
    for descriptor in lease.descriptors:
        os.close(descriptor)


@contextlib.contextmanager
def leased(config: RunConfig, give_up: Callable[[], bool]) -> Iterator[RunLease]:
    """`take` as a context manager, which releases the leases at the end."""
    lease = take(config, give_up)
    try:
        yield lease
    finally:
        release(lease)
