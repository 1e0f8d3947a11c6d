"""Another rank, from the view of rank 0: calls of its work, and their results.

Calls and results are sent as pickles over a private pair of sockets. Over another pair the rank
makes requests to rank 0 during a call, for example for its served users' answers.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import shlex
import socket
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from harness.errors import HarnessError, StoppedError
from harness.train.ranks.rank_process import (
    ENDS_WITHIN_S,
    LocalProcess,
    Process,
    start_process,
)

POLL_S = 0.05
WAITING_S = 0.2
"""Seconds between calls of the checks while a result is awaited."""
Explain = Callable[[Exception], HarnessError | None]


@dataclass(frozen=True)
class Call:
    """A method of a rank's work, by name, and its arguments."""

    method: str
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class CallResult:
    """The result of a call."""

    value: Any = None
    error: HarnessError | None = None
    bug: str | None = None
    """Type, message and traceback of any other exception."""
    exit_code: int = 0
    """Exit code of the rank's process if an error ends it."""
    cpu_s: float = 0.0
    """CPU time of the rank's process so far."""


class RankLost(StoppedError):
    """A rank's process has ended, which ends the run; the run can be resumed."""


class RankError(Exception):
    """A bug in another rank; the rank's traceback is added as a note."""


def started_here(run: Path, rank: int, size: int, gpu: str = "") -> Worker:
    """Start a rank on this node; `gpu`: see `start_process`."""
    calls, their_calls = socket.socketpair()
    asks, their_asks = socket.socketpair()
    with their_calls, their_asks:
        popen = start_process(run, their_calls, their_asks, gpu)
    return Worker(run, rank, size, LocalProcess(popen), calls, asks)


class Worker:
    """A rank other than rank 0, from the view of rank 0."""

    def __init__(
        self,
        run: Path,
        rank: int,
        size: int,
        process: Process,
        calls: socket.socket,
        asks: socket.socket,
    ) -> None:
        """`calls`, `asks`: rank 0's ends of the connections to the process of rank `rank`."""
        self.rank, self._size, self._run, self._process = rank, size, run, process
        self.cpu_s = 0.0
        self._sockets = (asks, calls)
        self._connection = connection_of(calls)
        self.asks = connection_of(asks)
        """Connection for the rank's requests to rank 0."""
        self.waiting: Callable[[], None] = lambda: None
        """Called every WAITING_S seconds while a result is awaited; may raise to end the run."""
        self.users_awaited: Callable[[], int] = lambda: 0
        """Returns the number of served users that the rank waits for."""

    @property
    def name(self) -> str:
        """`rank 1 of 2`, with the node if it is not rank 0's."""
        return f"rank {self.rank} of {self._size}{self._process.where}"

    def send(self, call: Call) -> None:
        """Send a call. Raises RankLost if the process has ended."""
        try:
            self._connection.send_bytes(pickle.dumps(call))
        except OSError as error:
            raise self.lost_error() from error

    def receive(self, check: Callable[[], None] = lambda: None) -> Any:
        """Wait for the value of the last call; `check` is called meanwhile and may raise.

        Raises the HarnessError of the call, RankError for any other exception, and RankLost if the
        process has ended.
        """
        try:
            while not self._connection.poll(WAITING_S):
                self.waiting()
                check()
            answer: CallResult = pickle.loads(self._connection.recv_bytes())
        except (EOFError, OSError) as error:
            raise self.lost_error() from error
        self.cpu_s = answer.cpu_s
        if answer.error is not None:
            raise type(answer.error)(f"{answer.error} ({self.name})")
        if answer.bug is not None:
            message, _, trace = answer.bug.partition("\n")
            bug = RankError(f"{message} ({self.name})")
            bug.add_note(trace)
            raise bug
        return answer.value

    def cause(self) -> Exception:
        """Return the error that ends the run because this rank's process has ended: the error of
        its last answer, if there is one, else RankLost.
        """
        if self._connection.poll():
            try:
                self.receive()
            except Exception as error:
                return error
        return self.lost_error()

    @property
    def exit_code(self) -> int | None:
        """Exit code of the process, -N if signal N ended it; None while it runs."""
        return self._process.poll()

    @property
    def doing(self) -> str:
        """The rank and the users it waits for, as `rank 1 of 2, which waits for 3 users`."""
        users = self.users_awaited()
        suffix = f", which waits for {users} user{'s'[: users > 1]}" if users else ""
        return f"{self.name}{suffix}"

    def check_alive(self) -> None:
        """Raise RankLost if the process has ended."""
        if self.exit_code is not None:
            raise self.lost_error()

    def lost_touch(self, ranks: str) -> RankLost:
        """Return the error for `ranks` that run but do not take part in a transfer."""
        return self._lost(f"{ranks} taking no part in a transfer")

    def lost_error(self) -> RankLost:
        """Return the error for the end of this rank's process."""
        self._process.wait(ENDS_WITHIN_S)
        return self._lost(f"rank {self.rank} of {self._size} {self._process.how_ended()}")

    def _lost(self, problem: str) -> RankLost:
        return RankLost(
            f"{self._run}: a run needs all of its ranks, got {problem}; continue with "
            f"`harness resume {shlex.quote(str(self._run))}`"
        )

    def end(self) -> None:
        """Let the process end; kill it if it takes too long."""
        for sock in self._sockets:  # a thread may wait for the rank's requests
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
        self._connection.close()
        if not self._process.wait(ENDS_WITHIN_S):
            self._process.kill()


def connection_of(sock: socket.socket) -> Connection:
    """Return a message connection over a duplicate of the socket, which the caller keeps."""
    return Connection(os.dup(sock.fileno()))


def first_gone(workers: Sequence[Worker]) -> Worker | None:
    """Wait up to ENDS_WITHIN_S for a worker whose process has ended and return it, or None.

    Of several, it is the one with the lowest exit code, which is negative after a signal. The
    others ended with 75 because that one was gone.
    """
    deadline = time.monotonic() + ENDS_WITHIN_S
    while time.monotonic() < deadline:
        codes = {worker: code for worker in workers if (code := worker.exit_code) is not None}
        if codes:
            return min(codes, key=lambda worker: codes[worker])
        time.sleep(POLL_S)
    return None


def serve(
    connection: Connection,
    rank: object,
    explain: Explain,
    ends_by_error: Callable[[], bool] = lambda: False,
) -> None:
    """Answer calls with the methods of `rank` until rank 0 has ended or closes the connection.

    `explain`: turns a library's exception into a HarnessError, None for a bug. `ends_by_error`:
    returns whether an error ends the process, so that others do not wait for it in torch.
    """
    with contextlib.suppress(EOFError, OSError):
        while True:
            call: Call = pickle.loads(connection.recv_bytes())
            answer = _answer(rank, call, explain)
            connection.send_bytes(pickle.dumps(answer))
            if answer.exit_code and ends_by_error():
                os._exit(answer.exit_code)


def _answer(rank: object, call: Call, explain: Explain) -> CallResult:
    try:
        value = getattr(rank, call.method)(*call.arguments)
        return CallResult(value, cpu_s=time.process_time())
    except Exception as error:
        known_error = error if isinstance(error, HarnessError) else explain(error)
        if known_error is not None:
            return CallResult(
                error=known_error, exit_code=known_error.exit_code, cpu_s=time.process_time()
            )
        summary = " ".join(f"{type(error).__name__}: {error}".split())
        bug = f"{summary}\n{traceback.format_exc()}"
        code = StoppedError.exit_code if isinstance(error, RuntimeError) else 1  # a rank is gone
        return CallResult(bug=bug, exit_code=code, cpu_s=time.process_time())
