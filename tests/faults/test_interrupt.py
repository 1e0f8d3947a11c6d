"""Ctrl-C while runs are fitted: one line, 130, nobody left behind and no half file."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import time
from pathlib import Path
from typing import TextIO, cast

import pytest
from rich.console import Console
from rich.file_proxy import FileProxy

from harness.testing import run_folders, synthetic
from harness.testing.commands import command, wait_until
from harness.utils import safe_text

RUNS = 120
"""Enough for other processes to take part."""
ENDED_BY_CTRL_C = (130, -signal.SIGINT)
"""The same to a shell: Python ends the second way where C code met the exception first."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("many")
    for number in range(RUNS):
        (root / "runs" / str(number)).mkdir(parents=True)
        log = synthetic.kink(number, 100, synthetic.LOW)
        run_folders.write_rows(root / "runs" / str(number), synthetic.rows(log))
    return root


@pytest.mark.slow
@pytest.mark.parametrize("after_s", [1.0, 2.0, 3.0, 4.5])
def test_a_fit_that_is_interrupted_says_so_and_leaves_nothing(runs: Path, after_s: float) -> None:
    pipe = subprocess.PIPE
    words = command("fit-entropy-law", "runs", "--json", "--out", f"law-{after_s}")
    child = subprocess.Popen(words, cwd=runs, stdout=pipe, stderr=pipe, text=True, process_group=0)
    time.sleep(after_s)
    os.killpg(child.pid, signal.SIGINT)  # as a terminal sends it, to all of them
    _, err = child.communicate(timeout=30)
    assert child.returncode in (0, *ENDED_BY_CTRL_C), err
    if child.returncode:
        assert err == "harness: interrupted\n"
    wait_until(lambda: _nobody_in(child.pid), "the others to have ended")
    out = runs / f"law-{after_s}"
    assert not list(out.glob(".*")), "a file half written"
    assert (out / "law.json").exists() or child.returncode


def _nobody_in(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


class _InAWrite(io.StringIO):
    """stdout as a signal's handler finds it that came within a write."""

    def flush(self) -> None:
        raise RuntimeError("reentrant call inside <_io.BufferedWriter name='<stdout>'>")


def test_what_a_signals_handler_says_reaches_stderr_past_a_live_table(tmp_path: Path) -> None:
    """A live table has stderr go through its console, which may be in the middle of a write."""
    with (tmp_path / "stderr").open("w", encoding="utf-8") as behind:
        console = Console(file=_InAWrite(), force_terminal=True)
        proxy = cast("TextIO", FileProxy(console, behind))
        assert safe_text.tell(proxy, "harness: interrupted\n")
    assert (tmp_path / "stderr").read_text(encoding="utf-8") == "harness: interrupted\n"
