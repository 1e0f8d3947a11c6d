"""What holds in every test process."""

import gc
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("any machine", deadline=None)  # how long an example takes is its load's
settings.load_profile("any machine")
gc.disable()  # collecting imports torch and pandas, whose objects stay and would be walked again


def pytest_collection_finish() -> None:
    """From here on look for garbage, but only in what the tests make."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _signals_as_they_were() -> Iterator[None]:
    """A command that a test ran in this process keeps stop requests back until it ends."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
    yield
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
