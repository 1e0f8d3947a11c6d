"""debug.log holds the traceback, shows nothing hostile, and never fails whoever logs."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import DataError
from harness.records import debug_log
from harness.utils import process


def failure(message: str) -> Exception:
    try:
        raise ZeroDivisionError(message)
    except ZeroDivisionError as error:
        return error


def test_the_traceback_is_appended_to_a_private_file_and_the_sentence_names_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "debug.log"
    for message in ("first", "second"):
        assert debug_log.log_traceback(tmp_path, failure(message)) == f"; traceback in {path}"
    text = path.read_text()
    assert text.count("Traceback (most recent call last):") == 2
    assert text.count('test_debug_log.py", line') == 2
    assert text.index("ZeroDivisionError: first") < text.index("ZeroDivisionError: second")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert capsys.readouterr() == ("", "")


def test_with_debug_the_traceback_is_shown_as_well(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(process.DEBUG, "1")
    debug_log.log_traceback(tmp_path, failure("shown"))
    assert "Traceback (most recent call last):" in capfd.readouterr().err
    assert "ZeroDivisionError: shown" in (tmp_path / "debug.log").read_text()


def test_what_an_error_says_is_escaped_and_cut(tmp_path: Path) -> None:
    debug_log.log_traceback(tmp_path, failure("\x1b[2J\u202e" + "x" * 10**6))
    debug_log.log_traceback(tmp_path, failure("\x1b[2J\u202e"))
    text = (tmp_path / "debug.log").read_text()
    assert "ZeroDivisionError: \\x1b[2J\\u202e\n" in text
    assert all(line.isprintable() for line in text.splitlines())
    assert len(text) < 3 * debug_log.LARGEST_CHARACTERS


def test_where_it_cannot_be_written_nothing_fails_and_no_file_is_named(tmp_path: Path) -> None:
    assert debug_log.log_traceback(tmp_path / "gone", failure("")) == ""
    (tmp_path / "target").write_text("somebody's")
    (tmp_path / "debug.log").symlink_to(tmp_path / "target")
    assert debug_log.log_traceback(tmp_path, failure("")) == ""
    assert (tmp_path / "target").read_text() == "somebody's"
    (tmp_path / "debug.log").unlink()
    os.mkfifo(tmp_path / "debug.log")
    assert debug_log.log_traceback(tmp_path, failure("")) == ""


FULL = """
import resource, sys
from pathlib import Path
from harness.records import debug_log
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
print([debug_log.log_traceback(Path(sys.argv[1]), ZeroDivisionError())])
"""


def test_where_no_byte_can_be_written_only_the_traceback_is_lost(tmp_path: Path) -> None:
    words = [sys.executable, "-P", "-c", FULL, str(tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "['']\n", "")


def test_bugs_are_logged_and_raised_with_a_note_and_errors_of_the_user_are_not(
    tmp_path: Path,
) -> None:
    with pytest.raises(DataError), debug_log.logged_bugs(tmp_path):
        raise DataError("the user's to fix")
    assert not (tmp_path / "debug.log").exists()
    with pytest.raises(ZeroDivisionError) as caught, debug_log.logged_bugs(tmp_path):
        raise ZeroDivisionError
    assert caught.value.__notes__ == [f"traceback in {tmp_path / 'debug.log'}"]
