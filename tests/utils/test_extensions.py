"""Extensions of other packages, by entry point and in this process."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import ConfigError
from harness.records import provenance
from harness.utils import extensions
from tests.conftest import Install


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


@pytest.mark.parametrize(
    ("code", "raised"),
    [
        ("def (:\n", "SyntaxError: invalid syntax (other_broken.py, line 1)"),
        ("MINE = undefined\n", "NameError: name 'undefined' is not defined"),
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_module_that_raises_while_it_is_imported_is_named(
    installed: Install, tmp_path: Path, code: str, raised: str
) -> None:
    (tmp_path / "other_broken.py").write_text(code)
    installed("[harness.rewards]\nmine = other_broken:MINE\n")
    with pytest.raises(ConfigError) as caught:
        extensions.load("reward", "mine")
    said = f"harness.rewards: mine of other must be importable as other_broken:MINE, got {raised}"
    assert str(caught.value) == said
    assert extensions.problems() == {("reward", "mine"): said}


@pytest.mark.parametrize(
    ("code", "limit_s", "got"),
    [
        ("import time\ntime.sleep(600)\n", 1.0, "got one that was not done after 1 s"),
        ("raise SystemExit(7)\n", 60.0, "got one that ends its process with 7"),
    ],
)
def test_a_module_that_does_not_come_back_is_named_and_what_follows_is_not_tried(
    installed: Install, tmp_path: Path, code: str, limit_s: float, got: str
) -> None:
    (tmp_path / "other_stuck.py").write_text(code)
    installed("[harness.rewards]\nmine = other_stuck:MINE\nnext = other_nowhere:MINE\n")
    said = f"harness.rewards: mine of other must be importable, {got}"
    assert extensions.problems(limit_s) == {("reward", "mine"): said}


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


def test_what_is_registered_meanwhile_is_gone_afterwards(installed: Install) -> None:
    with extensions.registered("figure", "mine", 7):
        assert extensions.names("figure") == ("mine",)
        assert extensions.package_of("figure", "mine") == "this process"
    assert extensions.names("figure") == ()


def test_a_conf_folder_is_located_without_importing_its_package(
    installed: Install, tmp_path: Path
) -> None:
    (tmp_path / "other_with_conf" / "conf").mkdir(parents=True)
    (tmp_path / "other_with_conf" / "__init__.py").write_text("raise RuntimeError\n")
    installed("[harness.conf]\nother = other_with_conf\n")
    assert extensions.conf_folders() == (tmp_path / "other_with_conf" / "conf",)
    assert "other_with_conf" not in sys.modules


@pytest.mark.parametrize("value", ["no_such_package", "other_package.inner", "json"])
def test_a_package_without_a_conf_folder_is_named(installed: Install, value: str) -> None:
    installed(f"[harness.conf]\nmine = {value}\n")
    with pytest.raises(ConfigError) as caught:
        extensions.conf_folders()
    assert str(caught.value) == (
        "harness.conf: mine of other must name a top-level package with a folder conf/ in it, "
        f"got {value!r}"
    )


def test_the_packages_that_add_something_are_recorded_with_their_version(
    installed: Install,
) -> None:
    assert "other" not in provenance.installed()
    installed("[harness.conf]\nmine = a\n[harness.rewards]\nmine = a:A\n")
    installed("[console_scripts]\nmine = a:A\n", "third")
    assert extensions.packages() == {"other": "1.0"}
    assert provenance.installed()["other"] == "1.0"


LIST = "from harness.utils import extensions as e; print(e.names('reward'), e.packages())"


@pytest.mark.parametrize("named", [False, True])
def test_a_package_that_lies_in_the_current_folder_counts_only_where_pythonpath_names_it(
    installed: Install, tmp_path: Path, named: bool
) -> None:
    installed("[harness.rewards]\nmine = a:A\n")
    env = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", LIST], cwd=tmp_path, text=True, capture_output=True,
        env=env | ({"PYTHONPATH": str(tmp_path)} if named else {}),
    )  # fmt: skip
    assert done.stdout == ("('mine',) {'other': '1.0'}\n" if named else "() {}\n"), done.stderr


def test_of_a_package_that_is_found_twice_the_first_counts(
    installed: Install, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed("[harness.rewards]\nmine = a:A\n")
    first = tmp_path / "first" / "other-2.0.dist-info"
    first.mkdir(parents=True)
    (first / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 2.0\n")
    (first / "entry_points.txt").write_text("[harness.rewards]\nyours = a:A\n")
    monkeypatch.syspath_prepend(first.parent)
    assert extensions.names("reward") == ("yours",)
    assert extensions.packages() == {"other": "2.0"}
