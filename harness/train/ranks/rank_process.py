"""The process of a rank but the first: started, waited for, and ended."""

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
"""Most time for a rank that is no longer needed, or has just been lost, to be gone."""


class Process(ABC):
    """The process of a rank, on this node or another."""

    where = ""
    """` on node n2`; empty for this one."""

    @abstractmethod
    def poll(self) -> int | None:
        """Its exit code, -N if signal N ended it; None while it runs."""

    @abstractmethod
    def wait(self, timeout_s: float) -> bool:
        """Wait for its end; whether it has ended."""

    @abstractmethod
    def kill(self) -> None:
        """End it at once."""

    def how_ended(self) -> str:
        """`killed by signal 9`, and where; of one that has not ended, that it is out of reach."""
        code = self.poll()
        if code is None:
            return f"no longer to be reached{self.where}"
        how = f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        return f"{how}{self.where}"


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
    run: Path, calls: socket.socket, asks: socket.socket, card: str
) -> subprocess.Popen[bytes]:
    """Start a rank with its ends of its two connections to rank 0; it ends with this process.

    `card`: the GPU that it has, as CUDA_VISIBLE_DEVICES takes it.
    """
    words = [sys.executable, "-P", "-m", MODULE]
    words += [str(calls.fileno()), str(asks.fileno()), str(os.getpid()), str(run)]
    return subprocess.Popen(
        words,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": card},
        pass_fds=[calls.fileno(), asks.fileno()],
        process_group=0,  # a terminal's Ctrl-C is rank 0's to obey
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr.fileno(),  # stdout is for the run's events
    )
