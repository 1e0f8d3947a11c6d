"""A cache on disk of the readings of replies, shared between runs.

Reading a new reply takes half a millisecond, and a policy that fills a grammar with the users' own
facts says the same replies in every run. The cache is in the user's cache folder. An entry's name
is a hash of every file that a reading depends on, and a cached reading is bit for bit the same as a
new one. A cache that cannot be used only costs time.
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
"""Most replies in an entry, about 400 bytes each, and the fewest new replies that are written."""
LONGEST_WAIT_S = 1.0
"""Longest wait for another run that writes the entry; after it, new rows are not saved."""
ROWS = "replies.tsv"


class _CachedRows:
    """Rows by reply: those of the cache, and the new ones of this process."""

    def __init__(self) -> None:
        self.rows: dict[str, str] = {}
        self.new: dict[str, str] = {}
        self.keeps = False


_CACHED = _CachedRows()


def row(reply: str) -> str | None:
    """Return the cached row of a reply; None for a new reply."""
    return _CACHED.rows.get(reply)


def add(rows: Iterable[tuple[str, str]]) -> None:
    """Add rows to save, inside `reading_cache`.

    Skips replies that are not one line of printable ASCII.
    """
    if _CACHED.keeps and len(_CACHED.new) < MOST:
        _CACHED.new.update(
            (reply, row) for reply, row in rows if reply.isascii() and reply.isprintable()
        )


@contextlib.contextmanager
def reading_cache(fewest_new: int = FEWEST_NEW) -> Iterator[None]:
    """Return a context that uses the cache, and saves new rows if at least `fewest_new`."""
    with contextlib.suppress(HarnessError, OSError):
        _CACHED.rows.update(_read(_entry()))
    _CACHED.keeps = True
    try:
        yield
    finally:
        _CACHED.keeps = False
        with contextlib.suppress(HarnessError, OSError):
            _write(_CACHED.new, fewest_new)
        _CACHED.new = {}


def _read(entry: Path) -> dict[str, str]:
    """Return the rows of an entry by reply; empty for a missing or damaged entry."""
    if not cache_entry.is_sound(entry, (ROWS,)):
        return {}
    try:
        lines = plain_file.text(entry / ROWS).splitlines()
    except DataError:  # sealed, yet not text: treat it as missing, so that it is rewritten
        return {}
    return dict([line.split("\t", 1) for line in lines if "\t" in line])


def _write(new: dict[str, str], fewest: int) -> None:
    """Add rows to the entry. Raises HarnessError or OSError if it cannot be written."""
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
    """Return 16 hex digits of a hash of the code and tables that a reading depends on."""
    digest = hashlib.sha256(repr((sys.version, STRATEGIES)).encode())
    folder = Path(__file__).parent
    for path in sorted([*folder.parent.glob("*.py"), *folder.glob("*.py"), *folder.glob("*.tsv")]):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]
