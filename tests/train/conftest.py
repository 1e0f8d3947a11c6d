"""One uninterrupted run that several tests compare with, and one that was killed."""

import shutil
from pathlib import Path

import pytest

from harness.records.run_folder import RunFolder
from tests.train.made import Finished, brief, finish, killed_after, make_run


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    run = make_run(tmp_path_factory.mktemp("whole"), brief())
    code, events, err = finish(run)
    assert code == 0
    return Finished(run, events, err)


@pytest.fixture(scope="session")
def whole(finished: Finished) -> RunFolder:
    return finished.run


@pytest.fixture(scope="session")
def killed_once(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    return killed_after(make_run(tmp_path_factory.mktemp("killed"), brief()), 11)


@pytest.fixture
def killed(killed_once: RunFolder, tmp_path: Path) -> RunFolder:
    """The folder of a run whose process was killed after step 11 or later, to go on with."""
    return RunFolder(shutil.copytree(killed_once.path, tmp_path / "killed"))
