"""Set up a process: its streams, the privacy of its files, its signals, its parent."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from multiprocessing import resource_tracker

from harness.errors import ConfigError

POLL_S = 0.2
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
UMASK = "HARNESS_UMASK"
PRIVATE = "077"
DEBUG = "HARNESS_DEBUG"
"""Set by --debug, for the processes of runs: tracebacks are shown as well as logged."""


def open_descriptors() -> None:
    """Open 0, 1 and 2 on nothing where they are closed.

    The next file opened would get such a number, and what is said on stderr would land in it.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # the lowest that is free
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, "w", closefd=False))  # noqa: SIM115


LARGE_BLOCK_BYTES = 2**19
_M_MMAP_THRESHOLD = -3  # malloc.h


def return_large_blocks() -> bool:
    """Have memory blocks of LARGE_BLOCK_BYTES returned to the system once they are free; whether
    this C library can.

    glibc raises that bound by itself, up to 32 MB, and keeps what is below it. Between the tensors
    that backward needs, freed ones then leave holes that no other size fits into: three quarters
    of a language model's memory.
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # glibc's; others have none
    return mallopt is not None and bool(mallopt(_M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES))


def keep_private() -> None:
    """Make what this process and its children write their user's alone: 0600, folders 0700.

    $HARNESS_UMASK, as in 027, opens it to others. Raises ConfigError for another value.
    """
    umask = os.environ.get(UMASK, PRIVATE)
    try:
        os.umask(int(umask, 8) & 0o777)
    except ValueError as error:
        raise ConfigError(f"{UMASK} must be an octal number as in 027, got {umask!r}") from error


def defer_stops() -> None:
    """Keep stop requests back, over an exec too, until `admit_stops`; a hangup stops nothing."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def admit_stops() -> None:
    """Deliver the stop signals that were deferred."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)


@contextlib.contextmanager
def put_off(numbers: Iterable[int]) -> Iterator[list[int]]:
    """Note these signals in the yielded list instead of handling them, within the block."""
    came: list[int] = []
    before = {n: signal.getsignal(n) for n in numbers if callable(signal.getsignal(n))}
    for number in before:
        signal.signal(number, lambda number, _: came.append(number))
    try:
        yield came
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def interrupt_kept_from_children() -> Iterator[None]:
    """Have processes that this thread starts within the block never get SIGINT, from their first
    moment on, while this process goes on to obey it.

    A terminal's Ctrl-C goes to them too, and before they can set a handler Python ends them with a
    traceback. A signal mask outlives an exec; meanwhile another thread takes the signal for us.
    """
    resource_tracker.ensure_running()  # multiprocessing unblocks SIGINT here where it starts this
    over = threading.Event()
    taker = threading.Thread(target=over.wait, daemon=True)
    taker.start()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        over.set()
        taker.join()


def stop_is_due() -> bool:
    """Whether one is kept back just now."""
    return not signal.sigpending().isdisjoint(STOP_SIGNALS)


def die_with(parent_pid: int) -> None:
    """End this process, at once, when process `parent_pid` is gone, however it went."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
        if os.getppid() != parent_pid:  # it went before the call above
            os.kill(os.getpid(), signal.SIGKILL)
    else:
        threading.Thread(target=_watch, args=(parent_pid,), daemon=True).start()


def _watch(parent_pid: int) -> None:
    while os.getppid() == parent_pid:
        time.sleep(POLL_S)
    os.kill(os.getpid(), signal.SIGKILL)
