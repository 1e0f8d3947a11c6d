"""The run folder: when it is a run, who holds it, and what is read back."""

import fcntl
import json
import os
import platform
import subprocess
import sys
from dataclasses import replace
from datetime import date
from functools import reduce
from pathlib import Path

import pytest
import yaml

from harness.config.run import RunConfig
from harness.errors import ConfigError, DataError, FolderError, StoppedError
from harness.records import compatibility, config_file, holder, run_folder, run_lock, run_status
from harness.records.config_file import config_hash, to_dict
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus
from tests.records.bombs import alias_bomb


def test_a_created_folder_is_a_planned_run_with_its_config(tmp_path: Path) -> None:
    run = RunFolder(tmp_path / "a" / "run")
    config = RunConfig(seed=7)
    assert not run.is_run()
    run_folder.create(run, config)
    assert run.is_run()
    assert run_folder.read_config(run) == config
    status = run_status.read(run.status)
    assert (status.status, status.last_step, status.attempts) == ("planned", 0, 0)
    assert status.config_hash == config_hash(config)
    assert "numpy" in status.versions


def test_run_json_begins_with_its_schema_and_has_every_key(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run_folder.create(run, RunConfig())
    assert list(json.loads(run.status.read_text())) == [
        "schema", "status", "reason", "exit_code", "last_step", "attempts", "config_hash",
        "seed", "measurement", "versions", "git", "start_model", "simulator_version", "rows",
        "validity", "stopped_by_rule",
    ]  # fmt: skip


def test_a_folder_that_holds_a_run_is_refused(tmp_path: Path) -> None:
    run_folder.create(RunFolder(tmp_path), RunConfig())
    with pytest.raises(ConfigError, match="already holds a run; continue it with `harness resume`"):
        run_folder.create(RunFolder(tmp_path), RunConfig())


def test_somebodys_files_are_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(ConfigError, match=r"needs an empty folder, found 'thesis.tex'"):
        run_folder.create(RunFolder(tmp_path), RunConfig())
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_what_a_dead_start_left_is_taken_over(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("seed: 3")
    (tmp_path / "train.log").write_text("")
    run_folder.create(RunFolder(tmp_path), RunConfig(seed=4))
    assert run_folder.read_config(RunFolder(tmp_path)).seed == 4


def test_a_file_in_the_way_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FolderError, match="file/run: Not a directory"):
        run_folder.create(RunFolder(tmp_path / "file" / "run"), RunConfig())


@pytest.mark.parametrize(
    ("text", "error", "sentence"),
    [
        ("seed: [1", DataError, "cannot be read as YAML"),
        ("- 1", DataError, "must hold a mapping, got list"),
        ("schema: 9", ConfigError, "schema must be 1, got 9"),
        ("schema: 1\nseeed: 1", ConfigError, "unknown key 'seeed'"),
        ("schema: 1", ConfigError, r"config.yaml: missing key seed"),
        ("schema: " + "[" * 200, DataError, "must be nested at most 50 deep"),
        ("schema: !!int ''", DataError, "cannot be read as YAML"),
        ("schema: 2024-99-99", DataError, "cannot be read as YAML: month must be in 1..12"),
    ],
)
def test_a_config_that_cannot_be_read_says_why(
    tmp_path: Path, text: str, error: type[Exception], sentence: str
) -> None:
    (tmp_path / "config.yaml").write_text(text)
    with pytest.raises(error, match=sentence):
        run_folder.read_config(RunFolder(tmp_path))


@pytest.mark.parametrize(
    ("key", "value", "sentence"),
    [
        ("difficulty", 7, "difficulty must be a mapping of names to values, got 7"),
        ("trainer", None, "trainer must be a mapping of names to values, got None"),
        ("levels.hard", [1], r"levels.hard must be a mapping of names to values, got \[1\]"),
        ("difficulty.intentions", 3, "difficulty.intentions must be a list of text, got 3"),
        ("difficulty.intentions", [3], r"difficulty.intentions must be a list of text, got \[3\]"),
        ("difficulty.name", ["a"], r"difficulty.name must be text, got \['a'\]"),
        ("seed", [1], r"seed must be a whole number below 2\^63, got \[1\]"),
        ("seed", True, r"seed must be a whole number below 2\^63, got True"),
        ("seed", 10**400, r"seed must be a whole number below 2\^63, got 1000"),
        ("seed", date(2024, 1, 1), r"seed must be a whole number .*, got .*date\(2024, 1, 1\)"),
        ("trainer.steps", "abc", r"trainer.steps must be a whole number below 2\^63, got 'abc'"),
        ("algorithm.learning_rate", "8", "algorithm.learning_rate must be a number, got '8'"),
        ("algorithm.std_floor", "8", "algorithm.std_floor must be a number or null, got '8'"),
        ("algorithm.null_control", 1, "algorithm.null_control must be true or false, got 1"),
        ("policy.temperature", 0, "policy.temperature must lie between 0.05 and 10, got 0"),
        ("levels.easy.clamp", 7, "levels.easy: difficulty.clamp must be 5, 10, 15 or 20, got 7"),
    ],
)
def test_a_changed_value_is_named_with_its_file_its_key_and_its_rule(
    tmp_path: Path, key: str, value: object, sentence: str
) -> None:
    values = to_dict(RunConfig())
    *parts, last = key.split(".")
    reduce(lambda part, name: part[name], parts, values)[last] = value
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(values))
    with pytest.raises(ConfigError, match=rf"/config.yaml: {sentence}"):
        run_folder.read_config(RunFolder(tmp_path))


