"""What a process owes to the one that started it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time

POLL_S = 0.2


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
