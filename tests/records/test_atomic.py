"""Atomic writes: a whole file or the old one, and nothing beside it."""

from pathlib import Path

import pytest

from harness.errors import StorageError
from harness.records import atomic


def test_a_write_replaces_the_whole_file_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    atomic.write_text(tmp_path / "a", "long " * 100)
    atomic.write_text(tmp_path / "a", "short")
    assert (tmp_path / "a").read_text() == "short"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_a_write_that_fails_keeps_the_old_file(tmp_path: Path) -> None:
    atomic.write_text(tmp_path / "a", "old")
    with pytest.raises(UnicodeEncodeError):
        atomic.write_text(tmp_path / "a", "\ud800")
    assert (tmp_path / "a").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_an_io_error_names_the_file(tmp_path: Path) -> None:
    target = tmp_path / "gone" / "a"
    with pytest.raises(StorageError, match=f"{target}: No such file or directory"):
        atomic.write_text(target, "x")


def test_json_never_holds_nan(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        atomic.write_json(tmp_path / "a", {"x": float("nan")})
    assert not (tmp_path / "a").exists()