def test_a_key_that_came_after_a_config_was_written_has_its_default(tmp_path: Path) -> None:
    """The file's hash is of what it holds, so that a later key does not make it another config."""
    values = to_dict(RunConfig())
    del values["levels"]["hard"]["clamp"], values["simulator"]
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(values))
    assert run_folder.read_config(RunFolder(tmp_path)) == RunConfig()
    lacks = config_file.missing_keys(values)
    assert {"levels.hard.clamp", "simulator.kind", "simulator.base_url"} <= set(lacks)
    assert config_file.missing_keys(to_dict(RunConfig())) == []
    assert config_file.hash_of(values) != config_hash(RunConfig())
    assert config_file.hash_of(to_dict(RunConfig())) == config_hash(RunConfig())


def test_a_config_is_held_against_the_hash_of_what_it_holds(tmp_path: Path) -> None:
    """A key that came later makes it no other config; a value that is changed does."""
    run = RunFolder(tmp_path)
    run_folder.create(run, RunConfig(seed=3))
    values = yaml.safe_load(run.config.read_text())
    del values["trainer"]["report_to"]
    run.config.write_text(yaml.safe_dump(values))
    older = RunStatus(config_hash=config_file.hash_of(values), seed=3)
    assert compatibility.config_change(run, older) is None
    assert compatibility.config_change(run, RunStatus()) is None
    changed = compatibility.config_change(run, run_status.read(run.status))
    assert changed is not None
    assert changed.startswith(f"{run.config}: must be as it was when the run was planned (hash and")
    assert compatibility.config_change(run, replace(older, seed=4)) is not None


def test_a_config_with_a_date_is_another_than_the_planned(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run_folder.create(run, RunConfig())
    values = yaml.safe_load(run.config.read_text())
    values["algorithm"]["options"] = {"until": date(2024, 1, 1)}
    run.config.write_text(yaml.safe_dump(values))
    changed = compatibility.config_change(run, run_status.read(run.status))
    rule = "must be as it was when the run was planned, got a value that no config has"
    assert changed is not None
    assert changed.startswith(f"{run.config}: {rule}, such as a date; restore it, or start")


@pytest.mark.parametrize("kept", ["run-before-checksums", "2026-11-22/run", "2026-11-23/run"])
def test_a_config_of_before_evaluations_followed_the_steps_is_what_it_was(kept: str) -> None:
    """It holds its number: the hash is that of its day, and the number stands."""
    run = RunFolder(Path(__file__).parents[1] / "golden" / kept)
    values = yaml.safe_load(run.config.read_text())
    config = run_folder.read_config(run)
    assert config_file.hash_of(values) == run_status.read(run.status).config_hash
    assert config.trainer.evaluated_every == config.trainer.eval_every
    assert config.trainer.eval_every == values["trainer"]["eval_every"]
    assert to_dict(config)["trainer"]["eval_every"] == values["trainer"]["eval_every"]


def test_a_whole_number_is_fine_where_a_number_is_wanted(tmp_path: Path) -> None:
    values = to_dict(RunConfig())
    values["policy"]["temperature"] = 2
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(values))
    assert run_folder.read_config(RunFolder(tmp_path)).policy.temperature == 2


