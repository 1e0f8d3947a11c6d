"""Sets up a process: its streams, the permissions of its files, its signals, its parent."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
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
OCTAL = re.compile("[0-7]{1,3}|0[0-7]{3}")
DEBUG = "HARNESS_DEBUG"
"""Variable set by --debug, also for the processes of runs: tracebacks are printed too."""


def open_descriptors() -> None:
    """Open the descriptors 0, 1 and 2 on /dev/null if they are closed.

    Otherwise the next file opened would get such a number, and messages for stderr would be written
    to that file.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)  # gets the lowest free number
    for name, descriptor in (("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(descriptor, "w", closefd=False))  # noqa: SIM115


LARGE_BLOCK_BYTES = 2**19
_M_MMAP_THRESHOLD = -3  # malloc.h


def return_large_blocks() -> bool:
    """Make malloc return blocks of LARGE_BLOCK_BYTES or more to the system when they are freed.

    Returns whether the C library supports this. By default glibc raises the threshold up to 32 MB
    and keeps freed blocks below it. Freed tensors between those that backward needs then leave
    holes in which other sizes do not fit: three quarters of a language model's memory.
    """
    if sys.platform != "linux":
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # only glibc has it
    return mallopt is not None and bool(mallopt(_M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES))


def keep_private() -> None:
    """Make files of this process and its children private to the user: 0600, folders 0700.

    $HARNESS_UMASK, an octal number such as 027, replaces this umask. Raises ConfigError if it is
    not octal.
    """
    umask = os.environ.get(UMASK, PRIVATE)
    if not OCTAL.fullmatch(umask):  # int() would also take -27, which opens files to everybody
        raise ConfigError(f"{UMASK} must be an octal number as in 027, got {umask!r}")
    os.umask(int(umask, 8))


def defer_stops() -> None:
    """Block stop signals until `admit_stops`, also across an exec, and ignore hangups."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP_SIGNALS)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)


def admit_stops() -> None:
    """Deliver the stop signals that were deferred."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)


@contextlib.contextmanager
def deferred_signals(numbers: Iterable[int]) -> Iterator[list[int]]:
    """Within the block, append these signals to the yielded list instead of handling them."""
    received: list[int] = []
    handlers = {n: signal.getsignal(n) for n in numbers if callable(signal.getsignal(n))}
    for number in handlers:
        signal.signal(number, lambda number, _: received.append(number))
    try:
        yield received
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def interrupt_kept_from_children() -> Iterator[None]:
    """Block SIGINT in processes that this thread starts within the block, while this process still
    handles it.

    A terminal sends Ctrl-C to them too, and Python would end them with a traceback before they
    could set a handler. They inherit the signal mask across exec. Meanwhile another thread of this
    process, without the mask, receives the signal.
    """
    resource_tracker.ensure_running()  # starting it later would unblock SIGINT in this thread
    finished = threading.Event()
    receiver = threading.Thread(target=finished.wait, daemon=True)
    receiver.start()
    previous_mask = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous_mask)
        finished.set()
        receiver.join()


def stop_is_due() -> bool:
    """Whether a deferred stop signal is pending."""
    return not signal.sigpending().isdisjoint(STOP_SIGNALS)


def die_with(parent_pid: int) -> None:
    """Kill this process as soon as process `parent_pid`, its parent, has ended in any way."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
        if os.getppid() != parent_pid:  # the parent ended before the call above
            os.kill(os.getpid(), signal.SIGKILL)
    else:
        threading.Thread(target=_watch, args=(parent_pid,), daemon=True).start()


def _watch(parent_pid: int) -> None:
    while os.getppid() == parent_pid:
        time.sleep(POLL_S)
    os.kill(os.getpid(), signal.SIGKILL)
