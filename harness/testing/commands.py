"""The harness command as users run it, in a folder of its own and, if needed, in a process."""

import contextlib
import functools
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn, TypeVar

import pytest
import typer

from harness.cli import app

TABULAR = ("policy=tabular", "trainer.conversations=8", "trainer.eval_every=1000",
           "eval.users=4", "eval.prefixes=4")  # fmt: skip
"""Overrides of a run that takes milliseconds per step."""
BUDGET_S = 180
T = TypeVar("T")


def harness(*words: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `harness WORDS` in a process and wait for its end."""
    return subprocess.run(
        command(*words),
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
        capture_output=True,
        text=True,
        timeout=BUDGET_S,
        check=False,
    )


def here(
    *words: str, cwd: Path, stdin: bytes | str = b"", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `harness WORDS` in this process with `stdin` as its input.

    If the command replaces its process by that of a run, the run is started as a child process.
    """
    input_bytes = stdin if isinstance(stdin, bytes) else stdin.encode()
    streams = [
        io.TextIOWrapper(io.BytesIO(text), encoding="utf-8") for text in (input_bytes, b"", b"")
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(cwd)
        patch.setattr(sys, "argv", ["harness", *words])
        for name, value in environment.items():
            patch.setenv(name, value)
        for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            patch.setattr(sys, name, stream)
        patch.setattr(os, "execve", functools.partial(_follow, cwd))
        with pytest.raises(SystemExit) as exit_info:
            app.main()
    out, err = (_text(stream) for stream in streams[1:])
    return subprocess.CompletedProcess(words, int(exit_info.value.code or 0), out, err)


def _follow(cwd: Path, program: str, words: list[str], environment: dict[str, str]) -> NoReturn:
    """Run `words` in a child process that inherits descriptors, and exit with its code.

    This stands in for `os.execve`. The lock passed to the child is closed here, since a process
    that is replaced would no longer hold it.
    """
    result = subprocess.run(
        words,
        executable=program,
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=BUDGET_S,
        check=False,
        close_fds=False,
    )
    os.close(int(words[words.index("--lock") + 1]))
    sys.stdout.write(result.stdout)
    sys.stderr.write(result.stderr)
    raise typer.Exit(result.returncode)


def _text(stream: io.TextIOWrapper) -> str:
    stream.seek(0)
    return stream.read()


@contextlib.contextmanager
def start_command(*words: str, cwd: Path) -> Iterator[subprocess.Popen[str]]:
    """Start `harness WORDS` in a process; kill it at the end if it still runs."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command(*words), cwd=cwd, stdout=pipe, stderr=pipe, text=True) as child:
        try:
            yield child
        finally:
            child.kill()


def command(*words: str) -> list[str]:
    return [sys.executable, "-P", "-m", "harness", *words]


def wait_until(check: Callable[[], T | None], description: str) -> T:
    """Call `check` until its result is truthy; return it. Raises AssertionError after BUDGET_S."""
    deadline = time.monotonic() + BUDGET_S
    while time.monotonic() < deadline:
        value = check()
        if value:
            return value
        time.sleep(0.02)
    raise AssertionError(f"waited {BUDGET_S} s for {description}")


def only_sweep(cwd: Path) -> Path:
    (root,) = (cwd / "runs").iterdir()
    return root


def ledger(root: Path) -> list[dict[str, object]]:
    runs: list[dict[str, object]] = json.loads((root / "sweep.json").read_text())["runs"]
    return runs


def rows(run: Path) -> int:
    """Return the number of steps on disk."""
    path = run / "metrics.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def live_processes(marker: str) -> list[str]:
    """Return the command lines of live processes that contain `marker`."""
    lines = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            state = (path.parent / "stat").read_text().rsplit(")", 1)[1].split()[0]
        except OSError:
            continue
        if marker in line and state != "Z" and str(os.getpid()) != path.parent.name:
            lines.append(line)
    return lines
