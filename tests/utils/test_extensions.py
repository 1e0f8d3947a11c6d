"""Extensions of other packages, by entry point and in this process."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import pytest

from harness.errors import ConfigError
from harness.utils import extensions


class Install(Protocol):
    def __call__(self, points: str, package: str = "other") -> None: ...


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Make a package `other` with these entry points, as if it had been installed."""

    def install(points: str, package: str = "other") -> None:
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(points)
        extensions._installed.cache_clear()

    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(
        extensions, "_registered", {kind: {} for kind in extensions.KINDS}, raising=True
    )
    yield install
    extensions._installed.cache_clear()
    sys.modules.pop("other_remedies", None)


def test_the_groups_are_plurals() -> None:
    assert [extensions.group(kind) for kind in extensions.KINDS] == [
        "harness.algorithms",
        "harness.remedies",
        "harness.rewards",
        "harness.simulators",
        "harness.importers",
        "harness.figures",
    ]


def test_an_entry_point_is_listed_without_being_imported_and_loaded_when_asked_for(
    installed: Install, tmp_path: Path
) -> None:
    (tmp_path / "other_remedies.py").write_text("MINE = 'an item'\n")
    installed("[harness.remedies]\nmine = other_remedies:MINE\n")
    assert extensions.names("remedy") == ("mine",)
    assert "other_remedies" not in sys.modules
    assert extensions.load("remedy", "mine") == "an item"
    assert extensions.names("reward") == ()


def test_a_package_that_cannot_be_imported_is_named(installed: Install) -> None:
    installed("[harness.remedies]\nmine = nowhere_at_all:MINE\n")
    with pytest.raises(ConfigError) as caught:
        extensions.load("remedy", "mine")
    assert str(caught.value) == (
        "harness.remedies: mine of other must be importable as nowhere_at_all:MINE, "
        "got ModuleNotFoundError: No module named 'nowhere_at_all'"
    )


def test_two_packages_cannot_give_one_name(installed: Install) -> None:
    installed("[harness.remedies]\nmine = a:A\n")
    installed("[harness.remedies]\nmine = b:B\n", "third")
    with pytest.raises(ConfigError) as caught:
        extensions.names("remedy")
    assert str(caught.value).startswith("harness.remedies: mine must be given once, got ")


def test_what_is_registered_in_a_process_is_there_and_only_once(installed: Install) -> None:
    extensions.register("figure", "mine", 7)
    assert extensions.load("figure", "mine") == 7
    with pytest.raises(ConfigError) as caught:
        extensions.register("figure", "mine", 8)
    assert str(caught.value) == "figure 'mine' must be registered once, got a second one"
    with pytest.raises(KeyError):
        extensions.load("figure", "yours")