def test_aliases_that_repeat_each_other_are_refused_before_they_are_followed(
    tmp_path: Path,
) -> None:
    (tmp_path / "config.yaml").write_text(alias_bomb())
    with pytest.raises(DataError, match=r"config.yaml: .* must have at most 10 aliases, got more"):
        run_folder.read_config(RunFolder(tmp_path))


def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "config.yaml")
    with pytest.raises(DataError, match=r"config.yaml: .* must be a regular file, but is not"):
        run_folder.read_config(RunFolder(tmp_path))


@pytest.mark.parametrize("text", ["", "[]", "{", '{"status": 1', "[" * 100_000])
def test_a_status_that_cannot_be_read_says_where(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(DataError, match=r"run.json: cannot be read"):
        run_status.read(RunFolder(tmp_path).status)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"status": 5}, "status must be text, got 5"),
        ({"status": "weird"}, "status must be one of planned, running, .*, got 'weird'"),
        ({"last_step": "x"}, r"last_step must be a whole number below 2\^63, got 'x'"),
        ({"exit_code": "0"}, r"exit_code must be a whole number below 2\^63 or null, got '0'"),
        ({"measurement": []}, r"measurement must be a mapping of names to values, got \[\]"),
        ({"versions": {"numpy": 2}}, "versions must be a mapping of names to values, got"),
    ],
)
def test_a_changed_status_is_named_with_its_key_and_its_rule(
    tmp_path: Path, change: dict[str, object], sentence: str
) -> None:
    run = RunFolder(tmp_path)
    run.status.write_text(json.dumps(RunStatus().to_json() | change))
    with pytest.raises(DataError, match=rf"run.json: cannot be read: {sentence}"):
        run_status.read(run.status)


def test_a_status_without_its_keys_is_no_status(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text("{}")
    with pytest.raises(DataError, match=r"run.json: cannot be read: missing key status"):
        run_status.read(RunFolder(tmp_path).status)


def test_a_later_versions_extra_keys_are_passed_over(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run_status.write(run.status, RunStatus(status="done", last_step=3))
    values = json.loads(run.status.read_text()) | {"colour": "blue"}
    run.status.write_text(json.dumps(values))
    assert run_status.read(run.status).last_step == 3


HOLD = """
import sys, time
from pathlib import Path
from harness.records import config_file, run_folder, holder, run_lock
with holder.hold(run_folder.RunFolder(Path(sys.argv[1]))):
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
            holder.hold(run),
        ):
            pytest.fail("held twice")
        assert holder.holder(run) == f"{other.pid} on {platform.node()}"
    finally:
        other.kill()
        other.communicate()
    assert (tmp_path / ".holder").exists()
    assert holder.holder(run) is None
    with holder.hold(run):
        pass


def test_a_concurrent_question_is_not_taken_for_a_holder(tmp_path: Path) -> None:
    with holder.hold(RunFolder(tmp_path)):
        pass
    asking = os.open(tmp_path / ".lock", os.O_RDWR)
    fcntl.flock(asking, fcntl.LOCK_SH)  # as lock.is_taken does
    assert not run_lock.is_taken(tmp_path)
    os.close(asking)


def test_status_survives_a_round_trip(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    status = RunStatus(status="failed", reason="why", exit_code=70, last_step=9, attempts=2)
    run_status.write(run.status, status)
    assert run_status.read(run.status) == status
    run_status.write(run.status, replace(status, status="done"))
    assert run_status.read(run.status).status == "done"
    assert [p.name for p in tmp_path.iterdir()] == ["run.json"]


def test_a_config_file_is_completed_with_defaults_and_keeps_what_it_holds() -> None:
    whole = config_file.to_dict(RunConfig(seed=3))
    older = json.loads(json.dumps(whole))
    del older["algorithm"]["kind"], older["curriculum"], older["levels"]["hard"]["clamp"]
    older["algorithm"]["newer"], older["trainer"] = 1, 7
    completed = config_file.with_defaults(older)
    assert completed == {
        **whole, "algorithm": {**whole["algorithm"], "newer": 1}, "trainer": 7
    }  # fmt: skip
    assert list(config_file.with_defaults(dict(reversed(whole.items())))) == list(reversed(whole))
    assert "seed" not in config_file.with_defaults({"schema": 1})
    for other in ({}, {"schema": 2, "algorithm": {}}, {"seed": 1}):
        assert config_file.with_defaults(other) == other
