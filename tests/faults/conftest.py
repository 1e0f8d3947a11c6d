"""The run that nothing happens to, made once."""

import pytest

from tests.faults.limited import whole_rows


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return whole_rows(tmp_path_factory.mktemp("whole") / "run")
