"""Runs that an earlier version made are resumed to the rows it would have written.

What a later version measures besides is left out of their rows, so that these stay the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from harness.records import metric_rows, provenance, run_folder
from harness.records.run_folder import RunFolder, RunStatus
from harness.testing.commands import harness, here

GOLDEN = Path(__file__).parents[1] / "golden" / "run-before-checksums"
LATER = Path(__file__).parents[1] / "golden" / "2026-11-22"
PARTIAL = "1-hard-seed1"
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
    return hashlib.sha256(b"".join(map(metric_rows.without, rows))).hexdigest()


@pytest.mark.usefixtures("same_digits")
def test_it_is_resumed_to_the_same_rows_of_which_the_new_ones_have_checksums(
    old: RunFolder,
) -> None:
    done = harness("resume", str(old.path), cwd=old.path.parent)
    assert done.returncode == 0, done.stderr
    rows = old.metrics.read_bytes().splitlines(keepends=True)
    assert [metric_rows.holds(row) for row in rows] == [None] * 5 + [True] * 3
    assert _sum(old) == ROWS
    said = f"{old.checkpoints / 'step-00003'}: does not say which run it is of, as an older version"
    assert done.stderr.count(said) == 1
    defaults = "config.yaml is older than these keys, which have their defaults: simulator.outage_s"
    assert defaults in done.stderr
    if provenance.git_revision():
        assert "git revision 73b763a2a7df -> " in done.stderr
    notes = [json.loads(line)["event"] for line in old.events.read_text().splitlines()]
    assert notes.count("checkpoint_without_identity") == 1
    again = here("verify", "run", cwd=old.path.parent)
    assert (again.returncode, "1 of 1 runs undamaged" in again.stdout) == (0, True)


def test_verify_accepts_it_and_says_what_cannot_be_told(old: RunFolder) -> None:
    found = here("verify", str(old.path), "--json", cwd=old.path.parent)
    assert found.returncode == 0
    (run,) = json.loads(found.stdout)["runs"]
    assert (run["status"], run["ok"]) == ("running", True)
    notes = {f["part"]: f["message"] for f in run["findings"] if f["level"] == "note"}
    assert notes["rows"] == (
        f"{old.metrics}: 5 rows without checksums, made by an older version: changes to them "
        "cannot be detected"
    )
    assert "without the run's identity, made by an older version" in notes["checkpoints"]


def test_its_run_json_is_read(old: RunFolder) -> None:
    assert run_folder.read_status(old).start_model is None


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    return shutil.copytree(LATER / "sweep", tmp_path / "sweep")


@pytest.fixture
def single(tmp_path: Path) -> RunFolder:
    return RunFolder(shutil.copytree(LATER / "run", tmp_path / "run"))


def expect_rows(run: RunFolder, name: str) -> None:
    """The bytes of then; where this machine's numpy has other last digits, the numbers of then."""
    expected = (LATER / "expected" / f"{name}.jsonl").read_bytes()
    if run.metrics.read_bytes() == expected:
        return
    rows = zip(run.metrics.read_text().splitlines(), expected.decode().splitlines(), strict=True)
    for now, then in (tuple(map(json.loads, pair)) for pair in rows):
        assert list(now) == list(then)
        now["crc32"] = then["crc32"]
        assert now == pytest.approx(then, rel=1e-9, abs=1e-12), "not even nearly the rows of then"


def law(path: Path) -> str:
    """What `fit-entropy-law` says of each run."""
    words = ("--json", "--with-unfinished", "--figures", "none")
    found = here("fit-entropy-law", str(path), *words, cwd=path.parent)
    assert found.stdout, found.stderr
    runs = json.loads(found.stdout)["runs"]
    return " ".join(f"{Path(run['run']).name}:{run['status']}" for run in runs)


def test_a_sweep_of_then_is_read_resumed_to_its_rows_and_read_again(sweep: Path) -> None:
    before = here("status", str(sweep), cwd=sweep)
    assert before.returncode == 0
    assert "0-easy-seed1: done, 8/8 steps" in before.stdout
    assert f"{PARTIAL}: running, 4/8 steps" in before.stdout
    assert here("verify", str(sweep), cwd=sweep).returncode == 0
    assert law(sweep).count(":") == 2
    done = harness("resume", str(sweep), cwd=sweep)
    assert done.returncode == 0, done.stderr
    expect_rows(RunFolder(sweep / PARTIAL), PARTIAL)
    first = sweep / "0-easy-seed1/metrics.jsonl"
    assert first.read_bytes() == (LATER / "sweep/0-easy-seed1/metrics.jsonl").read_bytes()
    after = here("status", str(sweep), cwd=sweep)
    assert f"{PARTIAL}: done, 8/8 steps" in after.stdout
    assert here("verify", str(sweep), cwd=sweep).returncode == 0
    assert law(sweep).count(":") == 2


def test_a_run_of_then_is_begun_anew_and_its_rows_compared(single: RunFolder) -> None:
    assert run_folder.read_status(single).simulator_version is None
    assert "running, 2/8 steps" in here("status", "run", cwd=single.path.parent).stdout
    done = harness("resume", "run", cwd=single.path.parent)
    assert done.returncode == 0, done.stderr
    expect_rows(single, "run")
    (check,) = [e for e in events(single) if e["event"] == "replay_check"]
    assert (check["compared"], check["mismatched"]) == (2, 0)
    assert here("verify", "run", cwd=single.path.parent).returncode == 0
    assert law(single.path).count(":") == 1


def events(run: RunFolder) -> list[dict[str, object]]:
    return [json.loads(line) for line in run.events.read_text().splitlines()]


NEW_METRIC = """
import sys
from harness.records.metrics import MEASURED
MEASURED["zeal"] = "a metric that came later"
from harness.train import __main__ as train
sys.exit(train.main())
"""


def test_a_metric_that_came_later_makes_no_old_run_diverge(single: RunFolder) -> None:
    """Row 1 and 2 are there and compared; the rest is written; all have the columns of then."""
    done = subprocess.run(
        [sys.executable, "-P", "-c", NEW_METRIC, str(single.path)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    expect_rows(single, "run")
    assert "metrics.jsonl is older than these metrics, and goes on without: " in done.stderr
    (kept,) = (event["without"] for event in events(single) if event["event"] == "columns_kept")
    faults = ["sim/failed/contradictory", "sim/failed/echoed"]
    assert kept == ["value/mean", "value/loss", "value/explained_variance", *faults, "zeal"]


def test_a_run_begun_now_has_the_metric_that_came_later(single: RunFolder) -> None:
    single.metrics.unlink()
    words = [sys.executable, "-P", "-c", NEW_METRIC, str(single.path)]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 0
    rows = [json.loads(line) for line in single.metrics.read_text().splitlines()]
    assert [list(row)[-2:] for row in rows] == [["zeal", "crc32"]] * 8
