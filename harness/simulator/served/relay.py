"""Served users of a run with several processes: one process makes the requests of all.

There is one journal, one set of limits, and one call for identical requests. The other processes
send turns and replies to the process with the client, and receive the users' turns once they are
on disk.
"""

from __future__ import annotations

import contextlib
import itertools
import pickle
import threading
import traceback
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from harness.config.run import DifficultyConfig
from harness.errors import HarnessError
from harness.simulator.protocol import (
    ConversationKey,
    SupporterReply,
    UserTurn,
)
from harness.simulator.served.client import EndpointClient
from harness.simulator.served.simulator import ServedSimulator
from harness.utils.pending import AwaitableResult


class RelayError(Exception):
    """A bug in the process that makes the requests, or its loss."""


@dataclass(frozen=True)
class UserQuery:
    """A batch of requests: openings, or answers to replies."""

    number: int
    difficulty: DifficultyConfig
    keys: tuple[ConversationKey, ...] = ()
    """Conversations to open; if empty, `turns` and `replies` are to be answered."""
    turns: tuple[UserTurn, ...] = ()
    replies: tuple[SupporterReply, ...] = ()

    @property
    def users(self) -> int:
        """Number of users in the batch."""
        return len(self.keys) + len(self.turns)


@dataclass(frozen=True)
class QueryResult:
    """The users' turns, or the error."""

    number: int
    turns: tuple[UserTurn, ...] = ()
    error: HarnessError | None = None
    bug: str | None = None
    """Type, message and traceback of any other exception."""


class Relay:
    """Makes the requests of one other process until it closes the connection.

    A process that does not read its answers does not block the others.
    """

    def __init__(self, connection: Connection, client: EndpointClient) -> None:
        self._connection, self._client = connection, client
        self._done: SimpleQueue[QueryResult | None] = SimpleQueue()
        self._open: dict[int, int] = {}
        for work in (self._ask_all, self._send_all):
            threading.Thread(target=work, daemon=True).start()

    @property
    def waits_for(self) -> int:
        """Number of users who have not answered the other process yet."""
        return sum(list(self._open.values()))

    def _ask_all(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                self._ask(pickle.loads(self._connection.recv_bytes()))
        self._done.put(None)

    def _ask(self, question: UserQuery) -> None:
        users = ServedSimulator(question.difficulty, self._client)
        self._open[question.number] = question.users
        try:
            if question.keys:
                pending = users.ask_to_open(question.keys)
            else:
                pending = users.ask(question.turns, question.replies)
        except Exception as error:
            self._queue_result(_error_result(question, error))
            return
        pending.futures[0].add_done_callback(partial(self._queue_answer, question))

    def _queue_answer(self, question: UserQuery, future: Future[list[UserTurn]]) -> None:
        """Queue an answer. This runs in the client's thread, which must not wait for a process."""
        error = None if future.cancelled() else future.exception()
        if future.cancelled():
            self._open.pop(question.number, None)
        elif isinstance(error, Exception):
            self._queue_result(_error_result(question, error))
        else:
            self._queue_result(QueryResult(question.number, tuple(future.result())))

    def _queue_result(self, result: QueryResult) -> None:
        self._open.pop(result.number, None)
        self._done.put(result)

    def _send_all(self) -> None:
        with contextlib.suppress(OSError):
            while (result := self._done.get()) is not None:
                self._connection.send_bytes(pickle.dumps(result))


def _error_result(question: UserQuery, error: Exception) -> QueryResult:
    if isinstance(error, HarnessError):
        return QueryResult(question.number, error=error)
    message = " ".join(f"{type(error).__name__}: {error}".split())
    trace = "".join(traceback.format_exception(error))
    return QueryResult(question.number, bug=f"{message}\n{trace}")


class RelayLine:
    """The other process's end of the connection, with several questions in flight."""

    def __init__(self, connection: Connection) -> None:
        self._connection, self._numbers = connection, itertools.count()
        self._lock = threading.Lock()
        self._pending: dict[int, Future[list[UserTurn]]] | None = {}
        threading.Thread(target=self._receive_all, daemon=True).start()

    def ask(self, difficulty: DifficultyConfig, **fields: Any) -> AwaitableResult[list[UserTurn]]:
        """Send a UserQuery with these `fields`, and return at once."""
        future: Future[list[UserTurn]] = Future()
        number = next(self._numbers)
        with self._lock:
            if self._pending is None:
                raise _lost_error()
            self._pending[number] = future
        question = UserQuery(number, difficulty, **fields)
        try:
            self._connection.send_bytes(pickle.dumps(question))
        except OSError as error:
            raise _lost_error() from error
        return AwaitableResult(future.result, (future,))

    def _receive_all(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                self._receive(pickle.loads(self._connection.recv_bytes()))
        with self._lock:
            pending, self._pending = self._pending or {}, None
        for future in pending.values():
            future.set_exception(_lost_error())

    def _receive(self, result: QueryResult) -> None:
        with self._lock:
            assert self._pending is not None, "only this thread ends the line"
            future = self._pending.pop(result.number)
        if result.error is not None:
            future.set_exception(result.error)
        elif result.bug is not None:
            message, _, trace = result.bug.partition("\n")
            bug = RelayError(message)
            bug.add_note(trace)
            future.set_exception(bug)
        else:
            future.set_result(list(result.turns))


def _lost_error() -> RelayError:
    return RelayError("the process that asks the endpoint is gone")


class RelayedUsers:
    """The served users of one difficulty level, whose requests another process makes."""

    def __init__(self, difficulty: DifficultyConfig, line: RelayLine) -> None:
        self.difficulty, self._line = difficulty, line

    def open(self, keys: Sequence[ConversationKey]) -> list[UserTurn]:
        """Return the opening of each conversation."""
        return self._line.ask(self.difficulty, keys=tuple(keys))() if keys else []

    def answer(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> list[UserTurn]:
        """Return the user's answer to each reply. Raises ValueError for an ended conversation."""
        return self.ask(turns, replies)()

    def ask(
        self, turns: Sequence[UserTurn], replies: Sequence[SupporterReply]
    ) -> AwaitableResult[list[UserTurn]]:
        """Begin to answer and return at once. Raises ValueError for an ended conversation."""
        ServedSimulator.refuse_ended(turns)
        return self._line.ask(self.difficulty, turns=tuple(turns), replies=tuple(replies))


_line: RelayLine | None = None


def relay_through(connection: Connection) -> None:
    """Have another process make all requests for this process's served users from now on."""
    global _line
    _line = RelayLine(connection)


def line() -> RelayLine | None:
    """Return the line to the process that makes the requests; None if this process makes them."""
    return _line
