"""The identity of a run of an older version, equal to that of a like run of this one."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.config.run import RunConfig
from harness.law.io import identity
from harness.records import config_file, run_folder, run_status
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus
from harness.train.metrics import card

GOLDEN = Path(__file__).parents[2] / "golden" / "2026-11-22" / "run"


def test_a_config_without_the_newer_keys_is_one_with_their_defaults(tmp_path: Path) -> None:
    old = RunFolder(shutil.copytree(GOLDEN, tmp_path / "old"))
    assert "eval" not in yaml.safe_load(old.config.read_text())
    config = run_folder.read_config(old)
    new = RunFolder(tmp_path / "new")
    run_folder.create(new, config)
    completed = identity.read(old.path).full_config
    whole = json.loads(json.dumps(config_file.to_dict(config)))
    assert completed == identity.read(new.path).full_config == whole


@pytest.mark.parametrize("size", [{}, {"users": 4}, {"turn_cap": 2}, {"levels": ["hard"]}])
def test_an_old_card_is_equal_to_one_of_the_default_size_alone(
    tmp_path: Path, size: dict[str, Any]
) -> None:
    config = config_file.from_dict({**config_file.to_dict(RunConfig()), "eval": size})
    new = card.of_tabular(config)
    old = json.loads(json.dumps(card.of_tabular(RunConfig())))
    for key in ("users", "levels", "repeats", "turn_cap"):
        del old["eval"][key]
    read = []
    for name, said in (("new", new), ("old", old)):
        run = RunFolder(tmp_path / name)
        run.path.mkdir()
        run_status.write(run.status, RunStatus(measurement=said))
        read.append(identity.read(run.path).measurement)
    assert (read[0] == read[1]) == (size == {})


def test_a_config_that_is_no_runs_stays_as_it_is(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.config.write_text("difficulty: {name: easy}\n")
    assert identity.read(run.path).config == {"difficulty": {"name": "easy"}}


def test_a_seed_that_a_config_lacks_stays_unknown(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.config.write_text("schema: 1\n")
    assert identity.read(run.path).seed is None
