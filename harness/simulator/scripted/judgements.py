"""What the readers of wordings find in a sentence, kept from one run to the next.

To read a new sentence takes most of a millisecond, and a policy that fills a grammar with the
users' own facts says the same sentences in every run. So a run that keeps them writes what it has
found into the user's cache, and the next one reads it there. An entry's name is a hash of every
file that a judgement follows from; a judgement read there is, bit for bit, the one that would be
made, and a cache that cannot be used costs time alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from pathlib import Path

from filelock import FileLock

from harness.config.run import STRATEGIES
from harness.errors import DataError, HarnessError
from harness.records import atomic, cache_entry, plain_file, user_folders
from harness.simulator.scripted import language_guard
from harness.simulator.scripted.language_guard import Fault
from harness.simulator.scripted.polarity import APOLOGY, SEVERE, Polarity, polarity_of
from harness.simulator.scripted.recognition import dismisses, strategy_of
from harness.simulator.scripted.sentence_features import wording_of
from harness.utils.record import record

MOST, FEWEST_NEW = 150_000, 2_000
"""Sentences in an entry, of 150 bytes or so, and new ones for which it is written again."""
LONGEST_WAIT_S = 1.0
"""For another run that writes the entry; what is not written is read again one day."""
ROWS = "sentences.tsv"
_DISMISSES, _SEVERE, _APOLOGISES = "d", "s", "a"
_NUMBER = r"\d(?:\.\d+)?(?:e-\d+)?"
_ROW = re.compile(rf"(?:{_NUMBER}\t){{3}}[a-z]*\t[dsa]*\t[^\t]*\t[^\t]*")
"""Three probabilities, a strategy, flags, and the rule and the words of a fault."""


@record
class Judgement:
    """What is found in a sentence by its wording."""

    polarity: Polarity
    strategy: str | None
    dismisses: bool
    """It belittles or leaves the subject."""
    severe: bool
    """It threatens, scorns or encourages self-harm."""
    apologises: bool


class _Kept:
    """Rows of the cache by sentence, and what this process has found beside them."""

    def __init__(self) -> None:
        self.rows: dict[str, str] = {}
        self.keeps = False
        self.judged: dict[str, str] = {}
        self.faults: dict[str, str] = {}

    def add(self, table: dict[str, str], sentence: str, cells: Callable[[], str]) -> None:
        """Remember what was found in a sentence, if it is to be kept and fits into a row."""
        fits = self.keeps and sentence.isascii() and sentence.isprintable()
        if fits and len(table) < MOST:
            table[sentence] = cells()

    def new_rows(self) -> dict[str, str]:
        """Return the rows of what was found here."""
        both = self.judged.keys() & self.faults.keys()
        return {sentence: f"{self.judged[sentence]}\t{self.faults[sentence]}" for sentence in both}

    def forget_new(self) -> None:
        """Forget what was found here, once it has been written."""
        self.judged.clear()
        self.faults.clear()


_KEPT = _Kept()


@lru_cache(maxsize=16384)
def judged(sentence: str) -> Judgement:
    """Return what is found in a sentence."""
    row = _KEPT.rows.get(sentence)
    if row is not None:
        return _judgement(row.split("\t"))
    kinds = wording_of(sentence).phrase_kinds
    judgement = Judgement(
        polarity_of(sentence),
        strategy_of(sentence),
        dismisses(sentence),
        not kinds.isdisjoint(SEVERE),
        APOLOGY in kinds,
    )
    _KEPT.add(_KEPT.judged, sentence, lambda: _cells(judgement))
    return judgement


def fault_in(sentence: str) -> Fault | None:
    """Return why a sentence of a reply is not language; None if it is."""
    row = _KEPT.rows.get(sentence)
    if row is not None:
        rule, what = row.split("\t")[-2:]
        return Fault(rule, what) if rule else None
    fault = language_guard.fault_in(sentence)
    _KEPT.add(_KEPT.faults, sentence, lambda: f"{fault.rule}\t{fault.sentence}" if fault else "\t")
    return fault


@contextlib.contextmanager
def kept(fewest_new: int = FEWEST_NEW) -> Iterator[None]:
    """A context in which sentences that an earlier run has read are not read again, and new ones
    are kept for later runs, if there are `fewest_new`.
    """
    with contextlib.suppress(HarnessError, OSError):
        _KEPT.rows.update(_read(_entry()))
    _KEPT.keeps = True
    try:
        yield
    finally:
        _KEPT.keeps = False
        with contextlib.suppress(HarnessError, OSError):
            _write(_KEPT.new_rows(), fewest_new)
        _KEPT.forget_new()


def _read(entry: Path) -> dict[str, str]:
    """Return the rows of an entry by sentence; none of one that is not there or not sound."""
    if not cache_entry.is_sound(entry, (ROWS,)):
        return {}
    try:
        lines = plain_file.text(entry / ROWS).splitlines()
    except DataError:  # sealed by us, and yet no text: to be written anew
        return {}
    rows = (line.partition("\t") for line in lines)
    return {sentence: row for sentence, _, row in rows if _ROW.fullmatch(row)}


def _write(new: dict[str, str], fewest: int) -> None:
    """Add rows to the entry. Raises a HarnessError or OSError where it cannot be written."""
    if len(new) < fewest:
        return
    entry = _entry()
    entry.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(entry.with_suffix(".lock"), timeout=LONGEST_WAIT_S):
        rows = _read(entry) | new
        text = "".join([f"{sentence}\t{row}\n" for sentence, row in list(rows.items())[-MOST:]])
        cache_entry.put(entry, lambda scratch: atomic.write_text(scratch / ROWS, text))


def _entry() -> Path:
    return user_folders.cache() / f"sentences-{_key()}"


@cache
def _key() -> str:
    """Return 16 hex digits of the code and tables that a judgement follows from."""
    digest = hashlib.sha256(repr((sys.version, STRATEGIES)).encode())
    here = Path(__file__).parent
    for path in sorted([*here.parent.glob("*.py"), *here.glob("*.py"), *here.glob("*.tsv")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _cells(judgement: Judgement) -> str:
    """Return a judgement as cells of a row; a number as Python writes it is read as the same."""
    polarity = judgement.polarity
    numbers = (polarity.caring, polarity.neutral, polarity.hurtful)
    flags = {
        _DISMISSES: judgement.dismisses,
        _SEVERE: judgement.severe,
        _APOLOGISES: judgement.apologises,
    }
    told = "".join([flag for flag, is_set in flags.items() if is_set])
    return "\t".join([*map(repr, numbers), judgement.strategy or "", told])


def _judgement(cells: list[str]) -> Judgement:
    caring, neutral, hurtful, strategy, flags, *_ = cells
    return Judgement(
        Polarity(float(caring), float(neutral), float(hurtful)),
        strategy or None,
        _DISMISSES in flags,
        _SEVERE in flags,
        _APOLOGISES in flags,
    )
