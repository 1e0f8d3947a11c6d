"""The verify command: which runs it finds, what it says of each, and how it ends."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.records import holder, run_status
from harness.records.run_folder import RunFolder
from harness.testing.commands import here
from tests.train.made import brief, go_on, make_run


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    run = make_run(tmp_path_factory.mktemp("done") / "run", brief(steps=3, conversations=8))
    assert go_on(run)[0] == 0
    return run


def verified(*words: str, cwd: Path) -> tuple[int, list[dict[str, Any]]]:
    ended = here("verify", *words, "--json", cwd=cwd)
    values = json.loads(ended.stdout)
    assert values["schema"] == 1
    return ended.returncode, values["runs"]


def test_a_whole_run_is_reported_part_by_part(done: RunFolder) -> None:
    code, (run,) = verified("run", cwd=done.path.parent)
    assert code == 0
    assert (run["run"], run["status"], run["ok"]) == ("run", "done", True)
    messages = {finding["part"]: finding["message"] for finding in run["findings"]}
    assert {finding["level"] for finding in run["findings"]} == {"ok"}
    assert messages == {
        "status": "done, 3 steps",
        "rows": "3 rows",
        "checkpoints": "of step 3",
        "outcomes": "of step 3",
        "conversations": "2 files",
        "versions": "as they are now",
        "config": f"as planned, hash {run_status.read(done.status).config_hash}",
    }


COUNTED = "; nothing was changed; --json shows every check"


def test_a_run_that_is_whole_is_one_line(done: RunFolder) -> None:
    ended = here("verify", "run", cwd=done.path.parent)
    assert [line.split() for line in ended.stdout.splitlines()[:2]] == [
        ["run", "status", "result"], ["run", "done", "undamaged"],
    ]  # fmt: skip
    assert ended.stdout.splitlines()[2:] == [f"1 of 1 runs undamaged{COUNTED}"]


def test_what_is_wrong_stands_below_its_run_and_notes_that_are_alike_in_one_line(
    done: RunFolder, tmp_path: Path
) -> None:
    for name in ("a", "b", "c"):
        run = RunFolder(shutil.copytree(done.path, tmp_path / "runs" / name))
        run.outcomes.unlink()
    run.metrics.write_bytes(b"".join(run.metrics.read_bytes().splitlines(keepends=True)[:2]))
    values = json.loads(run.status.read_text())
    run.status.write_text(json.dumps({**values, "status": "running"}))
    ended = here("verify", "runs", cwd=tmp_path)
    assert ended.returncode == 3
    lines = ended.stdout.splitlines()
    assert [line.split()[:3] for line in lines[1:4]] == [
        ["runs/a", "done", "undamaged"], ["runs/b", "done", "undamaged"],
        ["runs/c", "crashed", "damaged"],
    ]  # fmt: skip
    assert lines[4] == (
        "  rows: metrics.jsonl: must hold a row for each step up to 3, as run.json says, got 2"
    )
    assert lines[-2].startswith("2 runs: outcomes: outcomes.json: is missing: lost, or the run")
    assert lines[-1] == f"2 of 3 runs undamaged{COUNTED}"


def test_a_path_without_runs_exits_65_with_one_line(tmp_path: Path) -> None:
    ended = here("verify", "nowhere", "--json", cwd=tmp_path)
    assert ended.returncode == 65
    assert json.loads(ended.stdout) == {"schema": 1, "runs": []}
    assert ended.stderr == (
        "harness: nowhere: no runs here; must be a run or a folder that contains runs\n"
    )


def test_runs_of_a_sweep_are_found_below_any_folder_and_a_missing_one_is_damage(
    done: RunFolder, tmp_path: Path
) -> None:
    root = tmp_path / "runs" / "sweep"
    names = ["2-hard-seed1", "10-hard-seed9", "11-hard-seed10"]
    for name in names[:2]:
        shutil.copytree(done.path, root / name)
    rows: list[dict[str, Any]] = [
        {"name": name, "dir": str(root / name), "overrides": [], "status": "done",
         "reason": None, "exit_code": 0}
        for name in names
    ]  # fmt: skip
    sweep = {"schema": 1, "dir": str(root), "axes": {}, "runs": rows, "command": []}
    (root / "sweep.json").write_text(json.dumps(sweep))
    code, runs = verified("runs", cwd=tmp_path)
    assert code == 3
    named = {Path(run["run"]).name: run["ok"] for run in runs}
    assert named == dict(zip(names, [True, True, False], strict=True))
    order = [Path(run["run"]).name for run in runs if run["ok"]]
    assert order == names[:2]
    (problem,) = next(run for run in runs if not run["ok"])["findings"]
    assert problem["message"] == (
        "runs/sweep/sweep.json: each run must have a folder, 11-hard-seed10 has none"
    )
    (root / "sweep.json").write_text("{")
    assert verified("runs", cwd=tmp_path)[0] == 3


def test_rows_that_are_missing_are_damage_and_a_torn_one_is_a_note(
    done: RunFolder, tmp_path: Path
) -> None:
    run = RunFolder(shutil.copytree(done.path, tmp_path / "run"))
    lines = run.metrics.read_bytes().splitlines(keepends=True)
    run.metrics.write_bytes(b"".join(lines) + lines[0][:40])
    code, (report,) = verified("run", cwd=tmp_path)
    assert code == 0
    (note,) = (f["message"] for f in report["findings"] if f["level"] == "note")
    assert note.startswith("run/metrics.jsonl:4: is incomplete, as after a killed run")
    assert note.endswith("; a resume cuts it off and computes the row again")
    run.metrics.write_bytes(b"".join(lines[:2]) + lines[2][:40])
    code, (report,) = verified("run", cwd=tmp_path)
    assert code == 65
    (note,) = (f["message"] for f in report["findings"] if f["level"] == "note")
    assert note.endswith("; a resume is refused while a checkpoint of step 3 needs the row")
    damaged = {f["part"]: f["message"] for f in report["findings"] if f["level"] == "damaged"}
    assert damaged == {
        "rows": "run/metrics.jsonl: must hold a row for each step up to 3, as run.json says, got 2",
        "checkpoints": "run/checkpoints/step-00003: must have a row for each step up to it, got 2",
    }


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"step": 1}, "step: must be of the last evaluation, that of step 3; got 1"),
        ({"step": 4}, "step: must be of the last evaluation, that of step 3; got 4"),
        ({"step": "3"}, "step: must be that of the evaluation, from 1; got '3'"),
        ({"reward": {"own": [[2]]}}, "reward.own[0][0]: must lie between 0 and 1, or be null for "),
        ({"reward": {"own": [[1], [1]]}}, "reward.own: must have the mean that row 3 has as eval/"),
    ],
)
def test_outcomes_that_are_not_those_of_the_last_row_are_damage(
    done: RunFolder, tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    run = RunFolder(shutil.copytree(done.path, tmp_path / "run"))
    run.outcomes.write_text(json.dumps(json.loads(run.outcomes.read_text()) | change))
    code, (report,) = verified("run", cwd=tmp_path)
    assert code == 65
    (damaged,) = (f for f in report["findings"] if f["level"] == "damaged")
    assert damaged["part"] == "outcomes"
    assert damaged["message"].startswith(f"run/outcomes.json: {said}")


def test_outcomes_that_are_gone_are_a_note(done: RunFolder, tmp_path: Path) -> None:
    run = RunFolder(shutil.copytree(done.path, tmp_path / "run"))
    run.outcomes.unlink()
    code, (report,) = verified("run", cwd=tmp_path)
    assert code == 0
    (note,) = (f["message"] for f in report["findings"] if f["level"] == "note")
    assert note == (
        "run/outcomes.json: is missing: lost, or the run is of an older version; "
        "`harness variance` uses means instead"
    )


def test_other_versions_are_a_note(done: RunFolder, tmp_path: Path) -> None:
    run = RunFolder(shutil.copytree(done.path, tmp_path / "run"))
    values = json.loads(run.status.read_text())
    values["versions"]["numpy"] = "1.26.4"
    run.status.write_text(json.dumps(values))
    code, (report,) = verified("run", cwd=tmp_path)
    assert code == 0
    notes = [f["message"] for f in report["findings"] if f["part"] == "versions"]
    assert len(notes) == 2
    assert notes[0].startswith("run/events.jsonl: an attempt ran with other versions: numpy 1.26.4")
    assert notes[1].startswith("run/run.json: planned with other versions than these: numpy 1.26.4")


def test_journals_are_read_and_not_changed(done: RunFolder, tmp_path: Path) -> None:
    run = RunFolder(shutil.copytree(done.path, tmp_path / "run"))
    run.simulator.mkdir()
    journal = run.simulator / "step-00001.jsonl"
    entry = '{"id": "a", "of": [], "purpose": "open", "content": "Hm."}\n'
    journal.write_text(entry + entry[:9])
    assert verified("run", cwd=tmp_path)[0] == 0
    assert journal.read_text() == entry + entry[:9]
    journal.write_text("{}\n" + entry)
    code, (report,) = verified("run", cwd=tmp_path)
    assert code == 65
    (damaged,) = (f for f in report["findings"] if f["level"] == "damaged")
    assert damaged["part"] == "simulator"
    assert damaged["message"].startswith(
        "run/simulator/step-00001.jsonl:1: each line must be an entry of the journal"
    )


def test_a_run_in_use_is_a_note(done: RunFolder, tmp_path: Path) -> None:
    run = RunFolder(shutil.copytree(done.path, tmp_path / "run"))
    with holder.hold(run):
        code, (report,) = verified("run", cwd=tmp_path)
    assert code == 0
    (note,) = (f["message"] for f in report["findings"] if f["level"] == "note")
    assert note.startswith("run: in use by process ")


def test_a_tabular_run_is_verified_without_torch(done: RunFolder) -> None:
    asked = (
        "import sys; from pathlib import Path; from harness.cli import verify; "
        f"assert verify.verify(Path({str(done.path)!r}), as_json=True) == 0; "
        "assert 'torch' not in sys.modules; assert 'harness.train' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", asked], check=True, capture_output=True)


def test_links_are_followed_once_and_a_file_is_no_run(done: RunFolder, tmp_path: Path) -> None:
    shutil.copytree(done.path, tmp_path / "runs" / "checkpoints" / "run")
    (tmp_path / "runs" / "again").symlink_to(tmp_path / "runs")
    (tmp_path / "runs" / "linked").symlink_to(tmp_path / "runs" / "checkpoints" / "run")
    code, runs = verified("runs", cwd=tmp_path)
    assert (code, [run["run"] for run in runs]) == (0, ["runs/checkpoints/run"])
    (tmp_path / "file").touch()
    assert verified("file", cwd=tmp_path) == (65, [])


def test_a_config_of_another_program_makes_no_run(done: RunFolder, tmp_path: Path) -> None:
    shutil.copytree(done.path, tmp_path / "runs" / "one")
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "config.yaml").write_text("defaults: [run_schema]\n")
    assert [run["run"] for run in verified(".", cwd=tmp_path)[1]] == ["runs/one"]


@pytest.mark.attack("a link to / lies among runs to verify", "it is not entered, in seconds")
def test_no_link_leads_out_of_the_named_path(
    done: RunFolder, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    shutil.copytree(done.path, tmp_path / "runs" / "one")
    shutil.copytree(done.path, tmp_path / "elsewhere" / "other")
    (tmp_path / "runs" / "everything").symlink_to("/")
    (tmp_path / "runs" / "other").symlink_to(tmp_path / "elsewhere" / "other")
    code, runs = verified("runs", cwd=tmp_path)
    record_property("seen", f"exit {code}: {[run['run'] for run in runs]}")
    assert (code, [run["run"] for run in runs]) == (0, ["runs/one"])
