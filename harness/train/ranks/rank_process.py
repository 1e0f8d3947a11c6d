"""The process of a rank other than rank 0."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
from abc import ABC, abstractmethod
from pathlib import Path

MODULE = "harness.train.loop.rank"
ENDS_WITHIN_S = 5.0
"""Longest wait for the process of a rank to end."""


class Process(ABC):
    """The process of a rank, on this node or another."""

    where = ""
    """` on node n2`; empty on this node."""

    @abstractmethod
    def poll(self) -> int | None:
        """Return the exit code, -N if signal N ended it; None while it runs."""

    @abstractmethod
    def wait(self, timeout_s: float) -> bool:
        """Wait for the end of the process and return whether it has ended."""

    @abstractmethod
    def kill(self) -> None:
        """Kill the process."""

    def how_ended(self) -> str:
        """Return how the process ended and where, as `killed by signal 9 on node n2`."""
        code = self.poll()
        if code is None:
            return f"no longer to be reached{self.where}"
        ending = f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return f"{ending}{self.where}"


class LocalProcess(Process):
    """A rank's process on this node."""

    def __init__(self, popen: subprocess.Popen[bytes]) -> None:
        self._popen = popen

    def poll(self) -> int | None:
        return self._popen.poll()

    def wait(self, timeout_s: float) -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._popen.wait(timeout_s)
        return self._popen.returncode is not None

    def kill(self) -> None:
        self._popen.kill()
        self._popen.wait()


def start_process(
    run: Path, calls: socket.socket, asks: socket.socket, gpu: str
) -> subprocess.Popen[bytes]:
    """Start a rank with its ends of its two connections to rank 0; it ends with this process.

    `gpu`: that of the rank, as a value of CUDA_VISIBLE_DEVICES.
    """
    command = [sys.executable, "-P", "-m", MODULE]
    command += [str(calls.fileno()), str(asks.fileno()), str(os.getpid()), str(run)]
    return subprocess.Popen(
        command,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": gpu},
        pass_fds=[calls.fileno(), asks.fileno()],
        process_group=0,  # only rank 0 handles Ctrl-C
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr.fileno(),  # stdout is for the run's events
    )
