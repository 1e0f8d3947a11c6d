"""Settings of every test process."""

import gc
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("any machine", deadline=None)  # how long an example takes is its load's
settings.load_profile("any machine")
gc.disable()  # collecting imports torch and pandas, whose objects stay and would be walked again


LONGEST = ("tests/execution/test_sweep.py", "tests/train/test_language_run.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest come first: at the end one process would wait for them."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


def pytest_collection_finish() -> None:
    """Collect garbage from here on, but only among objects that the tests make."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _signals_as_they_were() -> Iterator[None]:
    """A command that a test ran in this process keeps stop requests back until it ends."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
