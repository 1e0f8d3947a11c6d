"""Runs that an earlier version made are read, and resumed to the rows it would have written.

What a later version measures besides is left out of their rows, so that these stay the same bytes.
Rows of users of another version are not gone on with: those of before 2026-11-23 are of version 1.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from harness.records import run_status
from harness.records.run_folder import RunFolder
from harness.testing.commands import here

GOLDEN = Path(__file__).parents[1] / "golden" / "run-before-checksums"
LATER = Path(__file__).parents[1] / "golden" / "2026-11-22"
LATEST = Path(__file__).parents[1] / "golden" / "2026-11-23"
PARTIAL = "1-hard-seed1"


@pytest.fixture
def old(tmp_path: Path) -> RunFolder:
    return RunFolder(shutil.copytree(GOLDEN, tmp_path / "run"))


def test_rows_of_users_of_another_version_are_kept_and_not_gone_on_with(old: RunFolder) -> None:
    rows = old.metrics.read_bytes()
    done = here("resume", str(old.path), cwd=old.path.parent)
    assert done.returncode == 65
    assert "its rows were made with version 1 of the user simulator, and this is version" in (
        done.stderr
    )
    assert old.metrics.read_bytes() == rows


def test_verify_accepts_it_and_says_what_cannot_be_told(old: RunFolder) -> None:
    found = here("verify", str(old.path), "--json", cwd=old.path.parent)
    assert found.returncode == 0
    (run,) = json.loads(found.stdout)["runs"]
    assert (run["status"], run["ok"]) == ("crashed", True)
    notes = {f["part"]: f["message"] for f in run["findings"] if f["level"] == "note"}
    assert notes["rows"] == (
        f"{old.metrics}: 5 rows without checksums, made by an older version: changes to them "
        "cannot be detected"
    )
    assert "without the run's identity, made by an older version" in notes["checkpoints"]


def test_its_run_json_is_read(old: RunFolder) -> None:
    assert run_status.read(old.status).start_model is None


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    return shutil.copytree(LATER / "sweep", tmp_path / "sweep")


@pytest.fixture
def single(tmp_path: Path) -> RunFolder:
    return RunFolder(shutil.copytree(LATEST / "run", tmp_path / "run"))


def expect_rows(run: RunFolder, name: str) -> None:
    """The bytes of then; where this machine's numpy has other last digits, the numbers of then."""
    expected = (LATEST / "expected" / f"{name}.jsonl").read_bytes()
    if run.metrics.read_bytes() == expected:
        return
    rows = zip(run.metrics.read_text().splitlines(), expected.decode().splitlines(), strict=True)
    for now, then in (tuple(map(json.loads, pair)) for pair in rows):
        assert list(now) == list(then)
        now["crc32"] = then["crc32"]
        assert now == {name: nearly(value) for name, value in then.items()}, "not even nearly"


def nearly(value: object) -> object:
    """A float as what equals its neighbours; everything else as itself."""
    return pytest.approx(value, rel=1e-9, abs=1e-12) if isinstance(value, float) else value


def go_on(run: RunFolder, start: Callable[[], CompletedProcess[str]]) -> str:
    """What a run says that goes on from row 3, and compares row 4 with the one that is there.

    The last digit of numpy's sums differs from CPU to CPU: where row 4 does, the run is refused,
    and goes on when it is moved away, as the refusal advises.
    """
    done = start()
    refused = done.returncode == 70
    if refused:
        assert "move the rows after row 3 out of metrics.jsonl" in done.stderr
        run.metrics.write_text("".join(run.metrics.read_text().splitlines(keepends=True)[:3]))
        done = start()
    assert done.returncode == 0, done.stderr
    (check,) = (event for event in events(run) if event["event"] == "replay_check")
    assert (check["compared"], check["mismatched"]) == (1, int(refused))
    return done.stderr


def law(path: Path) -> str:
    """What `fit-entropy-law` says of each run."""
    words = ("--json", "--with-unfinished", "--figures", "none")
    found = here("fit-entropy-law", str(path), *words, cwd=path.parent)
    assert found.stdout, found.stderr
    runs = json.loads(found.stdout)["runs"]
    return " ".join(f"{Path(run['run']).name}:{run['status']}" for run in runs)


def test_a_sweep_of_then_is_read_and_its_rows_are_kept(sweep: Path) -> None:
    before = here("status", str(sweep), cwd=sweep)
    assert before.returncode == 0
    assert "0-easy-seed1: done, 8/8 steps" in before.stdout
    assert f"{PARTIAL}: crashed, 4/8 steps" in before.stdout
    assert here("verify", str(sweep), cwd=sweep).returncode == 0
    assert law(sweep).count(":") == 2
    done = here("resume", str(sweep), cwd=sweep)
    assert done.returncode == 3
    assert "its rows were made with version 1 of the user simulator" in done.stderr
    for name in ("0-easy-seed1", PARTIAL):
        rows = (sweep / name / "metrics.jsonl").read_bytes()
        assert rows == (LATER / "sweep" / name / "metrics.jsonl").read_bytes()
    assert here("verify", str(sweep), cwd=sweep).returncode == 0
    assert law(sweep).count(":") == 2


def test_a_run_of_then_is_resumed_to_its_rows(single: RunFolder) -> None:
    assert run_status.read(single.status).simulator_version == 3
    assert "crashed, 4/8 steps" in here("status", "run", cwd=single.path.parent).stdout
    go_on(single, lambda: here("resume", "run", cwd=single.path.parent))
    expect_rows(single, "run")
    assert here("verify", "run", cwd=single.path.parent).returncode == 0
    assert law(single.path).count(":") == 1


def events(run: RunFolder) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run.events.read_text().splitlines()]


NEW_METRIC = """
import sys
from harness.records.metrics import MEASURED
MEASURED["zeal"] = "a metric that came later"
from harness.train import __main__ as train
sys.exit(train.main())
"""


def test_a_metric_that_came_later_makes_no_old_run_diverge(single: RunFolder) -> None:
    """Row 4 is there and compared; the rest is written; all have the columns of then."""
    words = [sys.executable, "-P", "-c", NEW_METRIC, str(single.path)]
    said = go_on(single, lambda: subprocess.run(words, capture_output=True, text=True, check=False))
    expect_rows(single, "run")
    assert "metrics.jsonl is older than these metrics, and goes on without: " in said
    kept, *_ = (event["without"] for event in events(single) if event["event"] == "columns_kept")
    assert kept[-1] == "zeal"
