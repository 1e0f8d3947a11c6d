"""Links that somebody puts into a folder we share: no write of ours lands behind one.

The old temporary names, `.run.json.THREAD.tmp` and the like, could be predicted. Here links stand
at every one of them and at the final names, and some folders are links themselves.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.config.run import RunConfig
from harness.errors import DataError, StorageError
from harness.execution import difficulty_cards, stop_requests
from harness.records import (
    atomic,
    checkpoints,
    conversations,
    holder,
    run_status,
    study_file,
    sweep_file,
)
from harness.records.events import EventLog
from harness.records.run_folder import RunFolder
from harness.records.run_status import RunStatus
from harness.train import trackers
from harness.train.objective import remedy_state
from harness.train.rollout import curriculum
from tests.faults.planted import NEAR, VICTIM, Seen, names, numbers, of_a_run, own, planted

WRITES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "run.json": ("run.json", lambda at: run_status.write(RunFolder(at).status, RunStatus())),
    "sweep.json": (
        "sweep.json",
        lambda at: sweep_file.write(at, sweep_file.Sweep(str(at), {}, ())),
    ),
    "study.json": (
        "study.json",
        lambda at: study_file.write(at, study_file.StudyRecord("x", {}, (), {}, {})),
    ),
    "law.json": ("law.json", lambda at: atomic.write_text(at / "law.json", "{}")),
    "a figure": ("forest.png", lambda at: atomic.write_bytes(at / "forest.png", b"\x89PNG")),
    "step parquet": ("step-00001.parquet", lambda at: conversations.write(at, 1, [])),
    ".stop": (".stop", lambda at: stop_requests.request(at, stop_requests.STOP_RUNS)),
    "trackers' scratch": (
        "wandb.json",
        lambda at: trackers._save_state(at / "wandb.json", {"step": 1}),
    ),
    "cards.json": ("cards.json", lambda at: atomic.write_json(at / difficulty_cards.FILE, {})),
}


@pytest.mark.attack(
    "links at the temporary and final names of what a run, a sweep and an analysis write",
    "the links are replaced or left; no file behind one is touched",
)
@pytest.mark.parametrize("what", WRITES)
def test_no_write_lands_behind_a_link(tmp_path: Path, what: str, record_property: Seen) -> None:
    name, write = WRITES[what]
    where = tmp_path / "ours"
    with planted([name], where, tmp_path / "victims"):
        write(where)
        assert own(where / name)
    record_property("seen", f"{NEAR + 3} links planted; {name} is a file of its own")


@pytest.mark.attack(
    "links at the names of config.yaml, .holder and profiles.jsonl before a run is made",
    "the links are replaced; no file behind one is touched",
)
def test_a_run_is_made_among_links(tmp_path: Path, record_property: Seen) -> None:
    where = tmp_path / "ours"
    with planted(["config.yaml", ".holder"], where, tmp_path / "victims"):
        for stray in ("config.tmp", ".holder.tmp", ".config.yaml.tmp", "..holder.tmp"):
            (where / stray).unlink(missing_ok=True)
        run = of_a_run(RunFolder(where))
        with holder.hold(run):
            assert own(run.holder)
            assert own(run.config)
    left = sorted(path.name for path in where.iterdir())
    assert left == [".lock", "config.yaml", "run.json"]
    record_property("seen", f"{2 * NEAR} links planted; left are {', '.join(left)}")


@pytest.mark.attack(
    "links to others' folders at the names of a checkpoint and of its old scratch folder",
    "the checkpoint is a folder of its own; nothing is written or removed behind a link",
)
def test_a_checkpoint_is_not_written_or_cleared_through_a_link(
    tmp_path: Path, record_property: Seen
) -> None:
    root, theirs = tmp_path / "checkpoints", tmp_path / "theirs"
    root.mkdir()
    theirs.mkdir()
    (theirs / "weights").write_text(VICTIM)
    for name in ("step-00005", *(f".step-00005.{number}.tmp" for number in numbers())):
        (root / name).symlink_to(theirs, target_is_directory=True)
    made = checkpoints.publish(root, 5, lambda at: (at / "a").write_text("x"))
    assert not made.path.is_symlink()
    assert checkpoints.newest(root)[0] == made
    assert [path.name for path in root.iterdir()] == ["step-00005"], "links are removed, as links"
    assert [path.name for path in theirs.iterdir()] == ["weights"]
    record_property("seen", f"{NEAR} links planted; step-00005 is a folder of its own")


@pytest.mark.attack(
    "another folder put in the place of a checkpoint's scratch folder while it is written",
    "no checkpoint is made of it",
)
def test_a_scratch_folder_that_is_exchanged_becomes_no_checkpoint(
    tmp_path: Path, record_property: Seen
) -> None:
    def exchange(scratch: Path) -> None:
        scratch.rename(tmp_path / "away")
        scratch.mkdir()
        (scratch / "table.npy").write_bytes(b"theirs")

    with pytest.raises(StorageError, match="another folder has taken the place of") as raised:
        checkpoints.publish(tmp_path / "checkpoints", 5, exchange)
    assert checkpoints.newest(tmp_path / "checkpoints") == (None, [])
    record_property("seen", str(raised.value).rpartition(": ")[2])


@pytest.mark.attack(
    "a link put in the place of a checkpoint's scratch folder just before a library writes to it",
    "nothing lands behind the link, and no checkpoint is made",
)
def test_what_a_library_saves_does_not_land_behind_a_link(
    tmp_path: Path, record_property: Seen
) -> None:
    from harness.policy import tiny

    theirs = tmp_path / "theirs"
    theirs.mkdir()

    class Late:
        """A model whose files are written once the folder was exchanged."""

        def save_pretrained(self, where: Path) -> None:
            (scratch,) = (tmp_path / "checkpoints").iterdir()
            scratch.rename(tmp_path / "away")
            scratch.symlink_to(theirs)
            (where / "model.safetensors").write_bytes(b"weights")

    with pytest.raises(StorageError, match="must be a folder, got a link") as raised:
        checkpoints.publish(tmp_path / "checkpoints", 5, lambda to: tiny.save(to, Late()))
    assert [*theirs.iterdir()] == []
    assert (tmp_path / "away" / "model.safetensors").read_bytes() == b"weights"
    record_property("seen", str(raised.value).rpartition("/")[0].rpartition(": ")[2])


@pytest.mark.attack(
    "a link at the name of a row log, an event log or a run's log",
    "refused; the file behind it is not touched",
)
@pytest.mark.parametrize("name", ["events.jsonl", "metrics.superseded.jsonl", "train.log"])
def test_nothing_is_appended_behind_a_link(
    tmp_path: Path, name: str, record_property: Seen
) -> None:
    victim = tmp_path / "victim"
    victim.write_text(VICTIM)
    (tmp_path / name).symlink_to(victim)
    with pytest.raises(StorageError, match=name) as raised, atomic.storage_errors(tmp_path / name):
        EventLog(tmp_path / name).append("step")
    assert victim.read_text() == VICTIM
    record_property("seen", str(raised.value).rpartition("/")[2])


@pytest.mark.attack(
    "a pipe at the name of an event log, or a folder that is a link to another",
    "refused in a sentence; nobody is waited for, nothing is written behind the link",
)
def test_a_pipe_and_a_linked_folder_are_refused(tmp_path: Path, record_property: Seen) -> None:
    os.mkfifo(tmp_path / "events.jsonl")
    with pytest.raises(DataError, match=r"events\.jsonl: must be a regular file, but is not"):
        EventLog(tmp_path / "events.jsonl").append("step")
    (tmp_path / "theirs").mkdir()
    (tmp_path / "ours").symlink_to("theirs")
    rule = r"ours/a: \S+/ours must be a folder, got a link to theirs"
    with pytest.raises(StorageError, match=rule) as raised:
        atomic.write_text(tmp_path / "ours" / "a", "x")
    with pytest.raises(StorageError, match="must be a folder, got a link"):
        EventLog(tmp_path / "ours" / "events.jsonl").append("step")
    assert list((tmp_path / "theirs").iterdir()) == []
    record_property("seen", str(raised.value).rpartition(": ")[2])


def test_the_state_in_a_checkpoint_is_written_the_same_way(tmp_path: Path) -> None:
    where = tmp_path / "ours"
    with planted([curriculum.FILE, remedy_state.FILE], where, tmp_path / "victims"):
        curriculum.save(_adaptive(), where)
        assert own(where / curriculum.FILE)


def _adaptive() -> curriculum.CurriculumState:
    from harness.config.curriculum import CurriculumConfig

    config = RunConfig(curriculum=CurriculumConfig(name="adaptive", kind="adaptive"))
    return curriculum.CurriculumState(config, (), ())


@pytest.mark.attack(
    "reading the folder while the same file is written again and again",
    "no temporary name comes twice, and none can be told beforehand",
)
def test_no_temporary_name_comes_twice(tmp_path: Path, record_property: Seen) -> None:
    seen: set[str] = set()
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            seen.update(name for name in names(tmp_path) if name.endswith(".tmp"))

    watcher = threading.Thread(target=look)
    watcher.start()
    for number in range(50):
        atomic.write_text(tmp_path / "run.json", str(number))
    over.set()
    watcher.join()
    assert all(re.fullmatch(r"\.run\.json\.[0-9a-f]{16}\.tmp", name) for name in seen)
    assert len(seen) > 1
    assert names(tmp_path) == ["run.json"]
    record_property("seen", f"{len(seen)} names seen in 50 writes, all of them different")


def test_what_killed_writes_have_left_is_cleared_by_the_next_holder(tmp_path: Path) -> None:
    run = of_a_run(RunFolder(tmp_path / "run"))
    run.conversations.mkdir()
    left = [run.path / ".run.json.4711.tmp", run.path / ".run.json.0123456789abcdef.tmp"]
    left += [run.conversations / ".step-00001.parquet.99.tmp", run.path / ".events.jsonl.7.tmp"]
    others = [run.path / ".run.json.tmp", run.path / "notes.1.tmp"]
    for path in (*left, *others):
        path.write_text("half")
    with holder.hold(run):
        pass
    assert [path for path in left if path.exists()] == []
    assert [path for path in others if not path.exists()] == [], "nobody's but ours"


@pytest.mark.timeout(20)
def test_a_folder_where_a_stop_is_asked_for_holds_no_pipe_that_is_waited_for(
    tmp_path: Path,
) -> None:
    os.mkfifo(tmp_path / stop_requests.NAME)
    assert not stop_requests.stop_runs(tmp_path)
    stop_requests.request(tmp_path, stop_requests.STOP_RUNS)
    assert stop_requests.stop_runs(tmp_path)


def test_no_victim_of_two_writers_at_once(tmp_path: Path) -> None:
    """Of two who write one file at once, each leaves it whole."""
    texts = [str(n) * 100_000 for n in range(4)]
    threads = [
        threading.Thread(target=atomic.write_text, args=(tmp_path / "a", text)) for text in texts
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "a").read_text() in texts
    assert names(tmp_path) == ["a"]
