"""Atomic writes, events, the ledger of a sweep, and conversations."""

import json
import resource
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from harness.errors import DataError, StorageError
from harness.records import atomic, conversations, sweep_file
from harness.records.conversations import TurnRecord
from harness.records.events import EventLog
from harness.records.sweep_file import LedgerRow, Sweep


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


def test_a_sweep_survives_a_round_trip(tmp_path: Path) -> None:
    rows = (
        LedgerRow("0-easy", "/runs/0-easy", ["difficulty=easy", "seed=1"], "done", None, 0),
        LedgerRow("1-hard", None, ["difficulty=hard", "seed=1"]),
    )
    written = Sweep(str(tmp_path), {"difficulty": ["easy", "hard"], "seed": [1]}, rows)
    sweep_file.write(tmp_path, written)
    read = sweep_file.read(tmp_path)
    assert (read.dir, read.axes, read.runs) == (written.dir, written.axes, written.runs)
    saved = json.loads((tmp_path / "sweep.json").read_text())
    assert list(saved)[:4] == ["schema", "dir", "axes", "runs"]


@pytest.mark.parametrize("text", ["", "[]", '{"runs": 3}', '{"dir": null, "axes": {}}'])
def test_a_ledger_that_cannot_be_read_says_where(tmp_path: Path, text: str) -> None:
    (tmp_path / "sweep.json").write_text(text)
    with pytest.raises(DataError, match=r"sweep.json: cannot be read"):
        sweep_file.read(tmp_path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": 5}, r"runs\[0\].name must be text, got 5"),
        ({"name": "../../t1"}, r"runs\[0\].name must be at most 96 letters, .*, got '../../t1'"),
        ({"name": "\0"}, r"runs\[0\].name must be at most 96 letters, .*, got '\\x00'"),
        ({"name": ""}, r"runs\[0\].name must be at most 96 letters, .*, got ''"),
        ({"name": ".."}, r"runs\[0\].name must be at most 96 letters, .*, got '..'"),
        ({"overrides": "seed=1"}, r"runs\[0\].overrides must be a list of text, got 'seed=1'"),
        ({"dir": 3}, r"runs\[0\].dir must be text or null, got 3"),
    ],
)
def test_a_changed_row_of_a_ledger_is_named(
    tmp_path: Path, change: dict[str, object], sentence: str
) -> None:
    sweep_file.write(tmp_path, Sweep(None, {}, [LedgerRow("0-easy", None, ["seed=1"])]))
    saved = json.loads((tmp_path / "sweep.json").read_text())
    saved["runs"][0] |= change
    (tmp_path / "sweep.json").write_text(json.dumps(saved))
    with pytest.raises(DataError, match=rf"sweep.json: cannot be read: {sentence}"):
        sweep_file.read(tmp_path)


def test_turns_are_readable_as_parquet(tmp_path: Path) -> None:
    turns = [
        TurnRecord(0, 0, 0, "user", "Hello.", emotion_after=40),
        TurnRecord(0, 0, 1, "policy", "Hi.", ["other"], entropy_nats=1.5, advantage=-0.5),
    ]
    path = conversations.write(tmp_path / "conversations", 7, turns)
    assert path.name == "step-00007.parquet"
    assert [
        str(pq.read_table(path).schema.field(k).type) for k in ("turn", "start_nll", "is_cut")
    ] == [
        "int32",
        "double",
        "bool",
    ]
    table = pq.read_table(path).to_pylist()
    assert [row["speaker"] for row in table] == ["user", "policy"]
    assert (table[0]["emotion_after"], table[1]["entropy_nats"]) == (40, 1.5)
    assert [p.name for p in path.parent.iterdir()] == [path.name]
