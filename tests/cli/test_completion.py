"""Completion: what a shell gets for a half-typed command, and what a bash makes of it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import shlex
import shutil
import struct
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

from harness.cli import completion, completion_keys
from harness.cli.app import app
from harness.testing.commands import harness, here
from tests.cli.made_lists import a_sweep, made


def offered(*words: str) -> list[str]:
    """What is offered for the last word, which is being typed."""
    return [word for word, _ in completion.offers(app, words[:-1], words[-1])]


@pytest.fixture(autouse=True)
def in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["sta"], ["status"]),
        (["--v"], ["--version"]),
        (["profiles", ""], ["check", "from-rlver"]),
        (["sweep", "--dr"], ["--dry-run"]),
        (["sweep", "--on-failure", ""], ["continue", "stop"]),
        (["train", "--events", ""], ["jsonl"]),
        (["sweep", "difficulty=ea"], ["difficulty=easy"]),
        (["sweep", "difficulty=easy,me"], ["difficulty=easy,medium"]),
        (["sweep", "seed=1", "policy=tab"], ["policy=tabular"]),
        (["sweep", "--retries", "3", "remedy=kl"], ["remedy=kl_cov"]),
        (["sweep", "trainer.stop_w"], ["trainer.stop_when="]),
        (["sweep", "algorithm.null_control="],
         ["algorithm.null_control=true", "algorithm.null_control=false"]),
        (["sweep", "+sweeps=smo"], ["+sweeps=smoke"]),
        (["study", "does"], ["does_collapse_explain"]),
        (["study", "does_collapse_explain", "difficulty=ea"], ["difficulty=easy"]),
        (["config", "trai"], ["trainer"]),
        (["sweep", "nonsense"], []),
        (["nonsense", ""], []),
        (["train", "--dir", "x"], []),
        (["export", "--me"], ["--merge"]),
    ],
)  # fmt: skip
def test_commands_options_keys_and_values_are_offered(words: list[str], found: list[str]) -> None:
    shown = offered(*words)
    assert (shown[:1] if words[-1] == "trainer.stop_w" else shown) == found


def test_the_only_key_comes_with_values_so_that_no_blank_follows_it() -> None:
    assert offered("sweep", "trainer.steps") == ["trainer.steps=", "trainer.steps=100"]
    assert set(offered("sweep", "trainer.engine_u")) >= {"trainer.engine_url="}
    assert "trainer.steps=" in offered("sweep", "trainer.")
    for typed in ("trainer.s", "pol", "see", ""):
        assert len(offered("sweep", typed)) != 1


def test_every_key_and_every_option_of_every_group_is_offered() -> None:
    for group in completion_keys.groups():
        assert len(offered("sweep", f"{group}=")) >= 1
    assert "learning_rate=" in {w.split(".")[-1] for w in offered("sweep", "algorithm.")}


def test_an_option_of_ones_own_is_offered(tmp_path: Path) -> None:
    (tmp_path / "conf/difficulty").mkdir(parents=True)
    (tmp_path / "conf/difficulty/mine.yaml").write_text("name: mine\n")
    assert offered("sweep", "difficulty=mi") == ["difficulty=mine"]


def test_runs_and_sweeps_are_offered_and_the_runs_in_one_behind_its_slash(tmp_path: Path) -> None:
    a_sweep(tmp_path / "runs/pilot", "0-a", "1-b")
    made(tmp_path / "one")
    (tmp_path / "notes").mkdir()
    (tmp_path / "file").write_text("")
    assert offered("status", "") == ["notes/", "one", "runs/pilot"]
    assert offered("resume", "runs/p") == ["runs/pilot"]
    assert offered("rm", "one", "runs/pilot/") == ["runs/pilot/0-a", "runs/pilot/1-b"]
    assert offered("status", "nowhere/") == []
    assert offered("status", "file/") == []


def answer(request: str, cwd: Path, **environment: str) -> str:
    done = here(cwd=cwd, _HARNESS_COMPLETE=request, **environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_each_shell_gets_its_form(tmp_path: Path) -> None:
    asked = {"COMP_WORDS": "harness\nsweep\ndifficulty\n=\nea", "COMP_CWORD": "4"}
    assert answer("complete_bash", tmp_path, **asked) == "easy\n"
    asked = {"COMP_WORDS": "harness\nsweep\ndifficulty\n=", "COMP_CWORD": "3"}
    assert answer("complete_bash", tmp_path, **asked) == "adversarial\neasy\nhard\nmedium\n"
    line = {"_TYPER_COMPLETE_ARGS": "harness sweep difficulty=ea"}
    assert answer("complete_zsh", tmp_path, **line) == (
        "_arguments '*: :((\"difficulty=easy\"))'\n"
    )
    fish = {**line, "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    assert answer("complete_fish", tmp_path, **fish) == "difficulty=easy\n"
    assert answer("complete_zsh", tmp_path, _TYPER_COMPLETE_ARGS="harness sweep x") == "_files\n"


@pytest.mark.parametrize("line", ["harness sweep 'seed=range(", 'harness sweep "', "", "harness"])
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_line_that_is_not_whole_breaks_nothing(shell: str, line: str, tmp_path: Path) -> None:
    answer(f"complete_{shell}", tmp_path, _TYPER_COMPLETE_ARGS=line, COMP_WORDS=line)
    answer(f"complete_{shell}", tmp_path, COMP_WORDS=line, COMP_CWORD="7")


def test_what_a_shell_would_not_take_literally_is_not_offered(tmp_path: Path) -> None:
    for name in ("$(touch x)", "`id`", "a b", "a;b", "\x1b[31m", "'", "*"):
        made(tmp_path / name)
    made(tmp_path / "plain")
    asked = {"COMP_WORDS": "harness\nstatus\n", "COMP_CWORD": "2"}
    assert answer("complete_bash", tmp_path, **asked) == "plain\n"
    shown = answer("complete_zsh", tmp_path, _TYPER_COMPLETE_ARGS="harness status ")
    assert shown == "_arguments '*: :((\"plain\"))'\n"


NAMED = "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION"
"""Makes typer take the name of the shell, whatever shell these tests are begun by."""


def script_of(shell: str, cwd: Path) -> str:
    done = harness("--show-completion", shell, cwd=cwd, **{NAMED: "1"})
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_fish_is_told_by_the_exit_code_whether_there_are_words(tmp_path: Path) -> None:
    asked = {"_HARNESS_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "is-args"}
    for line, code in (("harness sta", 0), ("harness sweep --dir ", 1)):
        done = here(cwd=tmp_path, _TYPER_COMPLETE_ARGS=line, **asked)
        assert (done.returncode, done.stdout, done.stderr) == (code, "", "")


def test_typer_shows_the_script_and_installs_it(tmp_path: Path) -> None:
    shown = script_of("bash", tmp_path)
    assert "complete -o default -F _harness_completion harness" in shown
    named = {"HOME": str(tmp_path), NAMED: "1"}
    done = harness("--install-completion", "bash", cwd=tmp_path, **named)
    assert done.returncode == 0, done.stderr
    script = tmp_path / ".bash_completions/harness.sh"
    assert script.read_text() == shown.strip()


def test_nothing_heavy_is_imported_for_an_answer(tmp_path: Path) -> None:
    code = (
        "import sys; sys.argv = ['harness']\n"
        "from harness.cli import app\n"
        "try: app.main()\nexcept SystemExit: pass\n"
        "print(*sorted({m.split('.')[0] for m in sys.modules}), file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "_HARNESS_COMPLETE": "complete_bash", "COMP_CWORD": "2",
             "COMP_WORDS": "harness\nsweep\ntrainer.st"},
    )  # fmt: skip
    assert "trainer.steps=" in done.stdout
    heavy = {"hydra", "omegaconf", "torch", "pandas", "numpy", "rich", "yaml", "pydantic"}
    assert not heavy & set(done.stderr.split())


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@pytest.mark.parametrize(
    ("typed", "becomes"),
    [
        ("harness sweep difficulty=easy,me\t", "harness sweep difficulty=easy,medium "),
        *(
            pytest.param(typed, becomes, marks=pytest.mark.slow)
            for typed, becomes in (
                ("harness sta\t", "harness status "),
                ("harness sweep diffi\t=ea\t", None),
                ("harness sweep difficulty=ea\t", "harness sweep difficulty=easy "),
                ("harness sweep trainer.step\t5", "harness sweep trainer.steps=5"),
                ("harness status ru\t", "harness status runs/pilot "),
            )
        ),
    ],
)
def test_a_bash_completes_the_line(typed: str, becomes: str | None, tmp_path: Path) -> None:
    begin = f"bind 'set bell-style none'; {sourced('bash', tmp_path)}"
    shown = in_shell(["bash", "--norc", "--noprofile", "-i"], tmp_path, begin, typed)
    assert (becomes or "difficulty") in shown


def sourced(shell: str, cwd: Path) -> str:
    """The line that loads the completion of `harness`, in a folder with a sweep."""
    a_sweep(cwd / "runs/pilot", "0-a")
    script, program = cwd / "complete.script", cwd / "bin/harness"
    script.write_text(script_of(shell, cwd))
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m harness "$@"\n')
    program.chmod(0o755)
    return f'export PATH="{program.parent}:$PATH"; source {script}'


@pytest.mark.skipif(not shutil.which("zsh"), reason="needs zsh")
@pytest.mark.parametrize(
    ("typed", "becomes"),
    [
        ("harness sta\t", "harness status "),
        ("harness sweep --dr\t", "harness sweep --dry-run "),
        ("harness sweep difficulty=easy,me\t", "harness sweep difficulty=easy,medium "),
        ("harness sweep difficulty=\t", "difficulty=easy    difficulty=hard    difficulty=medium"),
        ("harness sweep trainer.step\t5", "harness sweep trainer.steps=5"),
        ("harness status ru\t", "harness status runs/pilot "),
        ("harness sweep --dir ru\t", "harness sweep --dir runs/"),
    ],
)
def test_a_zsh_completes_the_line(typed: str, becomes: str, tmp_path: Path) -> None:
    begin = f"autoload -Uz compinit; compinit -u -D; {sourced('zsh', tmp_path)}; PS1='$ '"
    assert becomes in in_shell(["zsh", "-f", "-i"], tmp_path, begin, typed)


@pytest.mark.skipif(not shutil.which("fish"), reason="needs fish")
def test_a_fish_offers_commands_options_keys_and_run_folders(tmp_path: Path) -> None:
    found = {
        "harness sta": "status\tShow the progress of a run or a sweep.",
        "harness sweep --dr": "--dry-run\tList the planned runs without creating anything.",
        "harness sweep difficulty=easy,me": "difficulty=easy,medium",
        "harness sweep --on-failure s": "stop",
        "harness status ru": "runs/pilot",
        "harness sweep --dir bi": "bin/",
    }
    asked = "; echo ==; ".join(f"complete -C {shlex.quote(line)}" for line in found)
    done = subprocess.run(
        ["fish", "--no-config", "-c", f"{sourced('fish', tmp_path)}; {asked}"],
        cwd=tmp_path, capture_output=True, text=True, check=True, timeout=120,
        env={**os.environ, "HOME": str(tmp_path)},
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.split("\n==\n") == [*list(found.values())[:-1], "bin/\n"]


def in_shell(shell: list[str], cwd: Path, begin: str, typed: str) -> str:
    """The line that an interactive shell shows once `typed` was."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
    child = subprocess.Popen(
        shell, cwd=cwd, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
        env={**os.environ, "PS1": "$ ", "TERM": "dumb", "INPUTRC": "/dev/null",
             "HOME": str(cwd)},
    )  # fmt: skip
    os.close(theirs)
    try:
        os.write(ours, f"{begin}; echo rea''dy\n".encode())
        _read(ours, "ready\r\n")
        for part in typed.split("\t"):
            os.write(ours, part.encode() + (b"\t" if part != typed.split("\t")[-1] else b""))
            last = _read(ours, None)
        return last.replace("\r", "").replace("\x07", "")
    finally:
        child.kill()
        child.wait()
        os.close(ours)


_shown: dict[int, str] = {}


def _read(ours: int, until: str | None) -> str:
    """What is shown so far, once `until` was or nothing has come for a while."""
    seen, deadline = _shown.pop(ours, ""), time.monotonic() + 60
    while time.monotonic() < deadline and not (until and until in seen):
        if select.select([ours], [], [], 4.0 if until is None else 0.2)[0]:
            seen += os.read(ours, 65536).decode(errors="replace")
        elif until is None:
            break
    seen = seen.rpartition("ready\r\n")[2] if until else seen
    _shown[ours] = seen
    return seen
