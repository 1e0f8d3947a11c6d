"""A study that an older version began goes on with its runs, as they were stated then."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest
import yaml

from harness.records import config_file, run_status, study_file
from harness.records.run_folder import RunFolder
from harness.records.study_file import StudyRecord
from harness.study import arms, file, folder
from harness.study.arms import PlannedStudy
from harness.testing.commands import here
from tests.study.made import planned, written

NAMES = ["0-medium-seed1", "1-hard-seed1", "2-medium-seed2", "3-hard-seed2"]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a study whose runs are planned."""
    monkeypatch.chdir(tmp_path)
    written(tmp_path)
    folder.create_or_complete(planned(), tmp_path / "here")
    return tmp_path / "here"


def aged(root: Path, name: str, *keys: str, simulator: int | None = None) -> None:
    """Leave a run as an older version would: without these keys of its trainer, which came later,
    under its hash then, and, with `simulator`, with a row of that version of it.
    """
    run = RunFolder(root / name)
    values = yaml.safe_load(run.config.read_text())
    for key in keys:
        del values["trainer"][key]
    run.config.write_text(yaml.safe_dump(values))
    then = config_file.hash_of(values)
    status = json.loads(run.status.read_text())
    if simulator is not None:
        run.metrics.write_text("{}\n")
        status["simulator_version"] = simulator
    run.status.write_text(json.dumps({**status, "config_hash": then}))
    stated = json.loads((root / study_file.FILE).read_text())
    stated["runs"][name][0] = then
    (root / study_file.FILE).write_text(json.dumps(stated))


def test_it_goes_on_with_the_runs_of_a_version_that_had_fewer_keys(root: Path) -> None:
    for name in NAMES:
        aged(root, name, "stop_when", "grace_s")
    for _ in range(2):  # also where a version between the two went on with it
        again = folder.create_or_complete(planned(), root)
        assert (list(again.runs), again.changed) == (NAMES, [])
    more = folder.create_or_complete(planned("seed=1,2,3"), root)
    assert list(more.runs) == [*NAMES, "4-medium-seed3", "5-hard-seed3"]


def test_of_a_run_that_was_planned_twice_the_one_that_is_done_counts(root: Path) -> None:
    aged(root, NAMES[0], "stop_when")
    stated = json.loads((root / study_file.FILE).read_text())
    stated["runs"]["4-medium-seed1"] = list(arms.run_identity(planned().points["medium"][1]))
    (root / study_file.FILE).write_text(json.dumps(stated))
    assert folder.create_or_complete(planned(), root).arms["medium"]["1"] == NAMES[0]
    twin = RunFolder(root / "4-medium-seed1")
    ended = dataclasses.replace(run_status.read(twin.status), status="done")
    run_status.write(twin.status, ended)
    assert folder.count_done(planned(), root) == 1
    assert folder.create_or_complete(planned(), root).arms["medium"]["1"] == "4-medium-seed1"


@pytest.mark.parametrize("content", ["", "- 1", "just words", "a: 2026-11-27", "{", "schema: 99"])
def test_a_config_that_is_none_leaves_the_study_as_it_is(root: Path, content: str) -> None:
    """Also one of an older version, which cannot be told for what it was."""
    aged(root, NAMES[1], "stop_when")
    for name in NAMES[:2]:
        RunFolder(root / name).config.write_text(content)
    again = folder.create_or_complete(planned(), root)
    assert list(again.runs) == [*NAMES, "4-hard-seed1"]


def test_runs_of_another_simulator_are_not_gone_on_with(root: Path) -> None:
    aged(root, NAMES[0], "stop_when", simulator=1)
    again = folder.create_or_complete(planned(), root)
    assert list(again.runs) == [*NAMES, "4-medium-seed1"]
    assert again.arms["medium"]["1"] == "4-medium-seed1"


def test_a_run_does_not_stop_for_what_its_null_control_goes_on_through(root: Path) -> None:
    """Unless somebody asks for it, or the study was begun by a version that did."""
    points = planned().points["hard"].values()
    assert {point.config.trainer.stop_unheard for point in points} == {False}
    asked = planned("trainer.stop_unheard=true").points["hard"].values()
    assert {point.config.trainer.stop_unheard for point in asked} == {True}
    older = root.with_name("older")
    folder.create_or_complete(arms.plan("mine", file.read("mine"), [], implied=()), older)
    for place, is_implied in ((root, True), (older, False)):
        done = here("study", "mine", "--dir", str(place), "--dry-run", cwd=root.parent)
        assert ("trainer.stop_unheard=false" in done.stdout) == is_implied


def looked(root: Path, first: PlannedStudy) -> StudyRecord:
    """A study whose one link has been judged, as a version without looks left it."""
    record = folder.create_or_complete(first, root)
    link = {"name": "hard gains less", "arm": "hard", "against": "medium", "difference": -0.1}
    result = {"links": [{**link, "by_seed": {"1": -0.1, "2": -0.2}}], "checks": [], "best": {}}
    (root / "study").mkdir()
    (root / "study" / "result.json").write_text(json.dumps(result))
    return record


@pytest.mark.slow
def test_a_look_that_an_older_version_made_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path)
    root = tmp_path / "here"
    assert looked(root, planned()).looks == []
    values = json.loads((root / "study.json").read_text())
    del values["looks"]
    (root / "study.json").write_text(json.dumps(values))
    (look,) = folder.create_or_complete(planned("seed=1,2,3"), root).looks
    pairs = ["1-hard-seed1 0-medium-seed1", "3-hard-seed2 2-medium-seed2"]
    assert look.pairs == {"hard gains less": pairs}
    assert study_file.read(root).looks == [look]
    (root / "study" / "result.json").write_text("[]")
    assert folder.create_or_complete(planned(), root).looks == [look]
