"""Runs that an earlier version made are resumed to the rows it would have written."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import pytest

from harness.records import folder, row_checksum
from harness.records.folder import RunFolder
from tests.commands import harness, here

GOLDEN = Path(__file__).parent / "golden" / "run-before-checksums"
ROWS = "b6eca8752381e1ab092a4642f1120d909848124ce5ec6fd0ba0647baf49f1d29"
"""sha256 of the eight rows of the uninterrupted run, as that version wrote them."""


@pytest.fixture
def old(tmp_path: Path) -> RunFolder:
    return RunFolder(shutil.copytree(GOLDEN, tmp_path / "run"))


def test_it_is_resumed_to_the_same_rows_of_which_the_new_ones_have_checksums(
    old: RunFolder,
) -> None:
    done = harness("resume", str(old.path), cwd=old.path.parent)
    assert done.returncode == 0, done.stderr
    rows = old.metrics.read_bytes().splitlines(keepends=True)
    assert [row_checksum.holds(row) for row in rows] == [None] * 5 + [True] * 3
    as_before = b"".join(map(row_checksum.without, rows))
    assert hashlib.sha256(as_before).hexdigest() == ROWS
    said = f"{old.checkpoints / 'step-00003'}: does not say which run it is of, as an older version"
    assert done.stderr.count(said) == 1
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
    assert folder.read_status(old).start_model is None
