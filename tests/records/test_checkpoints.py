"""Checkpoints: whole or absent, verified before use, two kept."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.errors import DataError
from harness.records import checkpoints
from harness.records.provenance import MadeBy, RunIdentity

CONTENT = b"weights " * 50


def fill(folder: Path) -> None:
    (folder / "table.npy").write_bytes(CONTENT)
    (folder / "more").mkdir()
    (folder / "more" / "state.json").write_text("{}")


def newest_step(root: Path) -> int | None:
    newest, _ = checkpoints.newest(root)
    return newest.step if newest else None


def test_a_new_folder_has_no_checkpoint(tmp_path: Path) -> None:
    assert checkpoints.newest(tmp_path / "checkpoints") == (None, [])


def test_the_newest_checkpoint_is_found_and_two_are_kept(tmp_path: Path) -> None:
    for step in (5, 10, 15):
        checkpoints.publish(tmp_path, step, fill)
    assert newest_step(tmp_path) == 15
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-00010", "step-00015"]


def test_steps_beyond_five_digits_are_ordered_as_numbers(tmp_path: Path) -> None:
    for step in (99_999, 100_000):
        checkpoints.publish(tmp_path, step, fill)
    assert newest_step(tmp_path) == 100_000


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(st.integers(0, len(CONTENT) - 1), st.integers(0, 7))
def test_one_flipped_bit_falls_back_to_the_one_before(tmp_path: Path, place: int, bit: int) -> None:
    for step in (5, 10):
        checkpoints.publish(tmp_path, step, fill)
    file = tmp_path / "step-00010" / "table.npy"
    data = bytearray(file.read_bytes())
    data[place] ^= 1 << bit
    file.write_bytes(data)
    newest, problems = checkpoints.newest(tmp_path)
    assert newest is not None
    assert newest.step == 5
    assert problems == [f"{tmp_path / 'step-00010'}: table.npy differs from its manifest"]


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        (lambda path: (path / "manifest.json").unlink(), "no readable manifest.json"),
        (lambda path: (path / "manifest.json").write_text("{"), "no readable manifest.json"),
        (lambda path: (path / "more" / "state.json").unlink(), "more/state.json differs"),
        (lambda path: (path / "stray").write_text("x"), "stray differs"),
    ],
)
def test_damage_is_named(tmp_path: Path, damage: Callable[[Path], object], problem: str) -> None:
    checkpoints.publish(tmp_path, 5, fill)
    damage(tmp_path / "step-00005")
    newest, problems = checkpoints.newest(tmp_path)
    assert newest is None
    assert problem in problems[0]


def test_a_half_written_checkpoint_is_ignored_and_removed_by_the_next(tmp_path: Path) -> None:
    def die(folder: Path) -> None:
        fill(folder)
        raise KeyboardInterrupt

    checkpoints.publish(tmp_path, 5, fill)
    with pytest.raises(KeyboardInterrupt):
        checkpoints.publish(tmp_path, 10, die)
    assert newest_step(tmp_path) == 5
    (left,) = (p.name for p in tmp_path.iterdir() if p.name != "step-00005")
    assert re.fullmatch(r"\.step-00010\.[0-9a-f]{16}\.tmp", left)
    (tmp_path / ".step-00010.4711.tmp").mkdir()  # as earlier versions named it
    checkpoints.publish(tmp_path, 10, fill)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step-00005", "step-00010"]


def test_damaged_later_checkpoints_do_not_crowd_out_a_new_earlier_one(tmp_path: Path) -> None:
    for step in (10, 15):
        checkpoints.publish(tmp_path, step, fill)
        (tmp_path / f"step-{step:05d}" / "table.npy").write_bytes(b"")
    checkpoints.publish(tmp_path, 5, fill)
    assert newest_step(tmp_path) == 5
    assert [p.name for p in tmp_path.iterdir()] == ["step-00005"]


OWN = RunIdentity("0123456789ab", 1, None, MadeBy({"numpy": "2.0.0"}, "abc"))


def test_a_checkpoint_names_the_run_it_belongs_to(tmp_path: Path) -> None:
    assert checkpoints.publish(tmp_path, 5, fill, OWN).identity == OWN
    newest, problems = checkpoints.newest(tmp_path, OWN)
    assert newest == checkpoints.Checkpoint(5, tmp_path / "step-00005", OWN)
    assert problems == []


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        ({"seed": 2}, "seed 2 instead of the run's 1"),
        (
            {"config_hash": "ba9876543210"},
            "config hash ba9876543210 instead of the run's 0123456789ab",
        ),
        ({"start_model": "f" * 64}, "start model ffffffffffff instead of the run's eeeeeeeeeeee"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused_and_not_skipped(
    tmp_path: Path, other: dict[str, Any], differs: str
) -> None:
    identity = replace(OWN, start_model="e" * 64)
    checkpoints.publish(tmp_path, 5, fill, identity)
    checkpoints.publish(tmp_path, 10, fill, replace(identity, **other))
    with pytest.raises(DataError) as caught:
        checkpoints.newest(tmp_path, identity)
    assert str(caught.value) == (
        f"{tmp_path}/step-00010/manifest.json: a checkpoint must be of the run that it lies in, "
        f"got one of {differs}; move step-00010 away to go on from what is the run's own"
    )


def test_other_versions_or_an_unknown_start_model_make_no_other_run(
    tmp_path: Path,
) -> None:
    saved = replace(OWN, start_model="e" * 64, made_by=MadeBy({"numpy": "1.26.4"}, ""))
    checkpoints.publish(tmp_path, 5, fill, saved)
    newest, _ = checkpoints.newest(tmp_path, OWN)
    assert newest is not None
    assert newest.identity == saved


def test_a_checkpoint_under_the_name_of_another_step_is_refused(tmp_path: Path) -> None:
    checkpoints.publish(tmp_path, 5, fill, OWN).path.rename(tmp_path / "step-00006")
    with pytest.raises(
        DataError, match="must be of the step that its name says, got one of step 5"
    ):
        checkpoints.newest(tmp_path, OWN)


@pytest.mark.parametrize("given", [[], "seed 1", {"seed": 1}, {"config_hash": 3}])
def test_an_identity_that_is_none_is_refused(tmp_path: Path, given: object) -> None:
    path = checkpoints.publish(tmp_path, 5, fill, OWN).path / "manifest.json"
    values = json.loads(path.read_text())
    path.write_text(json.dumps(values | {"identity": given}))
    with pytest.raises(DataError, match="identity must be the hash, seed, start model, versions"):
        checkpoints.newest(tmp_path, OWN)


def test_a_checkpoint_without_an_identity_is_taken_as_an_older_versions(tmp_path: Path) -> None:
    path = checkpoints.publish(tmp_path, 5, fill).path / "manifest.json"
    values = json.loads(path.read_text())
    del values["identity"]
    path.write_text(json.dumps(values))
    newest, _ = checkpoints.newest(tmp_path, OWN)
    assert newest is not None
    assert newest.identity is None
