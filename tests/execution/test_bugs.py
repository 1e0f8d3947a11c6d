"""A bug ends in one sentence that names debug.log, and debug.log says where it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from harness.execution import launcher, ledger, progress, stop_requests
from harness.records import run_status
from harness.records.run_folder import RunFolder
from harness.testing.commands import TABULAR, here, only_sweep
from harness.testing.commands import ledger as rows_of
from tests.faults.limited import quick
from tests.train.made import make_run

IN_A_RUN = """
import sys
from harness.train.loop import tabular

def breaks(session):
    raise ZeroDivisionError("of a policy: \\x1b[2J")

tabular.train = breaks
from harness.train import __main__ as train
sys.exit(train.main())
"""


def python(code: str, *words: str, cwd: Path, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-P", "-c", code, *words],
        cwd=cwd,
        env={**os.environ, "OMP_NUM_THREADS": "1", **more},
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )


def test_a_bug_in_a_run_is_in_its_debug_log(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", quick())
    done = python(IN_A_RUN, str(run.path), cwd=tmp_path)
    reason = f"ZeroDivisionError: of a policy: \\x1b[2J; traceback in {run.path}/debug.log"
    assert (done.returncode, done.stderr.splitlines()) == (
        1,
        [f"harness: internal error: {reason}"],
    )
    text = (run.path / "debug.log").read_text()
    assert "in breaks" in text
    assert "\x1b" not in text
    status = run_status.read(run.status)
    assert (status.status, status.exit_code) == ("failed", 1)
    assert str(status.reason).endswith(f"; traceback in {run.path}/debug.log")


def test_with_debug_a_run_shows_it_too(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", quick())
    done = python(IN_A_RUN, str(run.path), cwd=tmp_path, HARNESS_DEBUG="1")
    assert "Traceback (most recent call last):" in done.stderr
    assert "in breaks" in (run.path / "debug.log").read_text()


def breaks(*given: object, **named: object) -> object:
    raise ZeroDivisionError("a bug of ours")


def sweep(
    patch: pytest.MonkeyPatch, module: ModuleType, name: str, cwd: Path, *words: str
) -> subprocess.CompletedProcess[str]:
    """A sweep by this process, in which `name` of a module has a bug."""
    patch.setattr(module, name, breaks)
    quickly = (*TABULAR, "trainer.steps=1", "hydra/launcher=basic")
    return here(*words, "sweep", *quickly, "seed=1,2", cwd=cwd)


@pytest.mark.parametrize("debug", [(), ("--debug",)])
def test_a_bug_of_a_launcher_is_in_the_sweeps_debug_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, debug: tuple[str, ...]
) -> None:
    done = sweep(monkeypatch, launcher, "_multirun", tmp_path, *debug)
    root = only_sweep(tmp_path)
    assert done.returncode == 3
    said = f"the launcher failed: ZeroDivisionError: a bug of ours; traceback in {root}/debug.log"
    assert said in done.stderr
    assert ("Traceback" in done.stderr) is bool(debug)
    assert "in breaks" in (root / "debug.log").read_text()


def test_a_bug_of_the_sweep_itself_ends_it_and_is_in_its_debug_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = sweep(monkeypatch, stop_requests, "on_signals", tmp_path)
    root = only_sweep(tmp_path)
    assert done.returncode == 1
    said = (
        f"harness: internal error: ZeroDivisionError: a bug of ours; traceback in {root}/debug.log"
    )
    assert said in done.stderr.splitlines()
    assert "in breaks" in (root / "debug.log").read_text()


@pytest.mark.parametrize(
    ("module", "name", "what"),
    [(progress, "watch", "show progress"), (ledger, "follow", "keep sweep.json")],
)
def test_a_bug_beside_the_runs_costs_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: ModuleType, name: str, what: str
) -> None:
    done = sweep(monkeypatch, module, name, tmp_path)
    root = only_sweep(tmp_path)
    assert done.returncode == 0, done.stderr
    assert [row["status"] for row in rows_of(root)] == ["done", "done"]
    said = f"could not {what}; the runs go on: ZeroDivisionError; traceback in {root}/debug.log"
    assert said in done.stderr
    assert "in breaks" in (root / "debug.log").read_text()


BESIDE_A_RUN = """
import sys
from pathlib import Path
from harness.execution import child_process

def breaks(*given, **named):
    raise ZeroDivisionError("a bug of ours")

child_process._supervise = breaks
print(child_process.execute(Path(sys.argv[1])).reason)
"""


def test_a_bug_beside_a_runs_process_is_in_the_runs_debug_log(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", quick())
    done = python(BESIDE_A_RUN, str(run.path), cwd=tmp_path)
    said = f"ZeroDivisionError: a bug of ours; traceback in {run.path}/debug.log"
    assert done.stdout.splitlines() == [said]
    assert "in breaks" in (run.path / "debug.log").read_text()
    assert json.loads(run.status.read_text())["reason"] == said


def test_a_debug_log_alone_is_no_reason_not_to_make_a_run(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "run")
    run.path.mkdir()
    (run.path / "debug.log").write_text("of a start that failed")
    make_run(run.path, quick())
    assert run.is_run()
