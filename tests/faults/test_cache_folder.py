"""A cache that cannot be written: who needs it is told before a run is made, others do without."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.compose import planner
from harness.execution import difficulty_cards
from harness.testing.commands import TABULAR, here
from harness.train.warm_start import start_model
from tests.faults.limited import on, sentence

MOUNT = 'at=${HARNESS_CACHE:-.}; mount --bind $at $at && mount -o remount,ro,bind $at && exec "$@"'
READ_ONLY = ("unshare", "-m", "sh", "-c", MOUNT, "sh")
"""A machine whose folder $HARNESS_CACHE is there for reading alone."""
Seen = Callable[[str, object], None]
RULE = "must name a writable folder for the cache"
SHORT = (*TABULAR, "trainer.steps=2", "difficulty.turn_cap=2")
"""Two steps, with users whose card the package does not bring."""
LITTLE = ("policy=tiny_smoke", "policy.warm_start_steps=1", "policy.hidden_size=16",
          "policy.vocabulary=400")  # fmt: skip
"""A start model that takes seconds to build."""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "file").write_text("mine")
    return tmp_path / "file"


@pytest.mark.parametrize("below", ["", "deeper/still"])
@pytest.mark.parametrize("words", [("train", "--dir", "d"), ("sweep", "seed=1,2")])
def test_a_file_in_the_place_of_the_cache(
    file: Path, below: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    named = str(file / below)
    done = here(*words, "policy=tiny", cwd=tmp_path, HARNESS_CACHE=named)
    assert done.returncode == 2
    given = f"HARNESS_CACHE: {RULE}; got {file}, which is not a folder"
    assert sentence(done) == f"harness: {given}"
    dry = here("sweep", "policy=tiny", "--dry-run", cwd=tmp_path, HARNESS_CACHE=named)
    assert dry.returncode == 0
    assert dry.stderr == f"harness: note: {given}\n"
    assert list(tmp_path.iterdir()) == [file], "nothing is made"
    assert file.read_text() == "mine"


def test_the_variable_that_named_it_is_the_one_that_is_told(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HARNESS_CACHE", raising=False)
    done = here("train", "policy=tiny", "--dir", "d", cwd=tmp_path, XDG_CACHE_HOME=str(file))
    assert done.returncode == 2
    assert sentence(done) == f"harness: XDG_CACHE_HOME: {RULE}; got {file}, which is not a folder"
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    done = here("train", "policy=tiny", "--dir", "d", cwd=tmp_path, HOME=str(file))
    assert done.returncode == 73
    assert sentence(done) == (
        f"harness: HARNESS_CACHE: {RULE}; got nothing, and without it {file}, which is not a folder"
    )


def test_a_link_that_leads_to_itself_is_no_cache(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(link)
    done = here("train", "policy=tiny", "--dir", "d", cwd=tmp_path, HARNESS_CACHE=str(link))
    assert done.returncode == 2
    assert sentence(done) == f"harness: HARNESS_CACHE: {RULE}; got {link}, which is not a folder"


def test_a_model_from_a_package_is_told_the_same(file: Path, tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    words = ("train", "policy=smollm2_135m", "--dir", "d")
    done = here(*words, cwd=tmp_path, HARNESS_CACHE=str(file))
    assert done.returncode == 2
    assert "is not a folder" in sentence(done) or "needs" in sentence(done)  # without the model


@pytest.mark.attack(
    "a cache that nobody may write to",
    "policy=tiny is 2 and one sentence, before a run is made; policy=tabular trains without it",
)
def test_a_cache_that_cannot_be_written(tmp_path: Path, record_property: Seen) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    kept = {"HARNESS_CACHE": str(cache)}
    done = on(READ_ONLY, "train", "policy=tiny", "--dir", "d", cwd=tmp_path, **kept)
    assert done.returncode == 2
    assert sentence(done) == (
        f"harness: HARNESS_CACHE: {RULE}; got {cache}, which cannot be written to"
    )
    assert list(tmp_path.iterdir()) == [cache], "nothing is made"
    record_property("seen", f"exit {done.returncode}: {sentence(done)}")
    done = on(READ_ONLY, "train", *SHORT, "--dir", "d", cwd=tmp_path, **kept)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_start_model_that_is_there_needs_no_cache_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the machines of a cluster share a cache that one of them has filled."""
    cache = tmp_path / "cache"
    monkeypatch.setenv("HARNESS_CACHE", str(cache))
    start_model.ensure(planner.point(LITTLE).config.policy)
    words = ("sweep", *LITTLE, "--dry-run")
    assert RULE not in on(READ_ONLY, *words, cwd=tmp_path).stderr
    (entry,) = (path for path in cache.iterdir() if path.is_dir())
    (entry / "model.safetensors").write_bytes(b"rot")
    assert f"{RULE}; got {cache}" in on(READ_ONLY, *words, cwd=tmp_path).stderr


def test_a_card_that_can_be_kept_nowhere_is_measured(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_CACHE", str(file))
    assert difficulty_cards.read_or_make("card-1.json", lambda: {"acceptance": 0.5}) == {
        "acceptance": 0.5
    }
