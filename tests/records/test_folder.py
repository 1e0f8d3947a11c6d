"""The run folder: when it is a run, who holds it, and what is read back."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from harness.config import RunConfig
from harness.errors import ConfigError, DataError, FolderError, StoppedError
from harness.records import folder
from harness.records.config_file import config_hash
from harness.records.folder import RunFolder, RunStatus


def test_a_created_folder_is_a_planned_run_with_its_config(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "a" / "run")
    config = RunConfig(seed=7)
    assert not run.is_run()
    folder.create(run, config)
    assert run.is_run()
    assert folder.read_config(run) == config
    status = folder.read_status(run)
    assert (status.status, status.last_step, status.attempts) == ("planned", 0, 0)
    assert status.config_hash == config_hash(config)
    assert "numpy" in status.versions


def test_run_json_begins_with_its_schema_and_has_every_key(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    folder.create(run, RunConfig())
    assert list(json.loads(run.status.read_text())) == [
        "schema", "status", "reason", "exit_code", "last_step", "attempts", "config_hash",
        "measurement", "versions", "git",
    ]  # fmt: skip


def test_a_folder_that_holds_a_run_is_refused(tmp_path: Path) -> None:
    folder.create(RunFolder(tmp_path), RunConfig())
    with pytest.raises(ConfigError, match="already holds a run; continue it with `harness resume`"):
        folder.create(RunFolder(tmp_path), RunConfig())


def test_somebodys_files_are_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ConfigError, match=r"needs an empty folder, found 'thesis.tex'"):
        folder.create(RunFolder(tmp_path), RunConfig())
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_what_a_dead_start_left_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("seed: 3")
    (tmp_path / "train.log").write_text("")
    folder.create(RunFolder(tmp_path), RunConfig(seed=4))
    assert folder.read_config(RunFolder(tmp_path)).seed == 4


def test_a_file_in_the_way_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderError, match="file/run: Not a directory"):
        folder.create(RunFolder(tmp_path / "file" / "run"), RunConfig())


@pytest.mark.parametrize(
    ("text", "error", "sentence"),
    [
        ("seed: [1", DataError, "cannot be read as YAML"),
        ("- 1", DataError, "must hold a mapping, got list"),
        ("schema: 9", ConfigError, "schema must be 1, got 9"),
        ("schema: 1\nseeed: 1", ConfigError, "unknown key 'seeed'"),
        ("schema: 1\npolicy: {temperature: 0}", ConfigError, "policy.temperature must lie between"),
    ],
)
def test_a_config_that_cannot_be_read_says_why(
    tmp_path: Path, text: str, error: type[Exception], sentence: str
) -> None:
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(error, match=sentence):
        folder.read_config(RunFolder(tmp_path))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"status": 1', "[" * 100_000])
def test_a_status_that_cannot_be_read_says_where(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(DataError, match=r"run.json: cannot be read"):
        folder.read_status(RunFolder(tmp_path))


def test_a_later_versions_extra_keys_are_passed_over(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    folder.write_status(run, RunStatus(status="done", last_step=3))
    values = json.loads(run.status.read_text()) | {"colour": "blue"}
    run.status.write_text(json.dumps(values))
    assert folder.read_status(run).last_step == 3


HOLD = """
import sys, time
from pathlib import Path
from harness.records import folder
with folder.hold(folder.RunFolder(Path(sys.argv[1]))):
    print("held", flush=True)
    time.sleep(60)
"""


def test_one_holder_at_a_time_and_none_after_a_kill(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        with (
            pytest.raises(StoppedError, match=rf"held by process {other.pid} on "),
            folder.hold(run),
        ):
            pytest.fail("held twice")
    finally:
        other.kill()
        other.communicate()
    with folder.hold(run):
        pass


def test_status_survives_a_round_trip(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    status = RunStatus(status="failed", reason="why", exit_code=70, last_step=9, attempts=2)
    folder.write_status(run, status)
    assert folder.read_status(run) == status
    folder.write_status(run, replace(status, status="done"))
    assert folder.read_status(run).status == "done"
    assert [p.name for p in tmp_path.iterdir()] == ["run.json"]
