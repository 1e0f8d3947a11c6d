"""The command line in this process, as the tests of its commands use it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.testing.commands import here

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`harness WORDS` in an empty folder, the current one: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> tuple[int, str, str]:
        done = here(*words, cwd=tmp_path)
        return done.returncode, done.stdout, done.stderr

    return run
