"""No room, no handles, no folder: one line, exit code 74, and the same numbers afterwards."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from harness.compose import planner
from harness.errors import FolderError
from harness.execution import preflight
from harness.records import run_folder as folder
from harness.testing.commands import TABULAR, here
from tests.faults.limited import acknowledged, events, quick, train
from tests.train.made import finish, make_run, start, status, wait_for


@pytest.mark.slow
@pytest.mark.parametrize(
    "most",
    [500, 2_000, 9_000, 20_000, 60_000],
)
def test_a_file_that_may_not_grow_is_74_and_the_run_goes_on_to_the_same_rows(
    whole: bytes, tmp_path: Path, most: int
) -> None:
    run = make_run(tmp_path / "run", quick())
    cut = train(run, "RLIMIT_FSIZE", most)
    assert cut.returncode == 74, cut.stderr
    assert "File too large" in cut.stderr or "is the disk full?" in cut.stderr
    assert "Traceback" not in cut.stderr
    on_disk = run.metrics.read_bytes() if run.metrics.exists() else b""
    assert acknowledged(cut.stdout) <= on_disk.count(b"\n")
    assert whole.startswith(on_disk), "half a row, or another one"
    code, said, err = finish(run)
    assert code == 0, err
    assert run.metrics.read_bytes() == whole
    assert said[-1] == {"event": "end", "status": "done", "exit_code": 0}


@pytest.mark.slow
@pytest.mark.parametrize("most", [7, 9, 10, 11, 12, 14, 17])
def test_too_few_file_handles_are_said_in_a_line(whole: bytes, tmp_path: Path, most: int) -> None:
    run = make_run(tmp_path / "run", quick())
    cut = train(run, "RLIMIT_NOFILE", most)
    assert cut.returncode in (0, 71, 74), cut.stderr
    assert "Traceback" not in cut.stderr
    assert finish(run)[0] == 0
    assert run.metrics.read_bytes() == whole


def test_a_folder_that_is_removed_is_74_and_not_made_anew(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", quick(steps=100_000))
    child = start(run)
    wait_for(child, "step", 3)
    shutil.rmtree(run.path, ignore_errors=True)
    shutil.rmtree(run.path, ignore_errors=True)  # a file may have come while it was emptied
    out, err = child.communicate(timeout=60)
    assert child.returncode == 74, err
    assert "No such file or directory" in err
    assert "Traceback" not in err
    assert events(out)[-1] == {"event": "end", "status": "failed", "exit_code": 74}
    assert not run.path.exists()


@pytest.mark.slow
def test_a_folder_that_is_moved_stops_the_run_which_goes_on_where_it_is(
    whole: bytes, tmp_path: Path
) -> None:
    run = make_run(tmp_path / "run", quick())
    child = start(run)
    wait_for(child, "step", 3)
    moved = folder.RunFolder(run.path.rename(tmp_path / "elsewhere"))
    _, err = child.communicate(timeout=60)
    assert child.returncode == 74, err
    code, _, err = finish(moved)
    assert code == 0, err
    assert moved.metrics.read_bytes() == whole


def test_half_a_row_is_taken_back(tmp_path: Path) -> None:
    code = """
import resource, sys
from pathlib import Path
from harness.errors import StorageError
from harness.records.metrics_log import MetricsLog
path = Path(sys.argv[1])
log = MetricsLog(path)
log.append(1, {"reward": 0.5})
whole = path.stat().st_size
resource.setrlimit(resource.RLIMIT_FSIZE, (whole + 100, resource.RLIM_INFINITY))
try:
    log.append(2, {"reward": 0.25})
except StorageError as error:
    print(error)
assert path.stat().st_size == whole
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
assert log.append(2, {"reward": 0.25})
"""
    path = tmp_path / "metrics.jsonl"
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{path}: File too large\n"


def test_runs_that_cannot_have_room_are_73_before_anything_is_made(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    words = (*TABULAR, "trainer.steps=10000000", "seed=range(0,10)")  # of 56 GB each
    if free > 10 * 56e9:
        pytest.skip("this disk has room for everything")
    found = here("sweep", *words, cwd=tmp_path)
    assert found.returncode == 73
    rule = "runs: rows and checkpoints of 10 runs take at least 560 GB, and "
    assert found.stderr.startswith(f"harness: {rule}")
    assert "are free; free some, or choose fewer trainer.steps or another folder" in found.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="a file system without room")
def test_a_small_disk_is_told_in_units_that_it_has() -> None:
    with pytest.raises(FolderError) as error:
        preflight.check_disk_space([planner.point([*TABULAR]).config], Path("/proc"))
    assert re.search(r"take at least \d\.\d MB, and 0 kB are free; free some, or", str(error.value))


@pytest.mark.parametrize(("word", "gigabytes"), [("qwen3_0_6b", 14.3), ("tiny", 0.0146)])
def test_room_is_reckoned_by_the_weights_that_learn(word: str, gigabytes: float) -> None:
    """596 million of them with their moments, twice; 632 thousand and 100 rows."""
    config = planner.point([f"policy={word}"]).config
    assert preflight.least_bytes(config) / 1e9 == pytest.approx(gigabytes, rel=0.15)


OTHER = ("setpriv", "--reuid=12345", "--regid=12345", "--clear-groups")


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv"), reason="only root can be two")
@pytest.mark.parametrize(("mode", "file"), [(0o755, ".lock"), (0o700, "run.json")])
def test_a_folder_of_somebody_else_is_said_to_be_in_a_line(mode: int, file: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        run = make_run(Path(folder) / "run", quick())
        run.path.chmod(mode)
        words = [*OTHER, sys.executable, "-P", "-m", "harness.train", str(run.path)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if "No module named" in done.stderr:
            pytest.skip("this Python is its owner's alone")
        assert done.returncode == 74, done.stderr
        assert done.stderr == f"harness: {run.path / file}: Permission denied\n"
        assert status(run)["status"] == "planned"


@pytest.mark.slow
def test_who_is_asleep_for_long_goes_on(whole: bytes, tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", quick())
    child = start(run)
    wait_for(child, "step", 2)
    child.send_signal(signal.SIGSTOP)
    with pytest.raises(subprocess.TimeoutExpired):
        child.wait(0.5)
    child.send_signal(signal.SIGCONT)
    _, err = child.communicate(timeout=60)
    assert child.returncode == 0, err
    assert run.metrics.read_bytes() == whole
