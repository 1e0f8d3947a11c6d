"""Continuing: a run by itself, a finished one, a held one, a sweep that moved."""

import json
import shutil
import signal
from dataclasses import replace
from pathlib import Path

import pytest

from harness.compose import plan
from harness.compose.plan import Point
from harness.config.run import RunConfig, TrainerConfig
from harness.errors import ConfigError, DataError
from harness.execution import child_process, ledger, resume, stop_requests, sweep
from harness.records import config_file, holder, provenance, run_folder, run_status
from harness.records.provenance import MadeBy
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus
from harness.testing.commands import (
    TABULAR,
    harness,
    here,
    only_sweep,
    rows,
    start_command,
    wait_until,
)

BRIEF = (*TABULAR, "difficulty.turn_cap=2")
SHORT = (*BRIEF, "trainer.steps=30", "trainer.checkpoint_every=1000")


def put(path: Path, status: RunStatus) -> RunFolder:
    made = RunFolder(path)
    path.mkdir(parents=True, exist_ok=True)
    run_folder.create(made, RunConfig())
    run_status.write(made.status, status)
    return made


def make_sweep(monkeypatch: pytest.MonkeyPatch, where: Path, seeds: int = 3) -> Path:
    monkeypatch.chdir(where)
    points = [Point((f"seed={n}",), {"seed": n}, RunConfig(seed=n)) for n in range(seeds)]
    return Path(str(ledger.create(plan.build(points, ["seed"]), ["seed=range(3)"]).dir))


def test_a_sweep_asks_once_what_its_runs_are_made_by(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """For each of 400 runs that took a process of git and a search of what is installed."""
    asked, of_now = list[MadeBy](), provenance.current_versions

    def seen() -> MadeBy:
        asked.append(of_now())
        return asked[-1]

    monkeypatch.setattr(provenance, "current_versions", seen)
    root = make_sweep(monkeypatch, tmp_path)
    (made_by,) = asked
    made = [run_status.read(RunFolder(path).status) for path in root.glob("*-seed*")]
    assert [(run.git, run.versions) for run in made] == [(made_by.git, made_by.versions)] * 3


@pytest.mark.slow
def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    with start_command("train", *SHORT, "--dir", "cut", cwd=tmp_path) as train:
        wait_until(lambda: rows(tmp_path / "cut") > 5, "some steps")
        train.send_signal(signal.SIGINT)
        train.communicate(timeout=60)
    resumed = harness("resume", "cut", "--events", "jsonl", cwd=tmp_path)
    assert (train.returncode, resumed.returncode) == (75, 0)
    events = [json.loads(line) for line in resumed.stdout.splitlines()]
    assert events[0]["event"] == "resume"
    assert 0 < events[0]["step"] < rows(tmp_path / "cut") == 30
    assert events[-1] == {"event": "end", "status": "done", "exit_code": 0}


def test_a_held_folder_is_75_and_names_the_process(tmp_path: Path) -> None:
    words = (*BRIEF, "trainer.steps=100000", "--dir", "d")
    with start_command("train", *words, cwd=tmp_path) as train:
        wait_until(lambda: rows(tmp_path / "d") > 0, "a step")
        for refused in (here("resume", "d", cwd=tmp_path), here("train", *words, cwd=tmp_path)):
            assert refused.returncode == 75
            assert f"held by process {train.pid} on " in refused.stderr
    assert "continue with `harness resume d`" in here("status", "d", cwd=tmp_path).stdout


def test_a_sweep_that_is_done_has_nothing_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = make_sweep(monkeypatch, tmp_path)
    for path in root.glob("[0-9]*"):
        run_status.write(RunFolder(path).status, RunStatus("done", exit_code=0))
    known, code = resume.resume(root, "jsonl")
    assert (code, {row.status for row in known.runs}) == (0, {"done"})
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["status"] for event in events] == ["done"] * 4


def test_a_ledger_is_true_to_the_folders_even_where_the_sweep_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_sweep(monkeypatch, tmp_path)
    run_status.write(RunFolder(root / "1-medium-seed1").status, RunStatus("done", exit_code=0))
    run_status.write(RunFolder(root / "2-medium-seed2").status, RunStatus("running"))
    moved = tmp_path / "elsewhere"
    shutil.move(root, moved)
    (moved / "0-medium-seed0" / "run.json").unlink()
    known = ledger.read(moved)
    assert [row.status for row in known.runs] == ["planned", "done", "failed"]
    assert known.runs[2].reason == "process died without writing a status (killed or crashed)"
    assert [row.dir for row in known.runs] == [str(moved / row.name) for row in known.runs]
    assert [row.name for row in ledger.unfinished(known)] == ["0-medium-seed0", "2-medium-seed2"]


@pytest.mark.slow
def test_a_run_whose_folder_was_removed_is_planned_anew_under_its_name(tmp_path: Path) -> None:
    words = (*TABULAR, "trainer.steps=3", "difficulty=easy", "seed=1,2")
    assert harness("sweep", *words, cwd=tmp_path).returncode == 0
    root = only_sweep(tmp_path)
    lost = root / "1-easy-seed2"
    before = (lost / "config.yaml").read_bytes(), (lost / "metrics.jsonl").read_bytes()
    shutil.rmtree(lost)
    resumed = harness("resume", str(root), cwd=tmp_path)
    assert resumed.returncode == 0, resumed.stderr
    assert ((lost / "config.yaml").read_bytes(), (lost / "metrics.jsonl").read_bytes()) == before
    assert resume.status(root)["runs"][1]["status"] == "done"


