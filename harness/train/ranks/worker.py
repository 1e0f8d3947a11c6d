"""Another rank, as rank 0 has it: calls of its work, and their results.

Calls and results travel as pickles over a pair of sockets that no other process has; over another
pair, what the rank asks of rank 0 within a call, as its served users' answers.
"""

from __future__ import annotations

import contextlib
import os
import pickle
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
"""Seconds between looks at other things while a result is waited for."""
Explained = Callable[[Exception], HarnessError | None]


@dataclass(frozen=True)
class Call:
    """A method of a rank's work, by name, and its arguments."""

    method: str
    arguments: tuple[Any, ...] = ()


@dataclass(frozen=True)
class Answer:
    """What a call came to."""

    value: Any = None
    error: HarnessError | None = None
    bug: str | None = None
    """Of any other exception: its type, its message and its traceback."""
    exit_code: int = 0
    """That of the rank's process, where an error ends it."""
    cpu_s: float = 0.0
    """CPU time of the rank's process so far."""


class RankLost(StoppedError):
    """A rank's process is gone: the run ends, and can be resumed."""


class RankError(Exception):
    """A bug in another rank; its traceback is a note of this."""


def started_here(run: Path, rank: int, of: int, card: str = "") -> Worker:
    """A rank on this node; `card`: see `start_process`."""
    calls, their_calls = socket.socketpair()
    asks, their_asks = socket.socketpair()
    with their_calls, their_asks:
        popen = start_process(run, their_calls, their_asks, card)
    return Worker(run, rank, of, LocalProcess(popen), calls, asks)


class Worker:
    """A rank but the first, as rank 0 has it."""

    def __init__(
        self,
        run: Path,
        rank: int,
        of: int,
        process: Process,
        calls: socket.socket,
        asks: socket.socket,
    ) -> None:
        """`calls`, `asks`: rank 0's ends of the connections to the process of rank `rank`."""
        self.rank, self._of, self._run, self._process = rank, of, run, process
        self.cpu_s = 0.0
        self._sockets = (asks, calls)
        self._connection = connection_of(calls)
        self.asks = connection_of(asks)
        """Where the rank asks for what rank 0 alone may do."""
        self.waiting: Callable[[], None] = lambda: None
        """Called now and then while a result is waited for; raises what ends the run."""
        self.users_awaited: Callable[[], int] = lambda: 0
        """Number of served users whom the rank waits for."""

    @property
    def name(self) -> str:
        """`rank 1 of 2`, and its node if that is another than rank 0's."""
        return f"rank {self.rank} of {self._of}{self._process.where}"

    def send(self, call: Call) -> None:
        """Ask for a call. Raises RankLost if the process is gone."""
        try:
            self._connection.send_bytes(pickle.dumps(call))
        except OSError as error:
            raise self.lost() from error

    def receive(self, check: Callable[[], None] = lambda: None) -> Any:
        """Wait for the value of the last call; `check` is called meanwhile, and may raise.

        Raises the HarnessError that it raised, RankError for any other exception, and RankLost if
        the process is gone.
        """
        try:
            while not self._connection.poll(WAITING_S):
                self.waiting()
                check()
            answer: Answer = pickle.loads(self._connection.recv_bytes())
        except (EOFError, OSError) as error:
            raise self.lost() from error
        self.cpu_s = answer.cpu_s
        if answer.error is not None:
            raise type(answer.error)(f"{answer.error} ({self.name})")
        if answer.bug is not None:
            what, _, trace = answer.bug.partition("\n")
            bug = RankError(f"{what} ({self.name})")
            bug.add_note(trace)
            raise bug
        return answer.value

    def cause(self) -> Exception:
        """The error that ends the run since this rank's process is gone: the one that it answered
        at the end, if it did.
        """
        if self._connection.poll():
            try:
                self.receive()
            except Exception as error:
                return error
        return self.lost()

    @property
    def exit_code(self) -> int | None:
        """That of its process, -N if signal N ended it; None while it runs."""
        return self._process.poll()

    @property
    def doing(self) -> str:
        """Its number, and the users whom it waits for: `rank 1 of 2, which waits for 3 users`."""
        users = self.users_awaited()
        what = f", which waits for {users} user{'s'[: users > 1]}" if users else ""
        return f"{self.name}{what}"

    def check_alive(self) -> None:
        """Raise RankLost if the process is gone."""
        if self.exit_code is not None:
            raise self.lost()

    def lost_touch(self, ranks: str) -> RankLost:
        """The error that ends the run since `ranks` run, and do nothing."""
        return self._ended(f"{ranks} taking no part in a transfer")

    def lost(self) -> RankLost:
        """The error that ends the run since this rank is gone."""
        self._process.wait(ENDS_WITHIN_S)
        return self._ended(f"rank {self.rank} of {self._of} {self._process.how_ended()}")

    def _ended(self, what: str) -> RankLost:
        return RankLost(
            f"{self._run}: a run needs all of its ranks, got {what}; continue with "
            f"`harness resume {self._run}`"
        )

    def end(self) -> None:
        """Let the process end; it is killed if it takes too long."""
        for own in self._sockets:  # a thread may wait for the rank to ask
            with contextlib.suppress(OSError):
                own.shutdown(socket.SHUT_RDWR)
            own.close()
        self._connection.close()
        if not self._process.wait(ENDS_WITHIN_S):
            self._process.kill()


def connection_of(own: socket.socket) -> Connection:
    """Both ends' messages over a socket, which stays the caller's."""
    return Connection(os.dup(own.fileno()))


def first_gone(workers: Sequence[Worker]) -> Worker | None:
    """The worker whose process has ended, waited for a little. Of several the one that a signal
    killed, if any, else the lowest exit code: the others ended because it was gone, with 75.
    """
    until = time.monotonic() + ENDS_WITHIN_S
    while time.monotonic() < until:
        codes = {worker: code for worker in workers if (code := worker.exit_code) is not None}
        if codes:
            return min(codes, key=lambda worker: codes[worker])
        time.sleep(POLL_S)
    return None


def serve(
    connection: Connection,
    rank: object,
    explained: Explained,
    ends_by_error: Callable[[], bool] = lambda: False,
) -> None:
    """Answer calls by the methods of `rank` until rank 0 is gone or closes the connection.

    `explained`: a library's exception as ours, None for a bug; `ends_by_error`: whether the process
    ends by one, so that others do not wait for it in torch.
    """
    with contextlib.suppress(EOFError, OSError):
        while True:
            call: Call = pickle.loads(connection.recv_bytes())
            answer = _answer(rank, call, explained)
            connection.send_bytes(pickle.dumps(answer))
            if answer.exit_code and ends_by_error():
                os._exit(answer.exit_code)


def _answer(rank: object, call: Call, explained: Explained) -> Answer:
    try:
        value = getattr(rank, call.method)(*call.arguments)
        return Answer(value, cpu_s=time.process_time())
    except Exception as error:
        ours = error if isinstance(error, HarnessError) else explained(error)
        if ours is not None:
            return Answer(error=ours, exit_code=ours.exit_code, cpu_s=time.process_time())
        what = " ".join(f"{type(error).__name__}: {error}".split())
        bug = f"{what}\n{traceback.format_exc()}"
        code = StoppedError.exit_code if isinstance(error, RuntimeError) else 1  # another is gone
        return Answer(bug=bug, exit_code=code, cpu_s=time.process_time())
