"""A key of the environment goes where its owner said, never where a folder says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.records import run_status
from harness.records.run_folder import RunFolder
from harness.testing.commands import TABULAR, harness, here, only_sweep
from tests.faults.untrusted import (
    KEY,
    SHORT,
    Record,
    addressed,
    host,
    keys_sent,
    made,
    planned,
    refused,
    served,
    settings,
    words,
    written,
)
from tests.simulator.endpoint import Endpoint, serving

COMMANDS = {
    "sweep": ("sweep", *SHORT),
    "train": ("train", *SHORT, "--dir", "d"),
    "chat": ("chat", "simulator.model=m"),
    "probe-simulator": ("probe-simulator", "simulator=scripted", "simulator.model=m"),
}
SHIPPED = Path(__file__).parents[2] / "conf"
OUGHT = "exit 2 with the command that would confirm it; nothing is made or sent"


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving() as running:
        yield running


@pytest.fixture(autouse=True)
def _environment(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key in the environment, and a user who has confirmed nothing yet."""
    monkeypatch.setenv("SIM_KEY", KEY)
    monkeypatch.setenv("HARNESS_CONFIG", str(tmp_path_factory.mktemp("settings")))


@pytest.fixture
def brief(tmp_path: Path) -> Path:
    """A folder of one's own, with levels that are evaluated in a turn."""
    for name in ("easy", "medium", "hard"):
        text = (SHIPPED / "difficulty" / f"{name}.yaml").read_text()
        written(tmp_path / f"conf/difficulty/{name}.yaml", f"{text}\nturn_cap: 1\n")
    return tmp_path


@pytest.mark.attack("a conf/ in the current folder names host and key, no word is typed", OUGHT)
@pytest.mark.parametrize("command", COMMANDS)
def test_an_option_of_the_folders_own(
    command: str, tmp_path: Path, endpoint: Endpoint, record_property: Record
) -> None:
    written(tmp_path / "conf/simulator/scripted.yaml", f"name: scripted\n{served(endpoint)}")
    before = made(tmp_path)
    done = here(*COMMANDS[command], cwd=tmp_path)
    refused(done, endpoint, record_property)
    assert made(tmp_path) == before


@pytest.mark.attack("conf/config.yaml of the current folder sets host and key", OUGHT)
def test_a_config_of_the_folders_own(
    tmp_path: Path, endpoint: Endpoint, record_property: Record
) -> None:
    shipped = (SHIPPED / "config.yaml").read_text()
    chosen = shipped.replace("simulator: scripted", "simulator: served")
    written(tmp_path / "conf/config.yaml", f"{chosen}{addressed(endpoint)}")
    before = made(tmp_path)
    refused(here("sweep", *SHORT, cwd=tmp_path), endpoint, record_property)
    assert made(tmp_path) == before


@pytest.mark.attack("a sweep file, named by +sweeps=NAME, sets host and key", OUGHT)
def test_a_sweep_file(tmp_path: Path, endpoint: Endpoint, record_property: Record) -> None:
    chosen = "defaults: [override /simulator: served]\n"
    text = f"# @package _global_\n{chosen}{addressed(endpoint)}"
    written(tmp_path / "sweeps/theirs.yaml", text)
    done = here("sweep", "+sweeps=theirs", *SHORT[:-2], cwd=tmp_path)
    refused(done, endpoint, record_property)
    assert not (tmp_path / "runs").exists()


@pytest.mark.attack("a study file sets host and key in its words", OUGHT)
def test_a_study_file(tmp_path: Path, endpoint: Endpoint, record_property: Record) -> None:
    told = ", ".join(f'"{word}"' for word in (*SHORT[:-3], "trainer.steps=30", *words(endpoint)))
    text = (
        (
            "question: What?\nsource: nowhere\nseeds: 1,2,3\n"
            f"words: [{told}, 'trainer.eval_every=1']\n"
            "arms: {hard: [difficulty=hard]}\n"
            "links: {it gains: {quantity: gain, arm: hard, direction: more, margin: 0.05}}\n"
        )
        .replace('"trainer.steps=1", ', "")
        .replace('"trainer.eval_every=1000", ', "")
    )
    written(tmp_path / "sweeps/studies/theirs.yaml", text)
    done = here("study", "theirs", cwd=tmp_path)
    refused(done, endpoint, record_property)
    assert not (tmp_path / "runs").exists()


@pytest.mark.attack("config.yaml of a run that is resumed names host and key", OUGHT)
def test_a_run_that_is_resumed(tmp_path: Path, endpoint: Endpoint, record_property: Record) -> None:
    run = next(planned(tmp_path, endpoint).glob("*-seed1"))
    (run.parent / "sweep.json").unlink()
    before = (run / "run.json").read_bytes()
    refused(here("resume", str(run), cwd=tmp_path), endpoint, record_property)
    assert (run / "run.json").read_bytes() == before


