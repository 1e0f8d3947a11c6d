"""What a newer version has written is read; continuing it is refused, and nothing is changed."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness import simulator
from harness.records import config_file, run_status
from harness.records.run_folder import RunFolder
from harness.testing.commands import here

GOLDEN = Path(__file__).parents[1] / "golden" / "2026-11-22"
PARTIAL = "1-hard-seed1"
WRITER = "planned with harness 0.1.0 at git revision 3038b224e933: continue it with that version"
Change = Callable[[RunFolder], None]


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    return shutil.copytree(GOLDEN / "sweep", tmp_path / "sweep")


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    values = json.loads(path.read_text())
    change(values)
    path.write_text(json.dumps(values))


def in_config(run: RunFolder) -> None:
    values = yaml.safe_load(run.config.read_text())
    values["trainer"]["zeal"] = 7
    values["levels"]["hard"]["zest"] = 8
    run.config.write_text(yaml.safe_dump(values))
    planned = config_file.hash_of(values)
    edit(run.status, lambda status: status.update(config_hash=planned))
    for path in run.checkpoints.glob("*/manifest.json"):
        edit(path, lambda manifest: manifest["identity"].update(config_hash=planned))


def in_status(run: RunFolder) -> None:
    edit(run.status, lambda status: status.update(zeal=7))


def in_manifest(run: RunFolder) -> None:
    edit(run.checkpoints / "step-00003/manifest.json", lambda values: values.update(zeal=7))


CHANGES = {
    "config.yaml has levels.hard.zest, trainer.zeal": in_config,
    "run.json has zeal": in_status,
    "step-00003/manifest.json has zeal": in_manifest,
}


def snapshot(folder: Path) -> dict[str, bytes]:
    """Files by name, but for locks and what a resume of the rest of a sweep writes about itself."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name not in (".lock", ".holder", "debug.log")
    }


def runs_of_a_fit(run: RunFolder) -> list[str]:
    out = run.path.parent.parent / "law"
    words = ("--with-unfinished", "--json", "--figures", "none", "--out", str(out))
    found = here("fit-entropy-law", str(run.path), *words, cwd=out.parent)
    return [one["run"] for one in json.loads(found.stdout)["runs"]]


@pytest.mark.parametrize("keys", CHANGES)
def test_a_run_with_keys_of_a_newer_version_is_read_and_not_resumed(sweep: Path, keys: str) -> None:
    run = RunFolder(sweep / PARTIAL)
    CHANGES[keys](run)
    before = snapshot(run.path)
    assert "crashed, 4/8 steps" in here("status", str(run.path), cwd=sweep).stdout
    assert runs_of_a_fit(run) == [str(run.path)]
    verified = here("verify", str(run.path), "--json", cwd=sweep)
    (one,) = json.loads(verified.stdout)["runs"]
    assert (verified.returncode, one["ok"]) == (0, True), one
    assert any(keys in f["message"] for f in one["findings"] if f["level"] == "note"), one
    done = here("resume", str(run.path), cwd=sweep)
    assert done.returncode == 65, done.stderr
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith(f"harness: {run.path}: {keys}, which this version (harness ")
    assert sentence.endswith(WRITER)
    assert snapshot(run.path) == before


def test_in_a_sweep_it_is_left_as_it_is_and_the_others_go_on(sweep: Path) -> None:
    newer, other = RunFolder(sweep / PARTIAL), RunFolder(sweep / "0-easy-seed1")
    other.metrics.unlink()  # it is done, and damaged: there is something to do
    shutil.rmtree(other.checkpoints)
    in_status(newer)
    before = snapshot(newer.path)
    done = here("resume", str(sweep), cwd=sweep)
    assert done.returncode == 3, done.stderr
    assert f"{newer.path}: run.json has zeal, which this version" in done.stderr
    assert snapshot(newer.path) == before
    golden = GOLDEN / "sweep/0-easy-seed1/metrics.jsonl"
    assert len(other.metrics.read_text().splitlines()) == len(golden.read_text().splitlines())


@pytest.mark.parametrize(
    ("file", "change", "keys"),
    [
        ("sweep.json", lambda v: v.update(zeal=7), "sweep.json has zeal"),
        ("sweep.json", lambda v: v["runs"][1].update(zeal=7), "sweep.json has runs.zeal"),
        ("study.json", lambda v: v.update(zeal=7), "study.json has zeal"),
        ("study.json", lambda v: v["stated"].update(zeal=7), "study.json has stated.zeal"),
    ],
)
def test_a_sweep_or_study_with_keys_of_a_newer_version_is_read_and_not_resumed(
    sweep: Path, file: str, change: Callable[[dict[str, Any]], object], keys: str
) -> None:
    study = {"schema": 1, "study": "s", "stated": {}, "changed": [], "arms": {}, "runs": {}}
    (sweep / "study.json").write_text(json.dumps(study))
    edit(sweep / file, change)
    before = snapshot(sweep)
    assert f"{PARTIAL}: crashed, 4/8 steps" in here("status", str(sweep), cwd=sweep).stdout
    assert here("verify", str(sweep), cwd=sweep).returncode == 0
    done = here("resume", str(sweep), cwd=sweep)
    assert done.returncode == 65
    assert done.stderr.startswith(f"harness: {sweep}: {keys}, which this version (harness ")
    assert done.stderr.rstrip().endswith(WRITER)
    assert snapshot(sweep) == before


def test_a_key_that_somebody_wrote_into_a_config_is_no_newer_version(sweep: Path) -> None:
    run = RunFolder(sweep / PARTIAL)
    run.config.write_text(run.config.read_text() + "zeal: 7\n")
    done = here("resume", str(run.path), cwd=sweep)
    assert done.returncode == 2
    assert "config.yaml: unknown key 'zeal'" in done.stderr


def of_simulator(run: RunFolder, version: int) -> None:
    status = run_status.read(run.status)
    run_status.write(run.status, dataclasses.replace(status, simulator_version=version))


def test_rows_of_another_simulator_are_read_and_not_continued(sweep: Path) -> None:
    run, version = RunFolder(sweep / PARTIAL), simulator.VERSION + 1
    of_simulator(run, version)
    before = snapshot(run.path)
    assert "crashed, 4/8 steps" in here("status", str(run.path), cwd=sweep).stdout
    assert runs_of_a_fit(run) == [str(run.path)]
    assert here("verify", str(run.path), cwd=sweep).returncode == 0
    done = here("resume", str(run.path), cwd=sweep)
    assert done.returncode == 65
    assert done.stderr == (
        f"harness: {run.path}: its rows were made with version {version} of the user simulator, "
        f"and this is version {simulator.VERSION}: rows of two versions are not one run; continue "
        "it with harness 0.1.0 at git revision 3038b224e933, which wrote them\n"
    )
    assert snapshot(run.path) == before


def test_a_run_records_its_simulator_and_one_without_rows_takes_todays(sweep: Path) -> None:
    run = RunFolder(sweep / PARTIAL)
    run.metrics.unlink()
    shutil.rmtree(run.checkpoints)
    of_simulator(run, simulator.VERSION + 1)
    assert here("resume", str(run.path), cwd=sweep).returncode == 0
    assert run_status.read(run.status).simulator_version == simulator.VERSION


def test_a_done_run_of_another_simulator_stays_done(sweep: Path) -> None:
    run = RunFolder(sweep / "0-easy-seed1")
    of_simulator(run, simulator.VERSION + 1)
    before = snapshot(run.path)
    assert here("resume", str(run.path), cwd=sweep).returncode == 0
    assert snapshot(run.path) == before