def test_a_run_whose_folder_was_removed_is_not_planned_anew_with_another_config(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the sweep is resumed in a folder with other options in its conf/."""
    monkeypatch.chdir(tmp_path)
    words = ("trainer.steps=7", "difficulty=mine")
    points = [Point((word,), {"seed": n}, RunConfig(seed=n)) for n, word in enumerate(words)]
    root = Path(str(ledger.create(plan.build(points, ["seed"]), []).dir))
    for path in root.glob("*/run.json"):
        shutil.rmtree(path.parent)
    found, code = sweep.execute(root)
    assert (code, [(row.status, row.exit_code) for row in found.runs]) == (3, [("failed", 2)] * 2)
    changed, unknown = (str(row.reason) for row in found.runs)
    planned_hash = config_file.choices_hash(RunConfig(seed=0))
    assert f"must be planned again with its config, {planned_hash}; its words now give" in changed
    assert "its config cannot be composed again: difficulty must be one of" in unknown
    assert all(
        "resume the sweep in the folder that it was started in" in r for r in (changed, unknown)
    )
    assert not [*root.glob("*/run.json")]


@pytest.mark.slow
def test_a_run_that_cannot_be_continued_is_a_row_and_the_others_go_on(tmp_path: Path) -> None:
    words = (*TABULAR, "trainer.steps=3", "seed=1,2,3")
    assert harness("sweep", *words, cwd=tmp_path).returncode == 0
    root = only_sweep(tmp_path)
    damaged, blocked, healthy = (root / f"{n}-medium-seed{n + 1}" for n in range(3))
    for run in (RunFolder(damaged), RunFolder(healthy)):
        stopped = replace(run_status.read(run.status), status="stopped", exit_code=75)
        run_status.write(run.status, stopped)
    (damaged / "config.yaml").write_text("schema: 2\n")
    shutil.rmtree(blocked)
    blocked.write_text("a file where the folder should be")
    assert harness("resume", str(root), cwd=tmp_path).returncode == 3
    runs = resume.status(root)["runs"]
    assert [row["status"] for row in runs] == ["failed", "damaged", "done"]
    assert [row["exit_code"] for row in runs] == [2, 65, 0]
    assert "schema must be 1, got 2" in runs[0]["reason"]
    assert str(blocked) in runs[1]["reason"]


def test_a_run_that_another_process_executes_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_sweep(monkeypatch, tmp_path)
    busy = RunFolder(root / "0-medium-seed0")
    run_status.write(busy.status, RunStatus("running"))
    with holder.hold(busy):
        known = ledger.read(root)
        assert known.runs[0].status == "running"
        assert "0-medium-seed0" not in [row.name for row in ledger.unfinished(known)]
        with pytest.raises(Exception, match=r"held by process \d+ on "):
            child_process.refuse_if_held(busy)
    assert holder.holder(busy) is None


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "cannot be read"),
        ("[]", "cannot be read"),
        ('{"runs": [{"name": 1}], "dir": null, "axes": {}}', "cannot be read"),
    ],
)
def test_a_damaged_sweep_file_is_data_error(tmp_path: Path, content: str, said: str) -> None:
    (tmp_path / "sweep.json").write_text(content)
    with pytest.raises(DataError, match=said):
        resume.resume(tmp_path, None)


def test_a_damaged_run_is_said_to_be_damaged(tmp_path: Path) -> None:
    made = put(tmp_path / "run", RunStatus("stopped"))
    made.config.write_text("seed: [")
    with pytest.raises(DataError, match=r"config.yaml:2: cannot be read as YAML"):
        resume.resume(made.path, None)
    made.config.write_text("schema: 1\nsed: 3\n")
    with pytest.raises(ConfigError, match=r"config.yaml: unknown key 'sed'"):
        resume.resume(made.path, None)
    made.status.write_text("nonsense")
    with pytest.raises(DataError, match=r"run.json: cannot be read"):
        resume.status(made.path)


def planned(tmp_path: Path, gpus: int = 0) -> RunFolder:
    made = RunFolder(tmp_path / "sweep" / "run")
    run_folder.create(made, RunConfig(trainer=TrainerConfig(gpus=gpus)))
    return made


def test_a_run_that_cannot_start_is_a_row_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = planned(tmp_path)
    made.config.write_text("schema: 2\n")
    outcome = child_process.execute(made.path)
    assert (outcome.status, outcome.exit_code) == ("failed", 2)
    assert "schema must be 1, got 2" in str(outcome.reason)
    assert run_status.read(made.status).reason == outcome.reason


def test_a_run_without_the_gpu_it_asks_for_is_a_row_with_code_71(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    outcome = child_process.execute(planned(tmp_path, gpus=1).path)
    assert (outcome.status, outcome.exit_code) == ("failed", 71)
    assert outcome.reason == "trainer.gpus: must be 0 without a visible GPU, got 1"


def test_a_run_is_not_started_once_its_sweep_is_to_stop(tmp_path: Path) -> None:
    made = planned(tmp_path)
    stop_requests.request(made.path.parent, stop_requests.NO_NEW_RUNS)
    outcome = child_process.execute(made.path)
    assert (outcome.status, outcome.exit_code) == ("planned", None)
    assert not made.log.exists()


def test_a_run_whose_folder_is_gone_is_a_row(tmp_path: Path) -> None:
    outcome = child_process.execute(tmp_path / "gone")
    assert outcome.status == "failed"
    assert "config.yaml" in str(outcome.reason)
