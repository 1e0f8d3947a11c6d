"""One uninterrupted run that several tests compare with."""

import pytest

from harness.records.folder import RunFolder
from tests.train.made import Finished, brief, finish, make_run


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    run = make_run(tmp_path_factory.mktemp("whole"), brief())
    code, events, err = finish(run)
    assert code == 0
    return Finished(run, events, err)


@pytest.fixture(scope="session")
def whole(finished: Finished) -> RunFolder:
    return finished.run
