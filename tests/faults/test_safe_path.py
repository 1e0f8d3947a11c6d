"""What lies in the current folder is read, never imported: by no command, and no process of it."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from harness.cli.app import app
from harness.testing import run_folders, synthetic
from harness.testing.commands import TABULAR
from harness.utils import extensions
from tests.simulator import test_served_rlver
from tests.simulator.endpoint import serving
from tests.study.made import written

SCRIPT = "#!{}\nfrom harness.__main__ import main\nmain()\n"
"""As pip writes it: the folder of the script comes first on the path, not the current one."""
CANARY = "import posix\nposix.close(posix.open({!r} + __name__, posix.O_CREAT | posix.O_RDWR))\n"
MORE = (
    "sitecustomize", "usercustomize", "hydra_plugins/evil", "harness", "tests", "conftest",
    "evil_plug_in",
)  # fmt: skip
POINTS = "".join(
    f"[{extensions.group(kind)}]\nevil = evil_plug_in:EVIL\n" for kind in extensions.KINDS
)
Record = Callable[[str, object], None]


def attack(what: str) -> pytest.MarkDecorator:
    return pytest.mark.attack(
        what, expected="none of them is imported, by the command or by a process that it starts"
    )


QUICK = (
    "doctor", "config", "plan", "chat", "probe-simulator", "profiles check",
    "profiles from-rlver", "trust", "list",
)  # fmt: skip
OF_A_RUN = (
    "status", "verify", "view", "watch", "report", "resume", "rm", "probe", "diagnose",
)  # fmt: skip
SLOW = (*OF_A_RUN, "train", "sweep", "study", "calibrate", "demo", "export")
SMALL = (*TABULAR, "trainer.steps=2")
TINY = ("policy=tiny_smoke", "trainer.steps=1", "trainer.conversations=8", "trainer.eval_every=0")
WORDS = {
    "status": ["status", "run"],
    "list": ["list"],
    "rm": ["rm", "run", "--yes"],
    "verify": ["verify", "run"],
    "view": ["view", "run"],
    "watch": ["watch", "run", "--once"],
    "report": ["report", "run"],
    "plan": ["plan", "policy=tabular", "difficulty=easy,hard"],
    "diagnose": ["diagnose", "run"],
    "variance": ["variance", "run"],
    "export": ["export", "run", "model"],
    "probe": ["probe", "drift", "run", "--users", "3", "--repeats", "1"],
    "doctor": ["doctor"],
    "config": ["config"],
    "trust": ["trust"],
    "chat": ["chat", "difficulty=easy"],
    "probe-simulator": ["probe-simulator", "difficulty.turn_cap=1"],
    "profiles check": ["profiles", "check", "users.jsonl"],
    "profiles from-rlver": ["profiles", "from-rlver", "users.jsonl", "--out", "made.jsonl"],
    "train": ["train", *SMALL, "--dir", "one", "--events", "jsonl"],
    "resume": ["resume", "one"],
    "sweep": ["sweep", *SMALL, "seed=1,2"],
    "study": ["study", "mine"],
    "demo": ["demo"],
    "calibrate": ["calibrate", "difficulty=easy"],
}


@functools.cache
def hidden() -> Sequence[str]:
    """Modules of Python and of everything installed, by the names they are imported by."""
    installed = importlib.metadata.packages_distributions()
    names = {*sys.stdlib_module_names, *installed, *MORE}
    return sorted(name for name in names if name.replace("/", "").isidentifier())


class Trap:
    """A folder to work in that hides every module, and what has been imported from it."""

    def __init__(self, root: Path) -> None:
        self.here, self.seen = root / "theirs", root / "seen"
        self.script = root / "bin" / "harness"
        for folder in (self.here / "hydra_plugins", self.seen, self.script.parent):
            folder.mkdir(parents=True)
        self.script.write_text(SCRIPT.format(sys.executable))
        installed = self.here / "evil_plug_in-1.0.dist-info"
        installed.mkdir()
        (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: evil\nVersion: 1.0\n")
        (installed / "entry_points.txt").write_text(POINTS)
        for name in hidden():
            (self.here / f"{name}.py").write_text(CANARY.format(f"{self.seen}/"))

    def imported(self) -> list[str]:
        return sorted(path.name for path in self.seen.iterdir())

    def run(self, *words: str, python_m: bool = False) -> subprocess.CompletedProcess[str]:
        """The installed command, or `python -m harness`, in that folder, to its end."""
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONSAFEPATH"}
        started = ["-m", "harness"] if python_m else [str(self.script)]
        return subprocess.run(
            [sys.executable, *started, *words],
            cwd=self.here,
            env={**environment, "PYTHONDONTWRITEBYTECODE": "1"},
            input="Hello.\n",
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )


@pytest.fixture
def trap(tmp_path: Path) -> Trap:
    return Trap(tmp_path)


def test_the_trap_catches_what_python_imports_from_there(trap: Trap) -> None:
    subprocess.run([sys.executable, "-c", "import colorsys"], cwd=trap.here, check=True)
    assert "colorsys" in trap.imported()


def test_the_trap_holds_a_plug_in_that_python_finds_there(trap: Trap) -> None:
    code = "from importlib import metadata; print(metadata.entry_points(group='harness.figures'))"
    words = [sys.executable, "-c", code]
    leave_only(trap, "evil_plug_in")
    done = subprocess.run(words, cwd=trap.here, capture_output=True, text=True, check=True)
    assert "evil_plug_in:EVIL" in done.stdout


@attack("metadata of an installed plug-in lies in the folder where a command is given")
@pytest.mark.parametrize("python_m", [False, True])
def test_a_plug_in_there_is_none(trap: Trap, python_m: bool, record_property: Record) -> None:
    run = trap.here / "other.jsonl"
    run.write_text("".join(f"{json.dumps(row)}\n" for row in synthetic.lawful_rows()) + "torn")
    if python_m:  # which needs its own modules before ours can run
        leave_only(trap, "evil_plug_in")
    for words in (["train", "reward=evil", "--dir", "one"], ["fit-entropy-law", "other.jsonl"]):
        done = trap.run(*words, python_m=python_m)
        record_property("seen", f"exit {done.returncode}: imported {trap.imported()}")
        assert done.returncode == (2 if "reward=evil" in words else 0), done.stderr
        assert "evil" not in done.stderr.replace("got 'evil'", "")
    assert trap.imported() == []
    assert not list((trap.here / "law").glob("*evil*"))


def test_no_command_is_left_out() -> None:
    groups = {f"{group.name} {c}" for group in app.registered_groups for c in commands(group)}
    assert {*groups, *commands(app)} == {*WORDS, "fit-entropy-law"}


def leave_only(trap: Trap, *names: str) -> None:
    """Remove the other modules from the folder."""
    for path in trap.here.glob("*.py"):
        if path.stem not in names:
            path.unlink()


def commands(of: Any) -> list[str]:
    found = getattr(of, "typer_instance", of).registered_commands
    return [c.name or c.callback.__name__.replace("_", "-") for c in found]


def test_python_m_drops_the_folder_before_it_loads_a_library(trap: Trap) -> None:
    leave_only(trap, "typer", "yaml", "rich", "packaging")
    words = [sys.executable, "-m", "harness", "doctor"]
    subprocess.run(words, cwd=trap.here, capture_output=True, check=False)
    assert trap.imported() == []


@attack("modules named as Python's and ours lie beside 100 logs that are fitted")
def test_a_fit_by_several_processes_imports_nothing_from_there(
    trap: Trap, record_property: Record
) -> None:
    for number in range(100):
        run = trap.here / "logs" / f"run-{number}"
        run.mkdir(parents=True)
        run_folders.write_rows(run, synthetic.lawful_rows(number, 24))
    done = trap.run("fit-entropy-law", "logs", "--figures", "none", "--json")
    record_property("seen", f"exit {done.returncode}: imported {trap.imported()}")
    assert done.returncode in (0, 3), done.stderr
    assert json.loads(done.stdout)["runs"]
    assert trap.imported() == []


@attack("modules named as Python's and ours lie in the folder where a command is given")
@pytest.mark.parametrize(
    "name", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]
)
def test_no_command_imports_anything_from_there(
    trap: Trap, name: str, record_property: Record
) -> None:
    if name in (*OF_A_RUN, "export"):
        small = TINY if name == "export" else SMALL
        made = trap.run("train", *small, "--dir", "one" if name == "resume" else "run")
        assert made.returncode == 0, made.stderr
    test_served_rlver.written(trap.here / "users.jsonl", test_served_rlver.published())
    written(trap.here)
    with serving() as endpoint:
        words = WORDS[name]
        if name == "probe-simulator":
            words = [*words, f"simulator.base_url={endpoint.url}", "simulator.model=m"]
        done = trap.run(*words)
    record_property("seen", f"exit {done.returncode}: imported {trap.imported()}")
    assert "Traceback" not in done.stderr
    assert trap.imported() == []
    assert done.returncode in (0, 2, 3), done.stderr
