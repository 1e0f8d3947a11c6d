"""Conversations on disk: what is written is what is read, whichever version wrote it."""

import json
import math
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import DataError, VersionError
from harness.records import conversations, saved_conversations
from harness.records.conversations import SCHEMA, SCHEMA_KEY, TurnRecord
from harness.records.saved_conversations import SavedReasons, SavedStep, SavedTurn
from tests.present import present

GOLDEN = Path(__file__).parents[1] / "golden"
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TEXTS = st.text(max_size=40)
"""Of any characters but lone surrogates, which UTF-8 cannot hold."""
OF_USER = ("level", "persona", "topic", "voice", "temperament", "intention", "path")
OTHER_NAMES = {"number": "turn", "emotion": "emotion_after"}
"""Field of a Turn -> column, where they differ."""


@st.composite
def whys(draw: st.DrawFn) -> list[dict[str, str | float]]:
    effects = draw(st.dictionaries(TEXTS, NUMBERS, max_size=4))
    return [{"part": part, "effect": effect} for part, effect in effects.items()]


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def turns(number: int, speaker: str) -> st.SearchStrategy[TurnRecord]:
    lists = maybe(st.lists(TEXTS, max_size=3))
    felt, moved = maybe(st.integers(0, 100)), maybe(st.integers(-100, 100))
    return st.builds(
        TurnRecord, group=st.just(0), sample=st.just(0), turn=st.just(number),
        speaker=st.just(speaker), text=TEXTS, strategies=lists, taken_up=lists,
        is_cut=maybe(st.booleans()), entropy_nats=maybe(NUMBERS), advantage=maybe(NUMBERS),
        start_nll=maybe(NUMBERS), start_z=maybe(NUMBERS), emotion_after=felt, change=moved,
        reported_emotion=maybe(NUMBERS), ended=maybe(TEXTS), why=maybe(whys()),
        why_unit=maybe(TEXTS), rise_probability=maybe(NUMBERS), reason=maybe(TEXTS),
        fit=maybe(TEXTS), not_language=maybe(TEXTS), fault=maybe(TEXTS),
    )  # fmt: skip


