"""Replies are kept between runs as they were read, and a cache that cannot be used is none."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.records import atomic, cache_entry
from harness.simulator.scripted import kept_replies, reading
from harness.simulator.scripted.reading import read, read_all
from harness.simulator.scripted.replies import ReplyReading, of_row, row_of
from harness.simulator.scripted.sentence_reader import LEXICAL
from harness.utils.remembered import ValueCache

REPLIES = (
    "It must be painful that you failed the exam twice.",
    "You could talk to someone you trust. Have you told anyone?",
    "You are pathetic and I will make you pay for it.",
    "Just get over it already.",
    "I am so sorry for what I said. Do you feel ashamed or angry, or are you safe?",
    "Exam the you twice of failing because.",
    "Hmm.",
    "",
    "Caf\u00e9s do not help, do they?",
)
PLAIN = [reply for reply in REPLIES if reply.isascii()]


def later_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_replies, "_CACHED", kept_replies._CachedRows())
    monkeypatch.setattr(reading, "_cache", lambda reader: ValueCache[str, ReplyReading]())


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a process that has read nothing."""
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path))
    later_process(monkeypatch)
    return tmp_path


def entries(cache: Path) -> list[Path]:
    return sorted(path for path in cache.glob("replies-*") if path.is_dir())


def anew() -> list[ReplyReading]:
    return list(reading._read(REPLIES, LEXICAL))


@given(st.lists(st.sampled_from(REPLIES) | st.text(max_size=60)).map(" ".join))
def test_a_row_gives_the_reading_that_it_is_of(text: str) -> None:
    made = read(text)
    told = of_row(row_of(made))
    assert told is not None
    assert reading._combine(*told) == made


@pytest.mark.parametrize("row", ["", "x\ty", "[]", "[[[1]],[],[],1]", '{"a":1}', "[[],[[1]],[],0]"])
def test_what_is_no_row_gives_no_reading(row: str) -> None:
    assert of_row(row) is None


def test_a_later_process_reads_what_an_earlier_one_has_read(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with kept_replies.reading_cache(fewest_new=1):
        assert read_all(REPLIES) == anew()
    later_process(monkeypatch)
    with kept_replies.reading_cache(fewest_new=1):
        assert [reply for reply in REPLIES if kept_replies.row(reply) is not None] == PLAIN
        assert read_all(REPLIES) == anew()
        assert not kept_replies._CACHED.new


def test_two_processes_add_to_one_entry(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for reply in REPLIES[:2]:
        later_process(monkeypatch)
        with kept_replies.reading_cache(fewest_new=1):
            read(reply)
    (entry,) = entries(cache)
    rows = (entry / kept_replies.ROWS).read_text().splitlines()
    assert [row.split("\t")[0] for row in rows] == list(REPLIES[:2])


def test_an_entry_that_was_changed_is_not_read(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with kept_replies.reading_cache(fewest_new=1):
        read_all(REPLIES)
    path = entries(cache)[0] / kept_replies.ROWS
    path.write_text(path.read_text().replace("0.", "1."))
    later_process(monkeypatch)
    with kept_replies.reading_cache(fewest_new=1):
        assert not kept_replies._CACHED.rows
        assert read_all(REPLIES) == anew()


@pytest.mark.parametrize("content", [b"\xff\xfe", b"Hmm.\tx\ty\n", b"\n\n\t\t\t\t\t\t\t\n"])
def test_an_entry_that_is_sealed_and_no_rows_is_written_anew(
    cache: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    name = kept_replies.ROWS
    cache_entry.put(kept_replies._entry(), lambda there: atomic.write_bytes(there / name, content))
    for _ in range(2):
        later_process(monkeypatch)
        with kept_replies.reading_cache(fewest_new=1):
            assert read_all(REPLIES) == anew()
    later_process(monkeypatch)
    with kept_replies.reading_cache(fewest_new=1):
        read_all(REPLIES)
        assert not kept_replies._CACHED.new


def test_few_new_replies_are_not_worth_a_file(cache: Path) -> None:
    with kept_replies.reading_cache():
        read_all(REPLIES)
    assert not entries(cache)


def test_a_cache_that_cannot_be_written_costs_nothing(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cache / "file").touch()
    monkeypatch.setenv("HARNESS_CACHE", str(cache / "file"))
    with kept_replies.reading_cache(fewest_new=1):
        assert read_all(REPLIES) == anew()
