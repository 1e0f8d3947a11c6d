"""A conf/, a sweep file or a sweep.json from somebody else: no code of theirs runs in a launch."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from packaging.requirements import Requirement

from harness.compose import launcher_settings, planner
from harness.errors import ConfigError
from harness.testing.commands import TABULAR, harness, here, ledger, only_sweep
from harness.utils import installation
from tests.faults.untrusted import BOMB, Bomb

Saw = Callable[[str, object], None]
QUICK = (*TABULAR, "trainer.steps=1")
FOLDER_IS_NOT_OURS = "no file in a conf/ or sweeps/ may name code to run"


def _pickled(tmp_path: Path) -> dict[str, object]:
    (tmp_path / "bomb.pkl").write_bytes(pickle.dumps(Bomb(tmp_path / "bomb")))
    return {"_target_": "joblib.load", "filename": str(tmp_path / "bomb.pkl")}


def _array(tmp_path: Path) -> dict[str, object]:
    array = np.array([Bomb(tmp_path / "bomb")], dtype=object)
    np.save(tmp_path / "bomb.npy", array, allow_pickle=True)
    return {"_target_": "numpy.load", "file": str(tmp_path / "bomb.npy"), "allow_pickle": True}


def _file(tmp_path: Path) -> dict[str, object]:
    return {"_target_": "builtins.open", "file": str(tmp_path / "bomb"), "mode": "w"}


PAYLOADS = {"joblib.load": _pickled, "numpy.load": _array, "builtins.open": _file}
PLACES: dict[str, Callable[[object], dict[str, object]]] = {
    "conf/hydra/launcher/local.yaml": lambda payload: {"defaults": ["joblib"], "n_jobs": payload},
    "conf/hydra/launcher/mine.yaml": lambda payload: {
        "defaults": ["joblib"],
        "temp_folder": {"a": {"b": payload}},
    },
    "conf/hydra/sweeper/basic.yaml": lambda payload: {"_target_": "x", "params": payload},
    "conf/hydra/config.yaml": lambda payload: {"launcher": payload},
    "conf/difficulty/medium.yaml": lambda payload: {"name": "medium", "clamp": payload},
    "sweeps/mine.yaml": lambda payload: {"hydra": {"launcher": {"temp_folder": payload}}},
}


@pytest.mark.attack(
    "a _target_ in a YAML file of the current folder, at any depth", "exit 2, names the file"
)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("payload", PAYLOADS)
def test_a_target_in_a_file_of_the_current_folder_is_refused_by_name(
    place: str, payload: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Saw
) -> None:
    monkeypatch.chdir(tmp_path)
    values = PLACES[place](PAYLOADS[payload](tmp_path))
    _write(tmp_path / place, values)
    words = {"mine": ["hydra/launcher=mine"]}.get(Path(place).stem, [])
    words = ["+sweeps=mine"] if place.startswith("sweeps") else words
    with pytest.raises(ConfigError) as caught:
        planner.plan([*QUICK, *words])
    record_property("seen", f"exit 2: {caught.value}")
    assert f"{place}: " in str(caught.value)
    assert FOLDER_IS_NOT_OURS in str(caught.value)
    assert not (tmp_path / "bomb").exists()


def test_a_folder_of_another_program_named_hydra_is_in_nobodys_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file of it is read, so none need be ours."""
    monkeypatch.chdir(tmp_path)
    _write(tmp_path / "hydra" / "launcher" / "theirs.yaml", {"_target_": "theirs.Launcher"})
    assert len(planner.plan([*QUICK]).points) == 1


def _write(path: Path, values: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# @package _global_\n{yaml.safe_dump(values)}" if "sweeps" in str(path)
                    else yaml.safe_dump(values))  # fmt: skip


