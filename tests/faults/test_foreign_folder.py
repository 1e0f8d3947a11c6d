"""A folder of somebody else's is worked in, or resumed: nothing of it runs, or is read for ever."""

from __future__ import annotations

import importlib.util
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.compose import planner
from harness.errors import ConfigError
from harness.testing import run_folders, synthetic
from harness.testing.commands import TABULAR, harness, only_sweep
from harness.utils import installation
from tests.faults.untrusted import BOMB, Bomb

Saw = Callable[[str, object], None]
QUICK = (*TABULAR, "trainer.steps=1")
CANARY = "canary-in-the-environment"
SWEEP = "# @package _global_\n"


def _unfinished(tmp_path: Path, *words: str) -> Path:
    """A sweep that lacks a run, so that a resume launches it."""
    made = harness("sweep", *QUICK, *words, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    root = only_sweep(tmp_path)
    (missing,) = root.glob("*-seed1")
    shutil.rmtree(missing)
    for path in root.glob(".launcher*"):
        shutil.rmtree(path)
    return root


@pytest.mark.attack(
    "a sweep's .launcher is a link to another folder", "resumed, nothing lands behind the link"
)
def test_a_launch_keeps_nothing_where_somebody_was_before(
    tmp_path: Path, record_property: Saw
) -> None:
    root = _unfinished(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (root / ".launcher").symlink_to(tmp_path / "elsewhere")
    done = harness("resume", str(root), cwd=tmp_path)
    record_property("seen", f"exit {done.returncode}: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    assert not list((tmp_path / "elsewhere").iterdir())


@pytest.mark.slow
@pytest.mark.skipif(
    importlib.util.find_spec("submitit") is None, reason="needs hydra-submitit-launcher"
)
@pytest.mark.attack(
    "pickles below a sweep's .launcher, under the numbers that submitit's jobs will have",
    "resumed, none is loaded",
)
def test_no_pickle_below_a_sweep_is_loaded_as_the_answer_of_a_job(
    tmp_path: Path, record_property: Saw
) -> None:
    """The place of a job's log is taken, so that it ends before it writes its own answer."""
    root = _unfinished(tmp_path, "hydra/launcher=submitit_local")
    answer = pickle.dumps(("success", Bomb(tmp_path / "bomb")))
    for number in range(os.getpid(), os.getpid() + 2000):
        job = root / ".launcher" / ".submitit" / str(number)
        (job / f"{number}_0_log.out").mkdir(parents=True)
        (job / f"{number}_0_result.pkl").write_bytes(answer)
    done = harness("resume", str(root), cwd=tmp_path)
    record_property("seen", f"exit {done.returncode}: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "bomb").exists()


UNSEEN = {
    "in the place of a schema": ({"conf/run_schema.yaml": BOMB}, ()),
    "by name.yaml": (
        {"conf/remedy/mine.yaml": "name: mine\ndefaults: [x.yaml]\n", "conf/remedy/x.yaml": BOMB},
        ("remedy=mine",),
    ),
    "in a list": (
        {"conf/remedy/mine.yaml": "name: mine\ndefaults: [s: [x]]\n", "conf/remedy/s/x.yaml": BOMB},
        ("remedy=mine",),
    ),
    "by a sweep file": (
        {"sweeps/mine.yaml": f"{SWEEP}defaults: [s: x]\n", "sweeps/s/x.yaml": BOMB},
        ("+sweeps=mine",),
    ),
}


@pytest.mark.attack(
    "a YAML bomb where only Hydra's own reading of a defaults list leads", "exit 2, names the file"
)
@pytest.mark.parametrize("way", UNSEEN)
def test_every_file_that_hydra_reads_is_checked(
    way: str, tmp_path: Path, record_property: Saw
) -> None:
    files, words = UNSEEN[way]
    for name, text in files.items():
        _written(tmp_path / name, text)
    done = subprocess.run(
        [sys.executable, "-P", "-m", "harness", "sweep", "--dry-run", *words],
        cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    record_property("seen", f"exit {done.returncode}: {done.stderr.strip()}")
    assert done.returncode == 2
    bomb = next(name for name, text in files.items() if text == BOMB)
    assert f"{bomb}: cannot be read as YAML: must have at most 10 aliases" in done.stderr


def _written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


@pytest.mark.attack("a linked folder in conf/hydra/ with a _target_", "exit 2, names the file")
def test_a_linked_folder_is_checked_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Saw
) -> None:
    monkeypatch.chdir(tmp_path)
    _written(tmp_path / "other/local.yaml", "defaults: [joblib]\nx: {y: {_target_: os.system}}\n")
    (tmp_path / "conf/hydra").mkdir(parents=True)
    (tmp_path / "conf/hydra/launcher").symlink_to(tmp_path / "other")
    with pytest.raises(ConfigError) as caught:
        planner.plan(QUICK)
    record_property("seen", f"exit 2: {caught.value}")
    assert "launcher/local.yaml: x.y._target_: no file in a conf/" in str(caught.value)


OWN = "${oc.env:SECRET}"
SEARCHED: dict[str, tuple[str, dict[str, Any]]] = {
    "an option's defaults": ("conf/remedy/mine.yaml", {"name": "mine", "defaults": [OWN]}),
    "a group's name": ("conf/remedy/mine.yaml", {"name": "mine", "defaults": [{f"/x@{OWN}": OWN}]}),
    "a search path": ("conf/config.yaml", {"hydra": {"searchpath": [f"file:///tmp/{OWN}"]}}),
    "a module to import": ("conf/config.yaml", {"hydra": {"searchpath": ["pkg://antigravity"]}}),
    "hydra as a whole": ("conf/config.yaml", {"hydra": "${x}", "x": {"searchpath": [OWN]}}),
}


@pytest.mark.attack(
    "${oc.env:SECRET} or a module in a defaults list or a search path of Hydra's",
    "exit 2, names the file; neither read nor imported",
)
@pytest.mark.parametrize("where", SEARCHED)
def test_no_file_says_where_hydra_searches(
    where: str, tmp_path: Path, record_property: Saw
) -> None:
    name, values = SEARCHED[where]
    if name == "conf/config.yaml":
        ours = yaml.safe_load((installation.shipped() / name).read_text())
        values = {**ours, **values}
    _written(tmp_path / name, yaml.safe_dump(values))
    words = ("remedy=mine",) if "remedy" in name else ()
    done = harness("sweep", "--dry-run", *words, cwd=tmp_path, SECRET=CANARY)
    record_property("seen", f"exit {done.returncode}: {done.stderr.strip()}")
    assert done.returncode == 2
    assert done.stderr.startswith(f"harness: {tmp_path / name}: ")
    assert CANARY not in done.stderr + done.stdout


@pytest.mark.attack("files of the current folder that name each other twice", "exit 2 in seconds")
def test_defaults_that_double_are_not_followed_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Saw
) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(40):
        below = f"x{number + 1}"
        text = f"name: x{number}\ndefaults: ['{below}@a', '{below}@b']\n"
        _written(tmp_path / f"conf/remedy/x{number}.yaml", text)
    with pytest.raises(ConfigError) as caught:
        planner.plan(["remedy=x0"])
    record_property("seen", f"exit 2: {caught.value}")
    assert "its defaults must lead to at most 200 files, got more" in str(caught.value)


NUMBERS = {"hex": "0x" + "f" * 6000, "base 60": "1" + ":59" * 200_000}


@pytest.mark.attack("a number of thousands of digits in config.yaml", "65 or passed over, at once")
@pytest.mark.parametrize("number", ["hex", "base 60"])
def test_a_number_that_never_ends_is_refused(
    number: str, tmp_path: Path, record_property: Saw
) -> None:
    run_folders.write_rows(tmp_path / "run", synthetic.lawful_rows(1, 24))
    _written(tmp_path / "run/config.yaml", f"schema: 1\nseed: {NUMBERS[number]}\n")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "harness", "fit-entropy-law", "run", "--figures", "none"],
        cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    record_property("seen", f"exit {done.returncode}: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode in (0, 3, 65), done.stderr
    assert "Traceback" not in done.stderr
    assert "Exceeds the limit" not in done.stderr


@pytest.mark.attack("a pipe named matplotlibrc in the current folder", "drawn as ever, at once")
def test_settings_of_matplotlibs_in_the_current_folder_are_not_read(
    tmp_path: Path, record_property: Saw
) -> None:
    run_folders.write_rows(tmp_path / "run", synthetic.lawful_rows(1, 24))
    os.mkfifo(tmp_path / "matplotlibrc")
    done = subprocess.run(
        [sys.executable, "-P", "-m", "harness", "fit-entropy-law", "run"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    record_property("seen", f"exit {done.returncode}: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode in (0, 3), done.stderr
    assert list((tmp_path / "run/law").glob("*.png"))


@pytest.mark.attack(
    "an empty entry of PYTHONPATH, and modules named as others in the current folder",
    "none is imported",
)
@pytest.mark.parametrize("path", ["{}:", ":{}", ".:{}"])
def test_an_empty_entry_of_pythonpath_is_not_the_current_folder(
    path: str, tmp_path: Path, record_property: Saw
) -> None:
    for name in ("pathlib", "typer", "yaml", "json", "rich", "numpy"):
        _written(tmp_path / f"{name}.py", f"open({str(tmp_path / 'seen')!r}, 'w')\n")
    script = tmp_path / "bin" / "harness"
    _written(script, "from harness.__main__ import main\nmain()\n")
    done = subprocess.run(
        [sys.executable, str(script), "doctor", "--json"],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "PYTHONPATH": path.format(installation.shipped())},
    )  # fmt: skip
    record_property("seen", f"exit {done.returncode}, imported: {(tmp_path / 'seen').exists()}")
    assert json.loads(done.stdout)
    assert not (tmp_path / "seen").exists()


@pytest.mark.attack(
    "the package lies below a repository whose settings name a program", "no program is run"
)
def test_no_program_of_a_repository_above_the_package_is_run(
    tmp_path: Path, record_property: Saw
) -> None:
    lib = tmp_path / "lib"
    shutil.copytree(installation.shipped() / "harness", lib / "harness")
    git = ["git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "lib/harness/__init__.py"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    program = f"touch {tmp_path / 'bomb'}; false"
    subprocess.run([*git, "config", "core.fsmonitor", program], check=True)
    assert _revision(lib) == ""
    record_property("seen", f"run: {(tmp_path / 'bomb').exists()}")
    assert not (tmp_path / "bomb").exists()


@pytest.mark.attack("GIT_DIR names another repository, as in a hook", "the own revision is told")
def test_the_revision_is_that_of_the_code_whatever_git_is_told(
    tmp_path: Path, record_property: Saw
) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    seen = _revision(installation.shipped(), GIT_DIR=str(tmp_path / ".git"))
    record_property("seen", seen)
    assert seen == _revision(installation.shipped())


def _revision(where: Path, **environment: str) -> str:
    code = (
        f"import sys; sys.path.insert(0, {str(where)!r})\nfrom harness.records import provenance\n"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"{code}print(provenance.git_revision())"],
        env={**os.environ, **environment}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.strip()