@pytest.mark.attack("runs of a sweep that is resumed name host and key", OUGHT)
def test_a_sweep_that_is_resumed(
    tmp_path: Path, endpoint: Endpoint, record_property: Record
) -> None:
    root = planned(tmp_path, endpoint)
    refused(here("resume", str(root), cwd=tmp_path), endpoint, record_property)


@pytest.mark.attack("sweep.json names host and key for a run whose folder is gone", OUGHT)
def test_a_run_that_is_planned_anew(
    tmp_path: Path, endpoint: Endpoint, record_property: Record
) -> None:
    root = planned(tmp_path, endpoint)
    (run,) = root.glob("*-seed1")
    shutil.rmtree(run)
    refused(here("resume", str(root), cwd=tmp_path), endpoint, record_property)
    assert not run.exists()


@pytest.mark.attack("a run's process is started by hand in such a folder", OUGHT)
def test_a_process_that_was_given_nothing(
    tmp_path: Path, endpoint: Endpoint, record_property: Record
) -> None:
    (run,) = planned(tmp_path, endpoint).glob("*-seed1")
    command = [sys.executable, "-P", "-m", "harness.train", str(run)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)
    refused(done, endpoint, record_property)
    assert run_status.read(RunFolder(run).status).exit_code == 2


@pytest.mark.attack("the address is typed, the key's variable comes from a file", OUGHT)
def test_a_typed_address_with_a_variable_of_the_folders(
    tmp_path: Path, endpoint: Endpoint, record_property: Record
) -> None:
    text = "name: served\nkind: served\napi_key_env: SIM_KEY\n"
    written(tmp_path / "conf/simulator/served.yaml", text)
    given = words(endpoint)[:2]
    refused(here("sweep", *SHORT, *given, cwd=tmp_path), endpoint, record_property)


@pytest.mark.attack("the key's variable is typed, the address comes from a file", OUGHT)
@pytest.mark.parametrize("typed", [(), ("simulator.base_url=${simulator.model}",)])
def test_a_typed_variable_with_an_address_of_the_folders(
    typed: tuple[str, ...], tmp_path: Path, endpoint: Endpoint, record_property: Record
) -> None:
    """Also where what is typed only refers to another key."""
    theirs = "http://127.0.0.1:8000/v1" if typed else endpoint.url
    text = f"name: served\nkind: served\nbase_url: {theirs}\nmodel: {endpoint.url}\n"
    written(tmp_path / "conf/simulator/served.yaml", text)
    given = ("simulator=served", "simulator.api_key_env=SIM_KEY", *typed)
    done = here("probe-simulator", *given, cwd=tmp_path)
    refused(done, endpoint, record_property)


UNSAFE = {
    "a link": "a link",
    "mode 666": "mode 666",
    "mode 660": "mode 660",
    "a folder of mode 777": "one in a folder of mode 777",
    "a pipe": "something else",
}


@pytest.mark.attack(
    "the settings that confirm the host may be somebody else's",
    "exit 2, the file is named; nothing is sent",
)
@pytest.mark.parametrize("given", UNSAFE)
def test_settings_that_others_may_have_written(
    given: str, tmp_path: Path, endpoint: Endpoint, record_property: Record
) -> None:
    (run,) = planned(tmp_path, endpoint).glob("*-seed1")
    text = json.dumps({"schema": 1, "hosts": {host(endpoint): ["SIM_KEY"]}})
    written(tmp_path / "theirs.json" if given == "a link" else settings(), text)
    if given == "a link":
        settings().symlink_to(tmp_path / "theirs.json")
    elif given == "a pipe":
        settings().unlink()
        os.mkfifo(settings())
    elif given.startswith("mode"):
        settings().chmod(int(given.split()[-1], 8))
    else:
        settings().parent.chmod(0o777)
    done = here("resume", str(run), cwd=tmp_path)
    record_property("seen", f"exit {done.returncode}: {done.stderr.strip()}")
    assert (done.returncode, endpoint.headers) == (2, [])
    assert done.stderr == (
        f"harness: {settings()}: must be a regular file of your own that nobody else can change, "
        f"got {UNSAFE[given]}; check what it confirms, then remove it\n"
    )