@pytest.mark.attack("the same with the real command, before anything is made", "exit 2, no folder")
def test_a_plain_sweep_beside_such_a_file_runs_nothing(
    tmp_path: Path, record_property: Saw
) -> None:
    values = PLACES["conf/hydra/launcher/local.yaml"](_pickled(tmp_path))
    _write(tmp_path / "conf/hydra/launcher/local.yaml", values)
    done = harness("sweep", *QUICK, cwd=tmp_path)
    record_property("seen", f"exit {done.returncode}: {done.stderr.strip()}")
    assert done.returncode == 2
    assert FOLDER_IS_NOT_OURS in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "bomb").exists()
    assert not (tmp_path / "runs").exists()


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sweep whose one run has still to be made."""
    folder = tmp_path_factory.mktemp("stopped")
    done = here("sweep", *QUICK, "hydra/launcher=basic", cwd=folder)
    assert done.returncode == 0, done.stderr
    root = only_sweep(folder)
    shutil.rmtree(root / "0-medium-seed1")
    return root


FOREIGN = {
    "hydra.launcher.temp_folder=/tmp/x": "temp_folder: not a setting of the launcher joblib",
    "+hydra.launcher.x={_target_:os.system}": "of hydra's own keys only",
    "+hydra.launcher.x={y:{z:1}}": "x.y.z: not a setting of the launcher joblib",
    "hydra.launcher.n_jobs=${oc.env:HOME}": "hydra.launcher.n_jobs: must be a whole number",
}


@pytest.mark.attack("launcher settings in the sweep.json of somebody else", "exit 2 on resume")
@pytest.mark.parametrize("word", FOREIGN)
def test_a_foreign_sweep_brings_no_setting_that_is_not_listed(
    word: str, stopped: Path, tmp_path: Path, record_property: Saw
) -> None:
    root = Path(shutil.copytree(stopped, tmp_path / "sweep"))
    values = json.loads((root / "sweep.json").read_text())
    values["command"] = [*QUICK, word]
    (root / "sweep.json").write_text(json.dumps(values))
    done = here("resume", str(root), cwd=tmp_path, SECRET="canary")
    record_property("seen", f"exit {done.returncode}: {done.stderr.strip()}")
    assert done.returncode == 2, done.stderr
    assert FOREIGN[word] in done.stderr
    assert "canary" not in done.stderr


SLURM_WORDS = {
    'hydra.launcher.setup=["touch bomb"]': "hydra.launcher.setup",
    "hydra.launcher.partition='gpu\\n touch bomb'": "hydra.launcher.partition",
    "+hydra.launcher.additional_parameters.wrap=x": "hydra.launcher.additional_parameters.wrap",
    "hydra.launcher.submitit_folder=/tmp/x": "hydra.launcher.submitit_folder",
}


@pytest.mark.attack("shell lines for a Slurm script, by a word or a sweep.json", "exit 2")
@pytest.mark.parametrize("word", SLURM_WORDS)
def test_no_word_writes_a_line_of_a_slurm_script(word: str, record_property: Saw) -> None:
    """Without the plugin: what it would be given is made by `parse_launcher` alone."""
    entry: dict[str, Any] = {
        "_target_": "S",
        "setup": None,
        "partition": None,
        "additional_parameters": {},
        "submitit_folder": "${hydra.sweep.dir}/.submitit/%j",
    }
    key, _, text = word.lstrip("+").partition("=")
    name = key.removeprefix("hydra.launcher.")
    value = json.loads(text) if text.startswith("[") else text.replace("\\n", "\n").strip("'")
    above, _, last = name.rpartition(".")
    settings = {**entry, above: {last: value}} if above else {**entry, name: value}
    with pytest.raises(ConfigError) as caught:
        launcher_settings.parse_launcher(settings, {"submitit_slurm": entry})
    record_property("seen", str(caught.value))
    assert SLURM_WORDS[word] in str(caught.value)
    fine = {**entry, "partition": "gpu", "additional_parameters": {"requeue": True}}
    assert launcher_settings.parse_launcher(fine, {"submitit_slurm": entry}).settings == {
        "partition": "gpu",
        "additional_parameters.requeue": True,
    }


@pytest.mark.attack("a launcher's class in the place of a plugin's", "exit 2")
def test_a_class_that_no_plugin_registers_is_no_launcher(record_property: Saw) -> None:
    with pytest.raises(ConfigError) as caught:
        launcher_settings.parse_launcher({"_target_": "os.system"}, {"joblib": {"_target_": "J"}})
    record_property("seen", str(caught.value))
    assert "must be that of an installed plugin (joblib)" in str(caught.value)


NAMES = {
    "an interpolation": "e${oc.env:SECRET}",
    "one of a key": "e${seed}",
    "one after a backslash": "e\\${oc.env:SECRET}",
    "one after two": "e\\\\${oc.env:SECRET}",
    "quotes": 'it\'s "here"',
    "commas and brackets": "a,b[c]{d}=e",
}


@pytest.mark.attack("a current folder named ${oc.env:SECRET}", "runs there, secret nowhere")
@pytest.mark.parametrize("name", NAMES)
def test_the_name_of_the_current_folder_is_no_interpolation(
    name: str, tmp_path: Path, record_property: Saw
) -> None:
    folder = tmp_path / NAMES[name]
    folder.mkdir()
    done = harness("sweep", *QUICK, cwd=folder, SECRET="canary-in-the-environment")
    record_property("seen", f"exit {done.returncode}: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    assert [row["status"] for row in ledger(only_sweep(folder))] == ["done"]
    assert not [path for path in tmp_path.rglob("*") if "canary" in str(path)]
    assert [path.name for path in tmp_path.iterdir()] == [folder.name]
    told = [path for path in tmp_path.rglob("*") if path.is_file() and _holds(path, "canary-in")]
    assert not told


def _holds(path: Path, text: str) -> bool:
    return text.encode() in path.read_bytes()


SHADOWS = ("conf/difficulty/medium.yaml", "conf/trainer/default.yaml", "conf/config.yaml",
           "conf/hydra/config.yaml", "conf/hydra/launcher/local.yaml")  # fmt: skip


@pytest.mark.attack("a YAML bomb in the place of a default", "exit 2 at once, names the file")
@pytest.mark.parametrize("place", SHADOWS)
def test_a_bomb_in_the_place_of_a_default_is_refused_by_name(
    place: str, tmp_path: Path, record_property: Saw
) -> None:
    path = tmp_path / place
    path.parent.mkdir(parents=True)
    path.write_text(BOMB)
    done = harness("sweep", "--dry-run", cwd=tmp_path)
    record_property("seen", f"exit {done.returncode}: {done.stderr.strip()}")
    assert done.returncode == 2
    assert f"{place}: cannot be read as YAML: must have at most 10 aliases" in done.stderr


CIRCLES = {
    "itself": {"medium": ["medium"]},
    "by another": {"medium": ["mine"], "mine": ["/difficulty: medium"]},
    "an own one": {"mine": ["other", "_self_"], "other": ["mine"]},
}


@pytest.mark.attack("an option whose defaults lead back to itself", "exit 2, names the file")
@pytest.mark.parametrize("circle", CIRCLES)
def test_defaults_that_lead_round_in_a_circle_name_their_file(
    circle: str, tmp_path: Path, record_property: Saw
) -> None:
    (tmp_path / "conf" / "difficulty").mkdir(parents=True)
    for name, entries in CIRCLES[circle].items():
        defaults = [dict([e.split(": ")]) if ": " in e else e for e in entries]
        path = tmp_path / "conf" / "difficulty" / f"{name}.yaml"
        path.write_text(yaml.safe_dump({"name": name, "defaults": defaults}))
    words = ["difficulty=mine"] if circle == "an own one" else []
    done = harness("sweep", "--dry-run", *words, cwd=tmp_path)
    record_property("seen", f"exit {done.returncode}: {done.stderr.strip()}")
    assert done.returncode == 2
    assert "its defaults must not lead back to itself, got " in done.stderr
    assert "conf/difficulty/" in done.stderr


@pytest.mark.attack("all of these under the oldest hydra-core that may be installed", "the same")
@pytest.mark.slow
def test_the_oldest_hydra_that_is_allowed_runs_nothing_either(
    tmp_path: Path, record_property: Saw
) -> None:
    oldest = _oldest_hydra()
    where = tmp_path / "oldest"
    words = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target"]
    made = subprocess.run(
        [*words, str(where), f"hydra-core=={oldest}"], capture_output=True, text=True, timeout=120
    )
    if made.returncode:
        pytest.skip(f"hydra-core {oldest} cannot be installed: {made.stderr.strip()[-200:]}")
    tests = [f"{__file__}::test_a_target_in_a_file_of_the_current_folder_is_refused_by_name",
             f"{__file__}::test_a_plain_sweep_beside_such_a_file_runs_nothing",
             f"{__file__}::test_the_name_of_the_current_folder_is_no_interpolation"]  # fmt: skip
    program = (
        "import sys; from importlib.metadata import version; "
        f"assert version('hydra-core') == '{oldest}', version('hydra-core'); "
        "import pytest; sys.exit(pytest.main(sys.argv[1:]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "-q", "-p", "no:cacheprovider", *tests],
        cwd=installation.shipped(),
        env={**os.environ, "PYTHONPATH": str(where)},
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    record_property("seen", f"hydra-core {oldest}: {done.stdout.strip().splitlines()[-1]}")


def _oldest_hydra() -> str:
    needed = map(Requirement, metadata.requires("empathy-harness") or ())
    (hydra,) = (found for found in needed if found.name == "hydra-core")
    return next(part.version for part in hydra.specifier if part.operator == ">=")
