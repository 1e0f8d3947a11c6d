"""Every command that a page shows is one that can be typed."""

import subprocess
from functools import cache
from pathlib import Path

import pytest

from harness.testing.commands import here
from tests.docs.pages import CHECKOUT, PAGES, Shown, agrees, commands, session

PLANNED = ("sweep", "study")
"""Commands that say with --dry-run what they would do."""
OF_A_LANGUAGE_MODEL = {"simulator.reader=lm", "policy=smollm2_135m", "+sweeps=a_model_that_speaks"}
COMMANDS = [shown for page in PAGES for shown in commands(page)]


def run(words: tuple[str, ...], cwd: Path) -> subprocess.CompletedProcess[str]:
    return here(*words, cwd=cwd, OMP_NUM_THREADS="1", COLUMNS="100", NO_COLOR="1")


@cache
def help_of(*words: str) -> str:
    return run((*words, "--help"), Path("/")).stdout


@pytest.mark.parametrize("shown", COMMANDS, ids=lambda shown: shown.where)
def test_its_command_and_options_exist(shown: Shown) -> None:
    command = shown.words[:2] if shown.words[0] == "profiles" else shown.words[:1]
    described = help_of(*command)
    assert described.startswith("Usage: harness"), f"{shown.where}: no such command {command}"
    options = [word.partition("=")[0] for word in shown.words if word.startswith("--")]
    assert not [option for option in options if option not in described], shown.where


def marks(shown: Shown) -> list[pytest.MarkDecorator]:
    """Where a language model is read, its weights are looked through: 10 to 30 s."""
    return [pytest.mark.slow] if OF_A_LANGUAGE_MODEL & set(shown.words) else []


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param(s, id=s.where, marks=marks(s))
        for s in COMMANDS
        if s.words[0] in PLANNED and s.words[1:] and not s.is_left_open
    ],
)
def test_what_it_would_run_can_be_planned(shown: Shown, tmp_path: Path) -> None:
    for typed in session(CHECKOUT / shown.page):  # the files that the page makes before
        if "harness " not in typed.command:
            subprocess.run(["bash", "-c", typed.command], cwd=tmp_path, check=True)
    before = set(tmp_path.iterdir())
    dry_run = () if "--dry-run" in shown.words else ("--dry-run",)
    done = run((*shown.words, *dry_run), tmp_path)
    assert done.returncode == 0, f"{shown.where}: {done.stderr}"
    assert set(tmp_path.iterdir()) == before


def test_a_page_may_leave_out_but_not_differ() -> None:
    assert agrees("H 0.43 ... done", "H  0.44, then more\ndone")
    assert not agrees("H 0.43 ... done", "H 0.47, then more\ndone")
    assert not agrees("H 0.43", "H 0.430")
    assert not agrees("H 0.43", "H 0.43 and more")
    assert not agrees("two runs", "three runs")


def test_commands_are_found() -> None:
    assert len(COMMANDS) >= 50
