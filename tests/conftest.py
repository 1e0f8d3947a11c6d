"""What holds in every test process."""

import gc

from hypothesis import settings

settings.register_profile("any machine", deadline=None)  # how long an example takes is its load's
settings.load_profile("any machine")
gc.disable()  # collecting imports torch and pandas, whose objects stay and would be walked again


def pytest_collection_finish() -> None:
    """From here on look for garbage, but only in what the tests make."""
    gc.freeze()
    gc.enable()