@st.composite
def batches(draw: st.DrawFn) -> list[TurnRecord]:
    """Some conversations, each with its user on all of its turns."""
    found = list[TurnRecord]()
    for number in range(draw(st.integers(0, 3))):
        of = {name: draw(maybe(TEXTS)) for name in OF_USER}
        common: dict[str, Any] = {**of, "reward": draw(maybe(NUMBERS))}
        for turn in range(draw(st.integers(1, 3))):
            for speaker in ("policy", "user")[turn == 0 :]:
                one = draw(turns(turn, speaker))
                found.append(replace(one, group=number // 2, sample=number % 2, **common))
    return found


def read_back(written: Sequence[TurnRecord]) -> SavedStep:
    with tempfile.TemporaryDirectory() as here:
        conversations.write(Path(here) / "conversations", 7, written)
        return saved_conversations.read(Path(here), 7)


@given(batches())
def test_what_is_written_is_what_is_read(written: list[TurnRecord]) -> None:
    found = read_back(written)
    assert (found.step, found.schema, found.lacks, found.note) == (7, SCHEMA, (), None)
    read = [(one, turn) for one in found.conversations for turn in one.turns]
    for (one, turn), record in zip(read, written, strict=True):
        for name in ("group", "sample", "reward", *OF_USER):
            assert getattr(one, name) == getattr(record, name)
        for field in fields(SavedTurn):
            value = getattr(record, OTHER_NAMES.get(field.name, field.name))
            if field.name == "why":
                assert_why(turn.why, record)
            else:
                assert getattr(turn, field.name) == (tuple(value) if type(value) is list else value)


def assert_why(why: SavedReasons | None, record: TurnRecord) -> None:
    assert (why is None) == (record.why is None)
    if why is not None:
        effects = {part["part"]: part["effect"] for part in record.why or ()}
        assert (why.effects, why.unit) == (effects, record.why_unit)
        for name in ("rise_probability", "reason", "fit", "not_language", "fault"):
            assert getattr(why, name) == getattr(record, name)


def test_every_file_has_all_columns_typed_also_where_all_is_null(tmp_path: Path) -> None:
    """A reader of many files, or of another program, meets one schema."""
    user = TurnRecord(0, 0, 0, "user", "Hello.")
    full = replace(user, why=[{"part": "hurt", "effect": -5.0}], strategies=["a"], is_cut=True)
    paths = [
        conversations.write(tmp_path, step, rows)
        for step, rows in enumerate(([], [user], [full], [user, full]))
    ]
    schemas = [pq.read_schema(path) for path in paths]
    assert all(schema.equals(schemas[0], check_metadata=True) for schema in schemas)
    kinds = {field.name: str(field.type) for field in schemas[0]}
    assert kinds["strategies"] == "list<element: string>"
    assert kinds["why"] == "list<element: struct<part: string, effect: double>>"
    assert (kinds["intention"], kinds["reward"], kinds["change"]) == ("string", "double", "int32")
    assert "json" not in " ".join(kinds).lower()


def test_a_file_written_before_paths_were_kept_is_read_with_none_and_nothing_is_said_of_it(
    tmp_path: Path,
) -> None:
    written = conversations.write(tmp_path, 3, [TurnRecord(0, 0, 0, "user", "Hi.", path="a")])
    assert saved_conversations.read_file(written).conversations[0].path == "a"
    pq.write_table(pq.read_table(written).drop_columns("path"), written)
    found = saved_conversations.read_file(written)
    assert (found.conversations[0].path, found.conversations[0].turns[0].text) == (None, "Hi.")
    assert (found.schema, found.note) == (SCHEMA, None)


@pytest.mark.parametrize("path", sorted(GOLDEN.rglob("step-*.parquet")), ids=str)
def test_files_of_older_versions_are_read_and_say_what_they_lack(path: Path) -> None:
    found = saved_conversations.read_file(path)
    assert found.schema == 1
    assert {"persona", "intention", "reward", "taken_up", "reported_emotion"} <= {*found.lacks}
    assert "did not keep persona, topic, voice" in present(found.note)
    assert found.conversations
    for one in found.conversations:
        assert (one.persona, one.intention, one.reward, one.ended is None) == (None,) * 3 + (False,)
        replies = [turn for turn in one.turns if turn.is_reply]
        assert len(replies) == len(one.emotions) - 1
        assert all(turn.strategies is not None and turn.taken_up is None for turn in replies)
        answers = [turn for turn in one.turns if not turn.is_reply][1:]
        for turn in answers:
            assert turn.change is not None
            assert present(turn.why).unit == "log_odds"


def test_the_parts_of_an_old_appraisal_add_up_to_its_log_odds(tmp_path: Path) -> None:
    why = {"worth": -0.5, "pick_up": 0.6, "fatigue": -0.0, "logit": 1.25}
    rows = [
        {"group": 0, "sample": 0, "turn": 1, "speaker": "user", "text": "Hm.", "strategy": None,
         "emotion_before": 40, "emotion_after": 45, "entropy_nats": None, "advantage": None,
         "start_nll": None, "ended": None, "why": json.dumps(why)},
    ]  # fmt: skip
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "step-00001.parquet")
    (one,) = saved_conversations.read_file(tmp_path / "step-00001.parquet").conversations
    effects = present(one.turns[0].why).effects
    assert effects == {"worth": -1.1, "pick_up": 0.6, "rest": 1.75}
    assert sum(effects.values()) == pytest.approx(1.25)
    assert one.turns[0].change == 5


def test_a_file_of_a_newer_version_is_refused_and_says_so(tmp_path: Path) -> None:
    path = conversations.write(tmp_path, 1, [TurnRecord(0, 0, 0, "user", "Hello.")])
    table = pq.read_table(path).append_column("later", pa.array([1]))
    pq.write_table(table.replace_schema_metadata({SCHEMA_KEY: str(SCHEMA + 1)}), path)
    rule = rf"step-00001\.parquet: schema must be at most {SCHEMA}, got {SCHEMA + 1}: a newer ver"
    with pytest.raises(VersionError, match=rule):
        saved_conversations.read_file(path)


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-20])


def of_others(path: Path) -> None:
    pq.write_table(pa.table({"a": [1, 2]}), path)


def without_a_column(path: Path) -> None:
    table = pq.read_table(path)
    pq.write_table(table.drop_columns(["ended"]), path)


def with_a_null(path: Path) -> None:
    table = pq.read_table(path)
    at = table.column_names.index("text")
    pq.write_table(table.set_column(at, "text", pa.nulls(table.num_rows, pa.string())), path)


