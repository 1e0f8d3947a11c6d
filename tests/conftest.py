"""Settings of every test process."""

import gc
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest
from hypothesis import settings

from harness.utils import extensions
from harness.utils.process import STOP_SIGNALS
from harness.utils.remembered import ValueCache

settings.register_profile("any machine", deadline=None)  # how long an example takes is its load's
settings.load_profile("any machine")
gc.disable()  # collecting imports torch and pandas, whose objects stay and would be walked again


LONGEST = (
    "tests/faults/test_trust.py",
    "tests/test_api.py",
    "tests/cli/test_admission.py",
    "tests/execution/test_sweep.py",
    "tests/faults/test_machines.py",
    "tests/report/test_figure_registry.py",
    "tests/train/test_language_run.py",
)
"""With --no-loadscope-reorder: of itself xdist begins with the files of most tests."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest come first: at the end one process would wait for them.

    Of the variants of an attack the first is a default test; `make attack` tries all.
    """
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))
    met = set[str]()
    for item in items:
        test = item.nodeid.partition("[")[0]
        if item.get_closest_marker("attack") and test in met:
            item.add_marker(pytest.mark.slow)
        met.add(test)


def pytest_collection_finish() -> None:
    """Collect garbage from here on, but only among objects that the tests make."""
    gc.freeze()
    gc.enable()


@pytest.fixture(autouse=True)
def _signals_as_they_were() -> Iterator[None]:
    """A command that was run in this process, by a test or by a fixture of a module, keeps stop
    requests back until it ends, and what the next test starts would never hear of them.
    """
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)
    yield
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP_SIGNALS)


@pytest.fixture(autouse=True)
def _users_are_met_for_the_first_time() -> Iterator[None]:
    """What a test's held-out users answered is not remembered in the next."""
    yield
    factory = sys.modules.get("harness.simulator.factory")
    if factory is not None:
        vars(factory)["_SCRIPTED"] = ValueCache(factory.MOST_REMEMBERED)


class Install(Protocol):
    """Makes a package that has these entry points, as if it had been installed."""

    def __call__(self, points: str, package: str = "other") -> None: ...


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Make a package `other` with these entry points, as if it had been installed; its modules are
    found in tmp_path.
    """

    def install(points: str, package: str = "other") -> None:
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(points)
        extensions._installed_extensions.cache_clear()

    before = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(extensions, "_registered", {kind: {} for kind in extensions.KINDS})
    yield install
    extensions._installed_extensions.cache_clear()
    for name in {name for name in sys.modules if name.startswith("other_")} - before:
        del sys.modules[name]