@pytest.mark.attack(
    "a variable that is no key of an endpoint is typed as one",
    "exit 2 before anything is made or sent",
)
@pytest.mark.parametrize(
    ("variable", "sentence"),
    [
        ("AWS_SECRET_ACCESS_KEY", "must not be a variable of another program, as AWS_ in its name"),
        ("GITHUB_TOKEN", "must not be a variable of another program, as GITHUB_ in its name"),
        ("MY_SECRET_KEY", "must not be a variable of another program, as SECRET in its name"),
        ("DB_PASSWORD", "must be the name of a variable that ends in _KEY or _TOKEN"),
        ("HOME", "must be the name of a variable that ends in _KEY or _TOKEN"),
    ],
)
def test_a_variable_of_another_program(
    variable: str,
    sentence: str,
    tmp_path: Path,
    endpoint: Endpoint,
    record_property: Record,
) -> None:
    given = (*words(endpoint)[:2], f"simulator.api_key_env={variable}")
    done = here("probe-simulator", *given, cwd=tmp_path, **{variable: KEY})
    record_property("seen", f"exit {done.returncode}: {done.stderr.strip()}")
    assert (done.returncode, endpoint.headers) == (2, [])
    assert done.stderr.startswith(f"harness: simulator.api_key_env {sentence}")
    assert KEY not in done.stderr


@pytest.mark.attack(
    "./wandb/settings names the server that wandb shows its key to",
    "exit 2, the file is named; nothing is sent",
)
def test_settings_of_wandbs_in_the_current_folder(tmp_path: Path, record_property: Record) -> None:
    written(tmp_path / "wandb/settings", "[default]\nbase_url = http://127.0.0.1:9\n")
    given = ("sweep", *TABULAR, "trainer.report_to=[wandb]")
    done = here(*given, cwd=tmp_path, WANDB_MODE="online", WANDB_API_KEY=KEY)
    record_property("seen", f"exit {done.returncode}: {done.stderr.strip()}")
    assert done.returncode == 2
    assert done.stderr == (
        "harness: wandb/settings: with WANDB_MODE=online the current folder must not hold settings "
        "of wandb's, which say where its key goes; keep them in ~/.config/wandb/settings\n"
    )
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("command", ["sweep", "train", "probe-simulator", "chat"])
def test_what_is_typed_is_sent_and_said_first(
    command: str, brief: Path, endpoint: Endpoint
) -> None:
    """`sweep` by its joblib launcher, `train` as the process that it becomes."""
    given = SHORT if command in ("sweep", "train") else ()
    into = ("--dir", "d") if command == "train" else ()
    run = harness if command == "sweep" else here
    done = run(command, *given, *words(endpoint), *into, cwd=brief)
    assert done.returncode == 0, done.stderr
    assert set(keys_sent(endpoint)) == {f"bearer {KEY}".lower()}
    assert done.stderr.splitlines()[0] == f"harness: sends $SIM_KEY to {host(endpoint)}"
    assert done.stderr.count("sends $") == 1
    assert not settings().exists()


@pytest.mark.slow
def test_a_sweep_over_two_typed_addresses_sends_to_both(brief: Path) -> None:
    with serving() as one, serving() as other:
        urls = f"simulator.base_url={one.url},{other.url}"
        given = ("simulator=served", urls, "simulator.api_key_env=SIM_KEY")
        done = harness("sweep", *SHORT, *given, cwd=brief)
        assert done.returncode == 0, done.stderr
        assert all(set(keys_sent(at)) == {f"bearer {KEY}".lower()} for at in (one, other))
        told = {f"harness: sends $SIM_KEY to {host(at)}" for at in (one, other)}
    assert set(done.stderr.splitlines()[:2]) == told


@pytest.mark.slow
def test_what_is_confirmed_is_sent_on_a_resume_until_it_is_taken_back(
    brief: Path, endpoint: Endpoint
) -> None:
    root = planned(brief, endpoint)
    confirmed = here("trust", host(endpoint), "SIM_KEY", cwd=brief, HARNESS_UMASK="000")
    assert (confirmed.returncode, confirmed.stdout) == (0, "")
    assert oct(settings().stat().st_mode & 0o777) == "0o600"
    assert here("trust", cwd=brief).stdout == f"{host(endpoint)} SIM_KEY\n"
    done = harness("resume", str(root), cwd=brief)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0] == f"harness: sends $SIM_KEY to {host(endpoint)}"
    assert set(keys_sent(endpoint)) == {f"bearer {KEY}".lower()}
    asked = len(endpoint.headers)
    assert here("trust", host(endpoint), "SIM_KEY", "--remove", cwd=brief).returncode == 0
    assert here("resume", str(planned(brief, endpoint)), cwd=brief).returncode == 2
    assert len(endpoint.headers) == asked


def test_a_run_that_was_confirmed_is_resumed_in_the_foreground(
    brief: Path, endpoint: Endpoint
) -> None:
    (run,) = planned(brief, endpoint).glob("*-seed1")
    assert here("trust", host(endpoint), "SIM_KEY", cwd=brief).returncode == 0
    done = here("resume", str(run), cwd=brief)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0] == f"harness: sends $SIM_KEY to {host(endpoint)}"
    assert only_sweep(brief) == run.parent
