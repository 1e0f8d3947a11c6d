"""Checkpoints: whole or absent, verified before use, two kept."""

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.records import checkpoints

CONTENT = b"weights " * 50


def fill(folder: Path) -> None:
    (folder / "table.npy").write_bytes(CONTENT)
    (folder / "more").mkdir()
    (folder / "more" / "state.json").write_text("{}")


def newest_step(root: Path) -> int | None:
    found, _ = checkpoints.newest(root)
    return found.step if found else None


def test_none_at_first(tmp_path: Path) -> None:
    assert checkpoints.newest(tmp_path / "checkpoints") == (None, [])


def test_the_newest_is_found_and_two_are_kept(tmp_path: Path) -> None:
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
    found, problems = checkpoints.newest(tmp_path)
    assert found is not None
    assert found.step == 5
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
def test_damage_is_named(tmp_path: Path, damage: object, problem: str) -> None:
    checkpoints.publish(tmp_path, 5, fill)
    damage(tmp_path / "step-00005")  # type: ignore[operator]
    found, problems = checkpoints.newest(tmp_path)
    assert found is None
    assert problem in problems[0]


def test_a_half_written_one_is_ignored_and_cleared_by_the_next(tmp_path: Path) -> None:
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


def test_damaged_later_ones_do_not_crowd_out_a_new_earlier_one(tmp_path: Path) -> None:
    for step in (10, 15):
        checkpoints.publish(tmp_path, step, fill)
        (tmp_path / f"step-{step:05d}" / "table.npy").write_bytes(b"")
    checkpoints.publish(tmp_path, 5, fill)
    assert newest_step(tmp_path) == 5
    assert [p.name for p in tmp_path.iterdir()] == ["step-00005"]
