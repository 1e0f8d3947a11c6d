"""A run folder in which anything may have happened to any file: an answer or a reason, no more."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.cli.fit import FitOptions, fit
from harness.config.run import RunConfig
from harness.errors import HarnessError
from harness.records import run_folder
from harness.records.run_folder import RunFolder
from harness.testing import run_folders, synthetic

FILES = ("run.json", "config.yaml", "metrics.jsonl")
Chance = random.Random


def _replaced(path: Path, by: Callable[[Path], object]) -> None:
    path.unlink()
    by(path)


def _flipped(data: bytes, chance: Chance) -> bytes:
    found = bytearray(data)
    for _ in range(chance.randrange(1, 20)):
        found[chance.randrange(len(found))] ^= 1 << chance.randrange(8)
    return bytes(found)


REWRITTEN: dict[str, Callable[[bytes, Chance], bytes]] = {
    "cut": lambda data, chance: data[: chance.randrange(len(data) + 1)],
    "flipped": _flipped,
    "NUL": lambda data, chance: bytes(chance.randrange(200)) + data,
    "huge number": lambda data, chance: data.replace(b"0.", b"1" + b"0" * 5000 + b".", 1),
    "deep": lambda data, chance: b"[" * 200_000,
    "later": lambda data, chance: data.replace(b'"schema": 1', b'"schema": 99') + b"\xff\xfe",
    "YAML tag": lambda data, chance: b'!!python/object/apply:os.mkdir ["BOMB"]\n',
    "pickle": lambda data, chance: b"\x80\x04\x95cos\nmkdir\n",
}
REPLACED: dict[str, Callable[[Path], object]] = {
    "loop": lambda path: path.symlink_to(path.name),
    "pipe": lambda path: os.mkfifo(path),
    "device": lambda path: path.symlink_to("/dev/zero"),
    "folder": lambda path: path.mkdir(),
    "gone": lambda path: None,
}


def damaged(run: Path, chance: Chance) -> str:
    """What was done to which file."""
    name = chance.choice(FILES)
    kind = chance.choice([*REWRITTEN, *REPLACED])
    path = run / name
    if not path.is_file() or path.is_symlink():
        return f"{name} no more"
    if kind in REWRITTEN:
        data = path.read_bytes()
        path.write_bytes(REWRITTEN[kind](data, chance) if data else b"")
    else:
        _replaced(path, REPLACED[kind])
    return f"{name} {kind}"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = RunFolder(tmp_path_factory.mktemp("sound") / "run")
    run_folder.create(run, RunConfig())
    run_folders.write_rows(run.path, synthetic.rows(synthetic.kink(11, 80, synthetic.LOW)))
    return run.path


@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_no_damage_ends_in_anything_but_0_or_65_and_nothing_is_run(
    sound: Path, tmp_path: Path, count: int, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    chance = Chance(count)
    codes = []
    for _ in range(count):
        run = Path(shutil.copytree(sound, tmp_path / "run"))
        done = [damaged(run, chance) for _ in range(chance.randrange(1, 4))]
        try:
            wanted = FitOptions((run,), tmp_path / "law", None, None, "none", pool_unlike=False)
            codes.append(fit(wanted, as_json=True, explain=False))
            assert json.loads(capsys.readouterr().out)["runs"], done
        except HarnessError as error:
            codes.append(error.exit_code)
        shutil.rmtree(run)
    assert set(codes) == {0, 65}
    assert not (tmp_path / "BOMB").exists()
