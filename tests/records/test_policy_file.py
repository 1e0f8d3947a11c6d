"""harness.yaml: the config comes back, locations stay where they are, mistakes are named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from harness.config.run import PolicyConfig, RunConfig, SimulatorConfig
from harness.errors import ConfigError, DataError
from harness.records import compatibility, policy_file, run_folder, run_status
from harness.records.run_folder import RunFolder

PROMPT = "You listen. See https://example.org/a or /etc/motd."
HF = PolicyConfig(name="hf", kind="hf", model="someone/model", system_prompt=PROMPT)


def test_what_is_written_comes_back(tmp_path: Path) -> None:
    config = RunConfig(policy=HF, seed=7)
    policy_file.write(tmp_path, config, 40, "ab" * 32, is_public=True)
    read = policy_file.read(tmp_path)
    assert read == policy_file.PolicyFile(config, 40, "ab" * 32, ())


@pytest.mark.parametrize("char", ["\x85", "\u2028", "\ufeff", "\x1b", "\t", "é", "\n\n "])
def test_an_odd_character_of_a_prompt_comes_back(char: str, tmp_path: Path) -> None:
    """From harness.yaml and, as planned, from a run's config.yaml."""
    config = RunConfig(policy=replace(HF, system_prompt=f"{char}Listen.{char}{char}Ask.{char}"))
    policy_file.write(tmp_path, config, 1, None, is_public=True)
    assert policy_file.read(tmp_path).config == config
    run = RunFolder(tmp_path / "run")
    run_folder.create(run, config)
    assert run_folder.read_config(run) == config
    assert compatibility.config_change(run, run_status.read(run.status)) is None


def test_places_of_the_machine_stay_there_and_are_listed(tmp_path: Path) -> None:
    simulator = SimulatorConfig(profiles="/home/me/secret/users.jsonl")
    config = RunConfig(policy=replace(HF, model="/home/me/secret/model"), simulator=simulator)
    policy_file.write(tmp_path, config, 1, None, is_public=False)
    assert "secret" not in (tmp_path / policy_file.NAME).read_text()
    read = policy_file.read(tmp_path)
    assert read.left_out == ("policy.model", "simulator.profiles")
    assert read.config.policy == replace(HF, model="")
    assert read.config.policy.system_prompt == PROMPT


@pytest.mark.parametrize(
    ("text", "error", "sentence"),
    [
        ("config: 3", ConfigError, "config must be a mapping that has policy, got none"),
        ("step: 3", ConfigError, "config must be a mapping that has policy, got none"),
        ("config: {}\nsteps: 3", ConfigError, "a key must be one of schema, step, start_model, "
         "left_out, config, got 'steps'"),
        ("config: {policy: {kind: bert}}", ConfigError, "policy.kind must be one of tabular, tiny"),
        ("config: {}\nstep: -1", ConfigError, "step must be a number of steps, 0 or more, got -1"),
        ("config: {}\nstart_model: 5", ConfigError, "start_model must be text or null, got 5"),
        ("config: {}\nleft_out: all", ConfigError, "left_out must be a list of keys, got 'all'"),
        ("config: {", DataError, "cannot be read as YAML"),
    ],
)  # fmt: skip
def test_a_mistake_is_named(
    tmp_path: Path, text: str, error: type[Exception], sentence: str
) -> None:
    path = tmp_path / policy_file.NAME
    path.write_text(text)
    with pytest.raises(error) as raised:
        policy_file.read(tmp_path)
    assert str(raised.value).startswith(str(path))
    assert sentence in str(raised.value)


def test_a_run_is_no_model_whatever_else_lies_in_it(tmp_path: Path) -> None:
    assert not policy_file.is_model(tmp_path)
    assert not policy_file.is_model(tmp_path / "none")
    (tmp_path / "config.json").write_text("{}")
    assert policy_file.is_model(tmp_path)
    (tmp_path / "run.json").write_text("{}")
    assert not policy_file.is_model(tmp_path)
