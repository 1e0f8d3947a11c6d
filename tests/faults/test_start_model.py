"""The model that a run starts from: rot in its cache is found, and another one is refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest
import torch

from harness.config.run import AlgorithmConfig, RunConfig, TrainerConfig
from harness.policy import huggingface
from harness.records import cache_entry
from harness.records.run_folder import RunFolder
from harness.testing.commands import here
from harness.train.warm_start import start_model
from tests.faults.limited import UNDER
from tests.train.made import go_on, make_run, short, status
from tests.train.made_hugging_face import SMALL, folder_with_a_model
from tests.train.made_language import QUICK

Seen = Callable[[str, object], None]
SHORT = short(1)
LEVEL = replace(SHORT.easy, reward_noise=20.0)


def config(kind: str, model: Path | None = None) -> RunConfig:
    """Two steps of a language model that has hardly been taught to speak."""
    policy = QUICK if kind == "tiny" else replace(SMALL, init="pretrained", model=str(model))
    trainer = TrainerConfig(
        steps=2, conversations=8, eval_every=1000, checkpoint_every=1, stop_unheard=False
    )
    return RunConfig(
        difficulty=LEVEL,
        levels=SHORT,
        policy=policy,
        algorithm=AlgorithmConfig(group_size=4),
        trainer=trainer,
    )


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache of start models with that of QUICK."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HARNESS_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield start_model.ensure(QUICK).parent


def own_copy(cache: Path, path: Path, patch: pytest.MonkeyPatch) -> Path:
    """The entry of QUICK in a cache of the test's own."""
    shutil.copytree(cache, path / "cache")
    patch.setenv("HARNESS_CACHE", str(path / "cache"))
    return start_model.entry(QUICK)


def hollow(entry: Path) -> None:
    shutil.rmtree(entry)
    entry.mkdir()
    (entry / "manifest.json").write_text('{"files": {}}')


def flip_a_bit(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-100] ^= 4
    path.write_bytes(data)


def planted(entry: Path) -> None:
    (entry / "generation_config.json").write_text('{"temperature": 9}')


def linked(entry: Path) -> None:
    weights = entry / "model.safetensors"
    weights.rename(entry.parent / "elsewhere")
    weights.symlink_to(entry.parent / "elsewhere")


def replaced(entry: Path) -> None:
    entry.rename(entry.parent / "theirs")
    entry.symlink_to(entry.parent / "theirs")


OWN = "must be owned by you and not writable by others, got"
ROT: dict[str, tuple[Callable[[Path], object], str]] = {
    "a bit of the weights flipped": (
        lambda entry: flip_a_bit(entry / "model.safetensors"),
        "must be as its manifest.json says: model.safetensors differs from its manifest",
    ),
    "a file planted": (planted, "generation_config.json differs from its manifest"),
    "the manifest gone": (
        lambda entry: (entry / "manifest.json").unlink(),
        "no readable manifest.json",
    ),
    "the weights a link": (linked, f"model.safetensors: {OWN} a link or a special file"),
    "the entry a link": (replaced, f"start-1: {OWN} a link or a special file"),
    "the folder writable by all": (lambda entry: entry.chmod(0o777), f"start-1: {OWN} mode 777"),
    "the weights writable by a group": (
        lambda entry: (entry / "model.safetensors").chmod(0o660),
        f"model.safetensors: {OWN} mode 660",
    ),
    "an empty folder whose manifest describes nothing": (
        lambda entry: hollow(entry),
        "model.safetensors is not in its manifest",
    ),
    "a file of another user": (
        lambda entry: os.chown(entry / "tokenizer.json", 4321, -1),
        f"tokenizer.json: {OWN} one of user 4321",
    ),
}


@pytest.mark.attack(
    "damage an entry of the cache of start models, or make it one that others can write",
    "it is not used: file and rule are named",
)
@pytest.mark.parametrize("kind", ROT)
def test_what_is_not_whole_or_not_ones_own_is_not_used(
    tmp_path: Path, record_property: Seen, kind: str
) -> None:
    if "another user" in kind and os.geteuid():
        pytest.skip("only root may give a file away")
    scratch, entry = tmp_path / "scratch", tmp_path / "start-1"
    scratch.mkdir()
    for name in ("model.safetensors", "tokenizer.json", "card.json"):
        (scratch / name).write_bytes(name.encode() * 20)
        (scratch / name).chmod(0o666)
    cache_entry.seal(scratch)
    scratch.rename(entry)
    assert start_model.problem(entry) is None, "whatever the umask was"
    damage, rule = ROT[kind]
    damage(entry)
    found = start_model.problem(entry)
    record_property("seen", f"{kind}: {found}")
    assert found is not None
    assert rule in found
    cache_entry.set_aside(entry)
    assert not os.path.lexists(entry)


