"""A study about a probe, from the first run to the verdict, and what is asked anew."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from harness.errors import StoppedError
from harness.probes import expected, registry
from harness.probes.expected import ProbeSize
from harness.records import holder, run_folder
from harness.records.probe_answer import path_of
from harness.records.run_folder import RunFolder
from harness.study import answers
from harness.testing.commands import command, here, wait_until
from tests.study.made import written
from tests.train.made import brief, go_on, make_run

STUDY = """
question: Does training on hard users end the asking?
source: made up
seeds: 1,2
words: [policy=tabular, trainer.conversations=8, trainer.steps=4, "eval.levels=[medium]",
        eval.users=8, eval.deaf=false]
arms:
  medium: [difficulty=medium]
  hard: [difficulty=hard]
probes: {grounding: {users: 8, repeats: 2}}
links:
  hard asks less:
    {probe: grounding, quantity: question, arm: hard, against: medium, direction: less, margin: 5}
"""


def test_an_outdated_answer_stays_while_another_process_works_there(tmp_path: Path) -> None:
    required = answers.RequiredProbe(tmp_path / "0-hard-seed1", "grounding", 8, 2, None)
    outdated = path_of(required.run, required.probe)
    outdated.parent.mkdir(parents=True)
    outdated.write_text("{}")
    with holder.hold(RunFolder(tmp_path)), pytest.raises(StoppedError, match="held by process"):
        answers.ask_missing(tmp_path, [required])
    assert outdated.is_file()


def change_in(run: Path) -> float:
    """What `harness probe` says of the run, from its own file."""
    value = json.loads(path_of(run, "grounding").read_text())
    (one,) = (
        reading["change"]["value"]
        for reading in value["readings"]
        if (reading["level"], reading["quantity"]) == ("medium", "question")
    )
    return float(one)


def judged(cwd: Path, code: int = 0) -> tuple[Mapping[str, Any], str]:
    """result.json of the study, and stderr."""
    done = here("study", "mine", "--json", cwd=cwd)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout), done.stderr


@pytest.mark.slow
def test_a_study_asks_its_probe_of_its_runs_once_and_judges_what_it_found(tmp_path: Path) -> None:
    written(tmp_path, STUDY)
    value, said = judged(tmp_path)
    assert "4 answers of probes (grounding 4): about" in said
    assert "probe grounding: 4 of 4 answers" in said
    root = Path(value["dir"])
    runs = sorted(path.parent for path in root.glob("*/run.json"))
    found = {run.name: change_in(run) for run in runs}
    (link,) = value["links"]
    assert link["unanswered"] == {}
    for seed, (medium, hard) in enumerate([(0, 1), (2, 3)], start=1):
        difference = found[f"{hard}-hard-seed{seed}"] - found[f"{medium}-medium-seed{seed}"]
        assert link["by_seed"][str(seed)] == pytest.approx(difference)
    assert any(found.values())

    asked_at = {run: path_of(run, "grounding").stat().st_mtime_ns for run in runs}
    again, said = judged(tmp_path)
    assert "answers" not in said.split("of probes", 1)[1]
    assert again["links"] == value["links"]
    assert {run: path_of(run, "grounding").stat().st_mtime_ns for run in runs} == asked_at

    first, other = runs[0], runs[1]
    done = here("probe", "grounding", str(first), "--users", "5", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (checkpoint,) = (other / "checkpoints").glob("step-00004")
    (checkpoint / "manifest.json").write_text("{}")
    partly, said = judged(tmp_path, 3)
    assert f"{other.name}: probe grounding failed: " in said
    assert "probe grounding: 2 of 2 answers" in said
    assert change_in(first) == found[first.name]
    (link,) = partly["links"]
    assert link["unanswered"] == {other.name: "the probe was not asked, or failed"}
    assert {**value["links"][0]["by_seed"], **link["by_seed"]} == value["links"][0]["by_seed"]
    assert set(link["by_seed"]) == {"2"}


@pytest.mark.slow
def test_ctrl_c_while_probes_are_asked_ends_the_study_to_go_on_with(tmp_path: Path) -> None:
    written(tmp_path, STUDY.replace("{users: 8, repeats: 2}", "{users: 64, repeats: 16}"))
    words = command("study", "mine", "--dir", "study")
    study = subprocess.Popen(
        words, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        start_new_session=True,
    )  # fmt: skip
    answered = "*/probes/grounding/probe.json"
    wait_until(lambda: [*(tmp_path / "study").glob(answered)], "the first answer")
    os.killpg(study.pid, signal.SIGINT)  # as a terminal does: to all of its processes
    _, said = study.communicate(timeout=60)
    assert study.returncode == 75, said
    assert "; repeat the command to continue" in said
    assert "Traceback" not in said
    assert "was killed" not in said


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    made = make_run(tmp_path_factory.mktemp("expected") / "one", brief(steps=2))
    code, _, err = go_on(made)
    assert code == 0, err
    return made


@pytest.mark.slow
@pytest.mark.parametrize("name", ["grounding", "drift", "understanding", "alliance"])
def test_what_is_expected_of_a_run_is_what_the_probe_says(
    name: str, run: RunFolder, tmp_path: Path
) -> None:
    config = run_folder.read_config(run)
    told = expected.of(registry.get(name), config, ProbeSize(users=6, repeats=1))
    words = ("--users", "6", "--repeats", "1", "--json", "--out", str(tmp_path / "out"))
    done = here("probe", name, str(run.path), *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    value = json.loads(done.stdout)
    readings = {(one["level"], one["quantity"]): one["unit"] for one in value["readings"]}
    assert told.units == readings
    assert 2 * told.conversations == value["conversations"]


@pytest.mark.slow
def test_a_dry_run_counts_the_answers(tmp_path: Path) -> None:
    written(tmp_path, STUDY)
    value = json.loads(here("study", "mine", "--dry-run", "--json", cwd=tmp_path).stdout)
    assert value["answers"] == {"grounding": 4}
    assert "; then 4 answers of probes (grounding 4): about" in value["cost"]
    assert [path.name for path in tmp_path.iterdir()] == ["sweeps"]
