"""Paths that nobody can read are data that is not there: 65 and a line, whatever they are."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.testing.commands import command, here

WITHOUT = "-dac_override,-dac_read_search"
"""What lets root read all that is forbidden to it."""
FORBIDDEN = ("setpriv", f"--inh-caps={WITHOUT}", f"--bounding-set={WITHOUT}")
COMMANDS = ("status", "resume", "fit-entropy-law")


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "device").symlink_to("/dev/zero")
    return tmp_path


@pytest.mark.parametrize("name", ["pipe", "loop", "device", "a" * 300, "none", "pipe/below"])
@pytest.mark.parametrize("word", COMMANDS)
def test_what_is_no_folder_and_no_file_is_65_in_a_line(odd: Path, word: str, name: str) -> None:
    found = here(word, name, cwd=odd)
    assert found.returncode == 65, found.stderr
    assert name in found.stderr + found.stdout
    assert "Traceback" not in found.stderr
    assert not (odd / "law").exists()


@pytest.mark.skipif(not shutil.which("setpriv"), reason="who may read everything must give it up")
@pytest.mark.slow
@pytest.mark.parametrize("word", COMMANDS)
def test_what_is_forbidden_is_65_and_says_so(tmp_path: Path, word: str) -> None:
    run = tmp_path / "run"
    run.mkdir()
    for name in ("run.json", "metrics.jsonl", "config.yaml"):
        (run / name).write_text("{}")
    before = ("",) if os.getuid() else FORBIDDEN
    for path in (run / "config.yaml", run / "metrics.jsonl", run / "run.json", run):
        path.chmod(0)
        words = [*filter(None, before), *command(word, "run")]
        found = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        if "setpriv" in found.stderr:
            pytest.skip("capabilities cannot be given up here")
        assert found.returncode == 65, found.stderr
        assert "Traceback" not in found.stderr
    assert "Permission denied" in found.stderr + found.stdout
