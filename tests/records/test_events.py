"""events.jsonl: what is appended, which attempt wrote a row, and which versions changed since."""

import json
import resource
from pathlib import Path
from typing import Any

import pytest

from harness.errors import StorageError
from harness.records import events as event_log
from harness.records import provenance
from harness.records.events import EventLog
from harness.records.provenance import MadeBy

PLANNED, OLD, NEW = (MadeBy({"numpy": number}, "") for number in ("1.0", "1.26.4", "2.0.0"))


def began(made_by: MadeBy) -> dict[str, Any]:
    return {"versions": dict(made_by.versions), "git": made_by.git}


@pytest.fixture
def events(tmp_path: Path) -> Path:
    """Rows 1 and 2 by OLD, 2 replayed and 3 by NEW; a torn line in the middle."""
    path = tmp_path / "events.jsonl"
    log = EventLog(path)
    log.append("start", step=0, **began(OLD))
    for step in (1, 2):
        log.append("step", step=step, replayed=False)
    with path.open("a") as file:
        file.write('{"event": "step", "step": 3, "rep\n[1]\n"start"\n')
    log.append("resume", step=1, **began(NEW))
    log.append("step", step=2, replayed=True)
    log.append("step", step=3, replayed=False)
    return path


@pytest.mark.parametrize(
    ("step", "wrote"), [(0, PLANNED), (1, OLD), (2, OLD), (3, NEW), (4, PLANNED)]
)
def test_the_attempt_that_wrote_a_row_is_found(events: Path, step: int, wrote: MadeBy) -> None:
    assert event_log.writer(events, step, PLANNED) == wrote


def test_an_attempt_of_an_older_version_ran_with_what_was_planned(events: Path) -> None:
    lines = [json.loads(line) for line in events.read_text().splitlines() if '"time' in line]
    old = [{k: v for k, v in line.items() if k not in ("versions", "git")} for line in lines]
    events.write_text("".join(json.dumps(line) + "\n" for line in old))
    assert event_log.writer(events, 1, PLANNED) == PLANNED
    assert event_log.every(events) == []


def test_the_same_versions_are_listed_once(events: Path) -> None:
    EventLog(events).append("resume", step=3, **began(OLD))
    assert event_log.every(events) == [OLD, NEW]


def test_without_events_the_planned_versions_count(tmp_path: Path) -> None:
    assert event_log.writer(tmp_path / "events.jsonl", 1, PLANNED) == PLANNED


@pytest.mark.parametrize(
    ("was", "now", "differ"),
    [
        (OLD, OLD, ()),
        (OLD, NEW, ("numpy 1.26.4 -> 2.0.0",)),
        (MadeBy({}, ""), NEW, ()),
        (MadeBy({"trl": "1"}, "a"), MadeBy({"vllm": "2"}, "b"),
         ("trl 1 -> none", "vllm none -> 2", "git revision a -> b")),
        (MadeBy({}, "a"), MadeBy({}, ""), ()),
    ],
)  # fmt: skip
def test_differing_versions_are_named_and_unknown_ones_are_not(
    was: MadeBy, now: MadeBy, differ: tuple[str, ...]
) -> None:
    assert provenance.differences(was, now) == differ


def test_a_full_disk_is_a_storage_error(tmp_path: Path) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        with pytest.raises(StorageError, match=r"events\.jsonl: File too large"):
            EventLog(tmp_path / "events.jsonl").append("step", step=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_events_carry_their_time(tmp_path: Path) -> None:
    log = EventLog(tmp_path / "events.jsonl")
    log.append("start", step=0)
    log.append("stop", why="SIGTERM")
    first, second = map(json.loads, (tmp_path / "events.jsonl").read_text().splitlines())
    assert (first["event"], first["step"], second["why"]) == ("start", 0, "SIGTERM")
    assert second["time_unix_s"] >= first["time_unix_s"] > 1.6e9
