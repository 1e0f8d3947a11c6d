"""An exported folder is asked as its run is, and says what it cannot be asked."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.config.run import DifficultyConfig
from harness.probes import source
from harness.records import policy_file
from harness.records.run_folder import RunFolder
from harness.testing.commands import here

SIZE = ("--users", "3", "--repeats", "1")


def probed(folder: Path, *words: str) -> tuple[int, Any, str]:
    """Exit code, probe.json, stderr."""
    out = folder.parent / f"{folder.name}-answers"
    done = here("probe", words[0], str(folder), *words[1:], "--out", str(out), cwd=folder.parent)
    value = json.loads((out / "probe.json").read_text()) if done.returncode == 0 else None
    return done.returncode, value, " ".join(done.stderr.split())


def rewritten(exported: Path, target: Path, **policy: Any) -> Path:
    """A copy of the export whose harness.yaml says something else of the policy."""
    shutil.copytree(exported, target)
    path = target / policy_file.NAME
    values = yaml.safe_load(path.read_text())
    values["config"]["policy"] |= policy
    path.write_text(yaml.safe_dump(values))
    return target


def test_it_names_the_step_and_what_training_began_with(run: RunFolder, exported: Path) -> None:
    read = policy_file.read(exported)
    status = json.loads(run.status.read_text())
    assert (read.step, read.left_out) == (4, ())
    assert read.start_model == status["start_model"]
    assert yaml.safe_load(run.config.read_text())["policy"]["name"] == read.config.policy.name


@pytest.mark.slow  # six evaluations of a language model
def test_the_folder_answers_as_the_run_does(run: RunFolder, exported: Path, tmp_path: Path) -> None:
    folder, again = tmp_path / "model", tmp_path / "run"
    shutil.copytree(exported, folder)
    shutil.copytree(run.path, again)
    for name, words in (("drift", SIZE), ("reliability", ("--first", "8"))):
        (code, of_folder, err), (_, of_run, _) = (
            probed(one, name, *words) for one in (folder, again)
        )
        assert code == 0, err
        for key in ("reference", "readings", "steps", "verdict", "items"):
            assert of_folder[key] == of_run[key]
    code, against_run, err = probed(folder, "reliability", "--first", "8", "--against", str(again))
    assert code == 0, err
    known = [one["change"] for one in against_run["readings"]]
    assert {one["value"] for one in known} == {0.0}


@pytest.mark.slow  # loads a model several times
def test_a_chat_model_of_others_is_asked_against_another_folder(
    exported: Path, tmp_path: Path
) -> None:
    """Nobody knows what it began with, so that `--against start` and drift are refused."""
    folder = rewritten(exported, tmp_path / "model", kind="hf", model="")
    code, _, err = probed(folder, "reliability", "--first", "3")
    assert code == 2
    assert (
        f"{folder}/harness.yaml: policy.model must name the start model of the policy, got "
        "nothing: give a run or another folder to compare with as --against" in err
    )
    code, _, err = probed(folder, "drift", *SIZE, "--against", str(folder))
    assert code == 2
    assert "policy.model must name the start model of the policy for drift, got nothing" in err
    words = ("--first", "3", "--against", str(folder))
    code, value, err = probed(folder, "reliability", *words)
    assert code == 0, err
    assert value["items"] == 3
    assert value["verdict"].startswith("no verdict: the policy is not warmer than the reference")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("drift", "--step", "4"),
            "--step must be given with a run, since {} holds one model, got 4",
        ),
        (("drift", "--along"), "--along must be given with a run, since {} holds one model"),
        (
            ("reliability", "--against", "nowhere"),
            "--against nowhere: must be the folder of a run: no such folder",
        ),
    ],
)
def test_what_a_folder_cannot_be_asked_is_refused(
    exported: Path, words: tuple[str, ...], sentence: str
) -> None:
    code, _, err = probed(exported, *words)
    assert code in (2, 65)
    assert sentence.format(exported) in err


def test_a_folder_that_does_not_say_how_it_speaks_is_refused(
    exported: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "model"
    shutil.copytree(exported, folder)
    (folder / policy_file.NAME).unlink()
    code, _, err = probed(folder, "drift")
    assert code == 2
    assert f"{folder}: the folder of a model must have harness.yaml in it" in err


def test_a_file_without_levels_means_the_shipped_ones(exported: Path, tmp_path: Path) -> None:
    folder = rewritten(exported, tmp_path / "model")
    path = folder / policy_file.NAME
    values = yaml.safe_load(path.read_text())
    hard = {**values["config"]["levels"]["hard"], "turn_cap": 3}
    values["config"] |= {"levels": {"hard": hard}}
    path.write_text(yaml.safe_dump(values))
    config, where = source.config_of(folder)
    assert where == path
    assert config.levels.hard.turn_cap == 3
    assert config.levels.easy.disclosure == "free"
    assert config.levels.easy.turn_cap == 8
    assert config.levels.medium == DifficultyConfig()


def test_users_that_nobody_knows_any_more_are_not_replaced_by_others(
    exported: Path, tmp_path: Path
) -> None:
    folder = rewritten(exported, tmp_path / "model")
    path = folder / policy_file.NAME
    values = yaml.safe_load(path.read_text()) | {"left_out": ["simulator.profiles"]}
    path.write_text(yaml.safe_dump(values))
    code, _, err = probed(folder, "drift")
    assert code == 2
    assert "left_out must not name keys that determine the users, got simulator.profiles" in err


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        ({"kind": "tabular"}, "policy.kind must be tiny or hf of the folder of a model"),
        ({"kind": "hf", "model": ""},
         "policy.model and policy.lora_rank must say what the adapters were trained on"),
    ],
)  # fmt: skip
def test_a_policy_that_such_a_folder_cannot_hold_is_refused(
    exported: Path, tmp_path: Path, policy: dict[str, str], sentence: str
) -> None:
    folder = rewritten(exported, tmp_path / "model", **policy)
    (folder / "adapter_config.json").write_text("{}")
    code, _, err = probed(folder, "reliability")
    assert code == 2
    assert sentence in err
