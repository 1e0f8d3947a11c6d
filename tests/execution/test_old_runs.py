"""Runs that an earlier version made are resumed to the rows it would have written."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.records import row_checksum, run_folder, versions
from harness.records.run_folder import RunFolder, RunStatus
from harness.testing.commands import harness, here

GOLDEN = Path(__file__).parents[1] / "golden" / "run-before-checksums"
ROWS = "b6eca8752381e1ab092a4642f1120d909848124ce5ec6fd0ba0647baf49f1d29"
"""sha256 of the eight rows of the uninterrupted run, as that version wrote them."""


@pytest.fixture
def old(tmp_path: Path) -> RunFolder:
    return RunFolder(shutil.copytree(GOLDEN, tmp_path / "run"))


@pytest.fixture
def same_digits(tmp_path: Path) -> None:
    """Skips where this machine's numpy computes other last digits than the one of then."""
    run = RunFolder(tmp_path / "anew")
    run.path.mkdir()
    shutil.copy(GOLDEN / "config.yaml", run.path)
    run_folder.write_status(run, RunStatus())
    done = subprocess.run([sys.executable, "-P", "-m", "harness.train", str(run.path)], check=False)
    assert done.returncode == 0
    if _sum(run) != ROWS:
        pytest.skip("numpy computes other last digits here than where the old run was made")


def _sum(run: RunFolder) -> str:
    rows = run.metrics.read_bytes().splitlines(keepends=True)
    return hashlib.sha256(b"".join(map(row_checksum.without, rows))).hexdigest()


@pytest.mark.usefixtures("same_digits")
def test_it_is_resumed_to_the_same_rows_of_which_the_new_ones_have_checksums(
    old: RunFolder,
) -> None:
    done = harness("resume", str(old.path), cwd=old.path.parent)
    assert done.returncode == 0, done.stderr
    rows = old.metrics.read_bytes().splitlines(keepends=True)
    assert [row_checksum.holds(row) for row in rows] == [None] * 5 + [True] * 3
    assert _sum(old) == ROWS
    said = f"{old.checkpoints / 'step-00003'}: does not say which run it is of, as an older version"
    assert done.stderr.count(said) == 1
    defaults = "config.yaml is older than these keys, which have their defaults: simulator.outage_s"
    assert defaults in done.stderr
    if versions.git_revision():
        assert "git revision 73b763a2a7df -> " in done.stderr
    notes = [json.loads(line)["event"] for line in old.events.read_text().splitlines()]
    assert notes.count("checkpoint_without_identity") == 1
    again = here("verify", "run", cwd=old.path.parent)
    assert (again.returncode, "1 of 1 runs whole" in again.stdout) == (0, True)


def test_verify_accepts_it_and_says_what_cannot_be_told(old: RunFolder) -> None:
    found = here("verify", str(old.path), "--json", cwd=old.path.parent)
    assert found.returncode == 0
    (run,) = json.loads(found.stdout)["runs"]
    assert (run["status"], run["ok"]) == ("running", True)
    notes = {f["part"]: f["message"] for f in run["findings"] if f["level"] == "note"}
    assert notes["rows"] == (
        f"{old.metrics}: 5 rows without checksums, made by an older version: whether they were "
        "changed cannot be told"
    )
    assert "without the run's identity, made by an older version" in notes["checkpoints"]


def test_its_run_json_is_read(old: RunFolder) -> None:
    assert run_folder.read_status(old).start_model is None
