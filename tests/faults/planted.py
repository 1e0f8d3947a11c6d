"""Links planted where our files go, each to a victim that must stay as it is."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from harness.records.run_folder import RunFolder
from tests.faults.limited import quick
from tests.train.made import make_run

NEAR = 200
"""How many process and thread numbers from ours on get a link each."""
VICTIM = "years of work"
Seen = Callable[[str, object], None]


def numbers() -> Sequence[int]:
    """Ours, and those that the next threads and processes get."""
    first = min(os.getpid(), threading.get_native_id())
    return range(first, first + NEAR)


@contextmanager
def planted(names: Sequence[str], where: Path, outside: Path) -> Iterator[None]:
    """Links to one victim each, at the final names and at each old temporary name of theirs; in
    the end every victim is what it was.
    """
    outside.mkdir()
    where.mkdir(parents=True, exist_ok=True)
    for name in names:
        at = [name, f".{name}.tmp", f"{Path(name).stem}.tmp"]
        for place in dict.fromkeys([*at, *(f".{name}.{number}.tmp" for number in numbers())]):
            victim = outside / f"of{place}"
            victim.write_text(VICTIM)
            (where / place).unlink(missing_ok=True)
            (where / place).symlink_to(victim)
    yield
    assert {path.read_text() for path in outside.iterdir()} == {VICTIM}


def own(path: Path) -> bool:
    """Whether it is a regular file with one name, not a link."""
    found = path.lstat()
    return stat.S_ISREG(found.st_mode) and found.st_nlink == 1


def names(where: Path) -> list[str]:
    return [path.name for path in where.iterdir()]


def of_a_run(run: RunFolder) -> RunFolder:
    make_run(run.path, quick())
    return run