def with_words_for_numbers(path: Path) -> None:
    table = pq.read_table(path)
    at = table.column_names.index("emotion_after")
    words = pa.array(["much"] * table.num_rows)
    pq.write_table(table.set_column(at, "emotion_after", words), path)


def with_an_emotion_that_there_is_not(path: Path) -> None:
    table = pq.read_table(path)
    at = table.column_names.index("emotion_after")
    felt = pa.array([100_000_000] * table.num_rows, table.schema.field(at).type)
    pq.write_table(table.set_column(at, table.schema.field(at), felt), path)


def with_a_strange_version(path: Path) -> None:
    pq.write_table(pq.read_table(path).replace_schema_metadata({SCHEMA_KEY: b"two"}), path)


def of_an_old_version_with_no_json(path: Path) -> None:
    shutil.copy(next((GOLDEN / "2026-11-23").rglob("step-*.parquet")), path)
    table = pq.read_table(path)
    at = table.column_names.index("why")
    pq.write_table(table.set_column(at, "why", pa.array(["[" * 9] * table.num_rows)), path)


@pytest.mark.parametrize(
    "damage",
    [truncated, Path.unlink, of_others, without_a_column, with_a_null, with_words_for_numbers,
     with_an_emotion_that_there_is_not, with_a_strange_version, of_an_old_version_with_no_json],
    ids=lambda damage: damage.__name__,
)  # fmt: skip
def test_a_damaged_file_is_named_with_the_rule_it_breaks(damage: Any, tmp_path: Path) -> None:
    path = conversations.write(tmp_path, 1, [TurnRecord(0, 0, 0, "user", "Hello.")])
    damage(path)
    with pytest.raises(DataError, match=r"step-00001\.parquet: must (be|have) ") as caught:
        saved_conversations.read_file(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_none(value: float, tmp_path: Path) -> None:
    turn = TurnRecord(
        0, 0, 1, "user", "Hello.", entropy_nats=value, reported_emotion=value, reward=value,
        why=[{"part": "worth", "effect": value}, {"part": "mood", "effect": 0.5}],
        rise_probability=value,
    )  # fmt: skip
    path = conversations.write(tmp_path, 1, [turn])
    (read,) = saved_conversations.read_file(path).conversations
    (said,) = read.turns
    assert (read.reward, said.entropy_nats, said.reported_emotion) == (None, None, None)
    assert said.why == SavedReasons(effects={"mood": 0.5}, unit=None)


def test_reading_needs_no_pandas(tmp_path: Path) -> None:
    """It takes longer to import than all else that `harness view` does."""
    conversations.write(tmp_path / "conversations", 1, [TurnRecord(0, 0, 0, "user", "Hello.")])
    code = (
        "import sys; from pathlib import Path; from harness.records import saved_conversations as s"
        "; print(s.read(Path(sys.argv[1]), 1).conversations[0].turns[0].text, 'pandas' in sys."
        "modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True
    )
    assert done.stdout == "Hello. False\n"


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc")
def test_no_thread_is_started_to_read_a_file(tmp_path: Path) -> None:
    """A process that ends while Arrow starts one is aborted, and ends 134 for all that it said."""
    conversations.write(tmp_path / "conversations", 1, [TurnRecord(0, 0, 0, "user", "Hello.")])
    code = (
        "import os, sys; from pathlib import Path; import pyarrow.parquet"
        "; from harness.records import run_folder, saved_conversations, soundness"
        "; run, threads = Path(sys.argv[1]), lambda: len(os.listdir('/proc/self/task'))"
        "; before = threads()"
        "; print(next(soundness.check_conversations(run_folder.RunFolder(run))).message)"
        "; print(saved_conversations.read(run, 1).step, threads() - before)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True
    )
    assert done.stdout == "1 files\n1 0\n"


def test_steps_are_those_of_the_files_in_order(tmp_path: Path) -> None:
    assert saved_conversations.steps(tmp_path) == ()
    for step in (100, 25, 1):
        conversations.write(tmp_path / "conversations", step, [])
    for name in ("step-mine.parquet", "step-00001.parquet.tmp", "step-2.parquet"):
        (tmp_path / "conversations" / name).write_text("not of a run")
    assert saved_conversations.steps(tmp_path) == (1, 25, 100)


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
