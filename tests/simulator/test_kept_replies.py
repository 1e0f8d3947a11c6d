"""Judgements are kept between runs as they were made, and a cache that cannot be used is none."""

from pathlib import Path

import pytest

from harness.records import atomic, cache_entry
from harness.simulator.scripted import judgements, language_guard
from harness.simulator.scripted.judgements import Judgement, fault_in, judged
from harness.simulator.scripted.language_guard import Fault
from harness.simulator.scripted.polarity import Polarity, polarity_of
from harness.simulator.scripted.recognition import dismisses, strategy_of

SENTENCES = (
    "It must be painful that you failed the exam twice.",
    "You could talk to someone you trust.",
    "You are pathetic and I will make you pay for it.",
    "Just get over it already.",
    "I am so sorry for what I said.",
    "Exam the you twice of failing because.",
    "Hmm.",
    "Caf\u00e9s do not help, do they?",
)
Found = list[tuple[Judgement, Fault | None]]


def found() -> Found:
    judged.cache_clear()
    return [(judged(sentence), fault_in(sentence)) for sentence in SENTENCES]


def entries(cache: Path) -> list[Path]:
    return sorted(path for path in cache.glob("sentences-*") if path.is_dir())


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a process that has kept nothing."""
    monkeypatch.setenv("HARNESS_CACHE", str(tmp_path))
    monkeypatch.setattr(judgements, "_KEPT", judgements._Kept())
    return tmp_path


def later_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judgements, "_KEPT", judgements._Kept())


def test_what_is_found_is_what_the_readers_find(cache: Path) -> None:
    for sentence, (judgement, fault) in zip(SENTENCES, found(), strict=True):
        assert judgement.polarity == polarity_of(sentence)
        assert judgement.strategy == strategy_of(sentence)
        assert judgement.dismisses == dismisses(sentence)
        assert fault == language_guard.fault_in(sentence)
    assert [j.severe for j, _ in found()].count(True) == 1
    assert [j.apologises for j, _ in found()].index(True) == 4
    assert not entries(cache)


def test_a_later_process_reads_what_an_earlier_one_found(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with judgements.kept(fewest_new=1):
        before = found()
    later_process(monkeypatch)
    with judgements.kept(fewest_new=1):
        ascii_ones = [sentence for sentence in SENTENCES if sentence.isascii()]
        assert sorted(judgements._KEPT.rows) == sorted(ascii_ones)
        assert found() == before
        assert not judgements._KEPT.judged.keys() & set(ascii_ones)


def test_two_processes_add_to_one_entry(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for sentence in SENTENCES[:2]:
        later_process(monkeypatch)
        with judgements.kept(fewest_new=1):
            judged.cache_clear()
            judged(sentence)
            fault_in(sentence)
    (entry,) = entries(cache)
    rows = (entry / judgements.ROWS).read_text().splitlines()
    assert [row.split("\t")[0] for row in rows] == list(SENTENCES[:2])


def test_an_entry_that_was_changed_is_not_read(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with judgements.kept(fewest_new=1):
        before = found()
    path = entries(cache)[0] / judgements.ROWS
    path.write_text(path.read_text().replace("\t0.", "\t1."))
    later_process(monkeypatch)
    with judgements.kept(fewest_new=1):
        assert not judgements._KEPT.rows
        assert found() == before


@pytest.mark.parametrize("content", [b"\xff\xfe", b"It hurts.\tx\ty\n", b"\n\n\t\t\t\t\t\t\t\n"])
def test_an_entry_that_is_sealed_and_no_rows_is_written_anew(
    cache: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    before = found()
    entry = judgements._entry()
    cache_entry.put(entry, lambda scratch: atomic.write_bytes(scratch / judgements.ROWS, content))
    for expected in (0, sum(sentence.isascii() for sentence in SENTENCES)):
        later_process(monkeypatch)
        with judgements.kept(fewest_new=1):
            assert len(judgements._KEPT.rows) == expected
            assert found() == before


def test_every_row_that_is_written_is_read(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A probability may be as small as 1e-300, or 1.0."""
    polarity = Polarity(1.0, 1.5e-300, 3e-07)
    judgement = Judgement(polarity, "suggest", True, True, True)
    row = f"{judgements._cells(judgement)}\trule\tsome words"
    assert judgements._ROW.fullmatch(row)
    assert judgements._judgement(row.split("\t")) == judgement


def test_few_new_sentences_are_not_worth_a_file(cache: Path) -> None:
    with judgements.kept():
        found()
    assert not entries(cache)


def test_a_cache_that_cannot_be_written_costs_nothing(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cache / "file").touch()
    monkeypatch.setenv("HARNESS_CACHE", str(cache / "file"))
    before = found()
    with judgements.kept(fewest_new=1):
        assert found() == before
