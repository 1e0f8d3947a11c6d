"""Rows of replies that were read, kept from one run to the next.

To read a new reply takes half a millisecond, and a policy that fills a grammar with the users' own
facts says the same in every run. So a run that keeps them writes what it has read into the user's
cache, and the next one reads it there. An entry's name is a hash of every file that a reading
follows from; a reading made of a row is, bit for bit, the one that would be made, and a cache that
cannot be used costs time alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from filelock import FileLock

from harness.config.run import STRATEGIES
from harness.errors import DataError, HarnessError
from harness.records import atomic, cache_entry, plain_file, user_folders

MOST, FEWEST_NEW = 100_000, 500
"""Replies in an entry, of 400 bytes or so, and new ones for which it is written again."""
LONGEST_WAIT_S = 1.0
"""For another run that writes the entry; what is not written is read again one day."""
ROWS = "replies.tsv"


class _Kept:
    """Rows of the cache by reply, and those of this process beside them."""

    def __init__(self) -> None:
        self.rows: dict[str, str] = {}
        self.new: dict[str, str] = {}
        self.keeps = False


_KEPT = _Kept()


def row(reply: str) -> str | None:
    """Return the row of a reply that another run has read; None of a new one."""
    return _KEPT.rows.get(reply)


def add(rows: Iterable[tuple[str, str]]) -> None:
    """Remember rows of replies, if they are to be kept: printable ASCII on one line each."""
    if _KEPT.keeps and len(_KEPT.new) < MOST:
        _KEPT.new.update(
            (reply, row) for reply, row in rows if reply.isascii() and reply.isprintable()
        )


@contextlib.contextmanager
def kept(fewest_new: int = FEWEST_NEW) -> Iterator[None]:
    """A context in which replies that an earlier run has read are not read again, and new ones are
    kept for later runs, if there are `fewest_new`.
    """
    with contextlib.suppress(HarnessError, OSError):
        _KEPT.rows.update(_read(_entry()))
    _KEPT.keeps = True
    try:
        yield
    finally:
        _KEPT.keeps = False
        with contextlib.suppress(HarnessError, OSError):
            _write(_KEPT.new, fewest_new)
        _KEPT.new = {}


def _read(entry: Path) -> dict[str, str]:
    """Return the rows of an entry by reply; none of one that is not there or not sound."""
    if not cache_entry.is_sound(entry, (ROWS,)):
        return {}
    try:
        lines = plain_file.text(entry / ROWS).splitlines()
    except DataError:  # sealed by us, and yet no text: to be written anew
        return {}
    return dict([line.split("\t", 1) for line in lines if "\t" in line])


def _write(new: dict[str, str], fewest: int) -> None:
    """Add rows to the entry. Raises a HarnessError or OSError where it cannot be written."""
    if len(new) < fewest:
        return
    entry = _entry()
    entry.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(entry.with_suffix(".lock"), timeout=LONGEST_WAIT_S):
        rows = _read(entry) | new
        text = "".join([f"{reply}\t{row}\n" for reply, row in list(rows.items())[-MOST:]])
        cache_entry.put(entry, lambda scratch: atomic.write_text(scratch / ROWS, text))


def _entry() -> Path:
    return user_folders.cache() / f"replies-{_key()}"


@cache
def _key() -> str:
    """Return 16 hex digits of the code and tables that a reading follows from."""
    digest = hashlib.sha256(repr((sys.version, STRATEGIES)).encode())
    here = Path(__file__).parent
    for path in sorted([*here.parent.glob("*.py"), *here.glob("*.py"), *here.glob("*.tsv")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
