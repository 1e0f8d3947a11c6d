"""A step that does not end: the run does, resumably, and says why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.limited import RUN, quick
from tests.train.made import finish, long_step, make_run, status
from tests.train.made_hugging_face import SMALL, config

HANGS_ONCE = """
import itertools, os, sys, time
from pathlib import Path
real, calls, flag = os.fsync, itertools.count(), Path(sys.orig_argv[-1]).with_name("hung")
def fsync(descriptor):
    if next(calls) == 30 and not flag.exists():
        flag.touch()
        time.sleep(1e6)
    real(descriptor)
if "harness.train" in sys.orig_argv:
    os.fsync = fsync
"""

WITH_A_CACHE_THAT_IS_HELD = """
import functools, sys
from filelock import FileLock
from harness.simulator.scripted import kept_replies
from harness.train import __main__ as train
kept_replies.reading_cache = functools.partial(kept_replies.reading_cache, 1)
kept_replies.LONGEST_WAIT_S = 6.0
with FileLock(kept_replies._entry().with_suffix(".lock")):
    sys.exit(train.main())
"""

WITH_A_DISK_THAT_FAILS_ONCE_AND_HANGS = """
import errno, os, sys, threading, time
from harness.train import __main__ as train
real, hung, failed = os.fsync, threading.Event(), []
def fsync(descriptor):
    if threading.current_thread().name == "checkpoint":
        hung.set()
        time.sleep(1e6)
    if not failed and any(thread.name == "checkpoint" for thread in threading.enumerate()):
        hung.wait()
        failed.append(True)
        raise OSError(errno.EIO, os.strerror(errno.EIO))
    real(descriptor)
os.fsync = fsync
sys.exit(train.main())
"""


def test_a_step_past_its_deadline_ends_the_run_to_be_resumed(tmp_path: Path) -> None:
    run, child = long_step(tmp_path, deadline_s=0.3)
    out, err = child.communicate(timeout=20)
    assert child.returncode == 75
    assert json.loads(out.splitlines()[-1]) == {
        "event": "end",
        "status": "stopped",
        "exit_code": 75,
    }
    reason = "ended within step 1, after 0.3 s in it (trainer.deadline_s)"
    assert (status(run)["status"], status(run)["reason"]) == ("stopped", reason)
    saved = f"no checkpoint is saved, continue with `harness resume {run.path}`"
    assert err == f"harness: {run.path}: {reason}; {saved}\n"


@pytest.mark.slow
def test_what_comes_after_the_last_step_has_no_deadline(tmp_path: Path) -> None:
    """As waiting for a cache that another run writes."""
    run = make_run(tmp_path / "run", quick(deadline_s=5.0))
    words = [sys.executable, "-c", WITH_A_CACHE_THAT_IS_HELD, str(run.path)]
    cache = {**os.environ, "HARNESS_CACHE": str(tmp_path)}
    done = subprocess.run(words, env=cache, capture_output=True, text=True, check=False)
    assert (done.returncode, status(run)["status"]) == (0, "done"), done.stderr
    assert [path.suffix for path in tmp_path.glob("replies-*")] == [".lock"]


@pytest.mark.slow
def test_a_run_that_failed_waits_for_its_last_checkpoint_until_the_deadline(tmp_path: Path) -> None:
    """A thread writes it, to a disk that never answers."""
    run = make_run(tmp_path / "run", config(SMALL, steps=4, deadline_s=10.0))
    words = [sys.executable, "-c", WITH_A_DISK_THAT_FAILS_ONCE_AND_HANGS, str(run.path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 75, done.stderr
    reason = "ended within step 2, after 10 s in it (trainer.deadline_s)"
    assert (status(run)["status"], status(run)["reason"]) == ("stopped", reason)
    assert f"harness: {run.path}: {reason}; " in done.stderr
    assert finish(run)[0] == 0


@pytest.mark.slow
def test_what_hung_once_goes_on_to_the_same_rows(whole: bytes, tmp_path: Path) -> None:
    """As a disk of another machine hangs, amid the steps."""
    (tmp_path / "sitecustomize.py").write_text(HANGS_ONCE)
    run = make_run(tmp_path / "run", quick(deadline_s=5.0))
    poisoned = {**os.environ, "PYTHONPATH": str(tmp_path)}
    words = [*RUN, str(run.path)]
    done = subprocess.run(words, env=poisoned, capture_output=True, text=True, check=False)
    assert done.returncode == 75, done.stderr
    assert "after 5 s in it (trainer.deadline_s)" in done.stderr
    assert finish(run)[0] == 0
    assert run.metrics.read_bytes() == whole