@pytest.mark.slow
@pytest.mark.attack(
    "fill the disk while the start model is built ahead of a sweep",
    "74 and one line, nothing is left half done, and the next start builds it",
)
def test_a_disk_that_is_full_while_the_start_model_is_built_is_74(
    tmp_path: Path, record_property: Seen
) -> None:
    build = [
        sys.executable,
        "-P",
        "-m",
        "harness.train.warm_start.start_model",
        json.dumps(asdict(QUICK)),
    ]
    limit = UNDER.format("r.RLIMIT_FSIZE", 20_000, 20_000)
    whole = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "HARNESS_CACHE": str(tmp_path / "c")}
    words = [sys.executable, "-c", limit, *build]
    done = subprocess.run(words, env=whole, capture_output=True, text=True, check=False)
    record_property("seen", f"exit {done.returncode}: {done.stderr.splitlines()[-1]}")
    assert done.returncode == 74, done.stderr
    assert "is the disk full?" in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.suffix for path in (tmp_path / "c").iterdir()] == [".lock"]


@pytest.mark.slow
@pytest.mark.attack(
    "flip one bit of the cached start model",
    "file and rule on stderr, what was there set aside, the same model built again",
)
def test_rot_in_the_cache_is_said_set_aside_and_built_again(
    cache: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    record_property: Seen,
) -> None:
    entry = own_copy(cache, tmp_path, monkeypatch)
    weights = (entry / "model.safetensors").read_bytes()
    flip_a_bit(entry / "model.safetensors")
    assert start_model.ensure(QUICK) == entry
    first = capsys.readouterr().err.splitlines()[0]
    record_property("seen", first)
    (aside,) = entry.parent.glob(".*.aside")
    assert first == (
        f"harness: {entry}: must be as its manifest.json says: model.safetensors differs from its "
        f"manifest; it is built again, and the old entry was renamed to {aside.name}"
    )
    assert (entry / "model.safetensors").read_bytes() == weights
    assert start_model.ensure(QUICK) == entry
    assert capsys.readouterr().err == ""


@pytest.mark.slow
@pytest.mark.attack(
    "rot in the cached start model between two attempts at a run",
    "the model is built again, its sum is the recorded one, and the run goes on to the same rows",
)
def test_a_run_goes_on_from_the_start_model_it_began_with(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Seen
) -> None:
    entry = own_copy(cache, tmp_path, monkeypatch)
    whole, run = (make_run(tmp_path / name, config("tiny")) for name in ("whole", "run"))
    assert [go_on(whole)[0], go_on(run, stop_after=1)[0]] == [0, 75]
    began = status(run)["start_model"]
    assert began == status(whole)["start_model"]
    assert len(began) == 64
    flip_a_bit(entry / "model.safetensors")
    code, _, err = go_on(run)
    record_property("seen", f"exit {code}: {err.splitlines()[0]}")
    assert code == 0, err
    assert "model.safetensors differs from its manifest; it is built again" in err
    assert run.metrics.read_bytes() == whole.metrics.read_bytes()
    assert status(run)["start_model"] == began
    manifest = json.loads((run.checkpoints / "step-00002" / "manifest.json").read_text())
    assert manifest["identity"]["start_model"] == began
    verified = here("verify", "run", "--json", cwd=tmp_path)
    assert (verified.returncode, "the start model of the run" in verified.stdout) == (0, True)


@pytest.mark.attack(
    "change the weights behind policy.model between two attempts at a run",
    "65, naming what the run began with and what was found; verify says it too",
)
def test_other_weights_behind_the_same_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Seen
) -> None:
    model = folder_with_a_model(tmp_path / "model")
    run = make_run(tmp_path / "run", config("hf", model))
    assert go_on(run, stop_after=1)[0] == 75
    began = status(run)["start_model"]
    assert here("verify", "run", cwd=tmp_path).returncode == 0
    _other_weights(model)
    code, _, err = go_on(run)
    verified = here("verify", "run", "--json", cwd=tmp_path)
    again, last = _without_the_record(run)
    record_property("seen", f"exit {code}: {err.splitlines()[-1]}")
    assert code == 65
    rule = f"a run must continue with its start model, {began[:12]}, since"
    assert f"harness: {run.status}: {rule}" in err
    assert (verified.returncode, again) == (65, 65)
    assert "must be the start model of the run, but is another" in verified.stdout
    assert f"step-00001/manifest.json: {rule}" in last, "the checkpoint knows it too"


def _other_weights(model: Path) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        made = huggingface.load_model(SMALL, model, "cpu")
        torch.nn.init.normal_(made.get_input_embeddings().weight, std=0.1)
        made.save_pretrained(model)


def _without_the_record(run: RunFolder) -> tuple[int, str]:
    """Exit code and stderr of an attempt once run.json has lost the key."""
    values = status(run)
    del values["start_model"]
    run.status.write_text(json.dumps(values))
    code, _, err = go_on(run)
    return code, err
