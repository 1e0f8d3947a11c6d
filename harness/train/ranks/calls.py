"""Rank 0's calls to the other ranks: sent to all, after which the results are received in order.

An error names the rank whose process has ended or that does not answer, whatever rank 0 waits for.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from harness.errors import HarnessError, StoppedError
from harness.train.ranks.links import TransferTimeout
from harness.train.ranks.rank_process import ENDS_WITHIN_S
from harness.train.ranks.roll_call import RollCall
from harness.train.ranks.worker import POLL_S, Call, RankLost, Worker, first_gone

EndRun = Callable[[Exception], None]
"""Ends the process with an error."""


class Calls:
    """The calls to a run's other ranks; a run of one rank has none."""

    def __init__(
        self,
        others: Sequence[Worker],
        end_run: EndRun | None = None,
        longest_s: float = float("inf"),
        roll_call: RollCall | None = None,
    ) -> None:
        """`end_run` is called from a thread if a rank's process has ended while rank 0 waits in
        torch; None to skip this check. `longest_s`: torch's timeout for tensors of other ranks.
        `roll_call`: finds out which of several ranks does not take part.
        """
        self.others, self._end_run, self._longest_s = others, end_run, longest_s
        self._roll_call = roll_call
        self._called, self._results = list[Worker](), list[Any]()
        self._waits_for: Callable[[], str | None] = lambda: None

    @property
    def waits_for(self) -> str | None:
        """The ranks that rank 0 waits for, or None.

        `rank 2 of 4` while its result is awaited, or if a roll call finds it silent or behind;
        `ranks 1 to 3` during a transfer of tensors if no single rank can be identified.
        """
        missing = [] if self._roll_call is None else self._roll_call.missing()
        return self._describe(missing) or self._waits_for()

    def _describe(self, ranks: Sequence[int]) -> str:
        """Describe those of `ranks` whose processes run; empty if there are none."""
        workers = [self.others[rank - 1] for rank in ranks]
        return " and ".join(worker.doing for worker in workers if worker.exit_code is None)

    @property
    def size(self) -> int:
        """Number of ranks."""
        return 1 + len(self.others)

    def ask(
        self,
        method: str,
        by_rank: Sequence[tuple[Any, ...] | None],
        otherwise: str | None = None,
    ) -> None:
        """Call `method` on every rank except rank 0 with the rank's arguments.

        A rank whose arguments are None is called with the method `otherwise` instead, or not at all
        if that is None.
        """
        self._called, self._results = [], []
        for worker, arguments in zip(self.others, by_rank[1:], strict=True):
            if arguments is None and otherwise is None:
                continue
            call = Call(otherwise or method) if arguments is None else Call(method, arguments)
            worker.send(call)
            self._called.append(worker)

    def ask_others(self, method: str, *arguments: Any) -> None:
        """Call `method` on all ranks except rank 0 with the same arguments."""
        self.ask(method, [None, *([arguments] * len(self.others))])

    def take(self) -> list[Any]:
        """Wait for the results of the last calls and return them, rank by rank."""
        for worker in self._called[len(self._results) :]:
            self._waits_for = partial(getattr, worker, "doing")
            self._results.append(self._receive(worker))
        values, self._called, self._results = self._results, [], []
        self._waits_for = lambda: None
        return values

    def _receive(self, worker: Worker) -> Any:
        try:
            return worker.receive(self._check_alive)
        except RankLost as error:
            ended_worker = first_gone(self.others)  # the lost rank may have waited for it
            if ended_worker is None:
                raise
            raise self._cause(ended_worker) from error

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Return a context for further calls while results are pending, as during a rollout.

        The pending results are received first; `take` returns them after the context.
        """
        called = self._called
        results = self.take()
        yield
        self._called, self._results = called, results

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Return a context for transfers of tensors.

        If a rank has ended or does not take part, it raises RankLost with that rank, or the error
        that ended the rank.
        """
        ranks = f"rank 1 of {self.size}" if self.size == 2 else f"ranks 1 to {self.size - 1}"
        self._waits_for, began = (lambda: ranks), time.monotonic()
        try:
            with self._with_watcher():
                yield
        except TransferTimeout as error:
            raise self.others[0].lost_touch(self.waits_for or ranks) from error
        except RuntimeError as error:
            ended_worker = first_gone(self.others)
            if ended_worker is not None:
                raise self._cause(ended_worker) from error
            if time.monotonic() - began >= self._longest_s:
                raise self.others[0].lost_touch(self.waits_for or ranks) from error
            raise
        finally:
            self._waits_for = lambda: None

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """Return a context like `watching` without a timeout, in which ranks draw together."""
        try:
            with self._with_watcher():
                yield
        except RuntimeError as error:
            ended_worker = first_gone(self.others) if self.others else None
            if ended_worker is not None:
                raise self._cause(ended_worker) from error
            raise

    def _cause(self, ended_worker: Worker) -> Exception:
        """Return the error that ends the run because the process of `ended_worker` has ended.

        This is the rank's own error, unless torch ended it while it waited for a silent rank; then
        it is the loss of the silent rank.
        """
        cause = ended_worker.cause()
        has_error = isinstance(cause, HarnessError) and not isinstance(cause, RankLost)
        if self._roll_call is None or has_error or ended_worker.exit_code != StoppedError.exit_code:
            return cause
        silent = self._describe(self._roll_call.silent())
        if not silent:
            return cause
        error = self.others[0].lost_touch(silent)
        for note in (str(cause), *getattr(cause, "__notes__", ())):
            error.add_note(note)  # a bug keeps its traceback
        return error

    def _check_alive(self) -> None:
        """Raise the error of a rank that has ended, since ranks that draw with it would wait."""
        if any(worker.exit_code is not None for worker in self.others):
            ended_worker = first_gone(self.others)
            assert ended_worker is not None
            raise self._cause(ended_worker)

    @contextmanager
    def _with_watcher(self) -> Iterator[None]:
        """Return a context in which a thread watches for ranks whose processes have ended.

        If torch does not notice it, as with NCCL, the thread ends the run.
        """
        if self._end_run is None:
            yield
            return
        finished = threading.Event()
        watcher = threading.Thread(target=self._watch, args=(finished, self._end_run), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            finished.set()

    def _watch(self, finished: threading.Event, end_run: EndRun) -> None:
        while not finished.wait(POLL_S):
            if any(worker.exit_code is not None for worker in self.others):
                if not finished.wait(ENDS_WITHIN_S):
                    ended_worker = first_gone(self.others)
                    assert ended_worker is not None
                    cause = self._cause(ended_worker)  # can take as long as a roll call
                    if not finished.is_set():
                        end_run(cause)
                return
