"""A run of a very small language model that the tests export."""

from __future__ import annotations

from pathlib import Path

import pytest

from harness.records.run_folder import RunFolder
from tests.train.made import go_on, make_run
from tests.train.made_language_runs import config

STEPS = 4


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """Done, with checkpoints of steps 2 and 4; nothing in it is to be changed."""
    made = make_run(tmp_path_factory.mktemp("exported") / "one", config(steps=STEPS))
    code, _, err = go_on(made)
    assert code == 0, err
    return made


@pytest.fixture(scope="session")
def exported(run: RunFolder, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its export by the command, which nothing is to be changed in either."""
    from harness.testing.commands import here

    folder = tmp_path_factory.mktemp("models") / "one"
    done = here("export", str(run.path), str(folder), cwd=folder.parent)
    assert done.returncode == 0, done.stderr
    return folder
