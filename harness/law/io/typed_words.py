"""Find the overrides that made a run, and write the command that repeats it with changes."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from harness.errors import DataError
from harness.records import study_file, sweep_file

Typed = Callable[[str], Sequence[str] | None]
"""Function from a run to the overrides of the command that made it; None if they are unknown."""


def sweep_overrides(run: str) -> Sequence[str] | None:
    """Return the overrides of a run's sweep from sweep.json; None if they are unknown.

    A sweep that no single command made, such as that of a study, has overrides for each run.
    """
    folder = Path(run).absolute()  # `.` has neither name nor parent
    try:
        sweep = sweep_file.read(folder.parent)
    except DataError:
        return None
    row = next((row for row in sweep.runs if row.name == folder.name), None)
    if row is None:
        return None
    is_study = (folder.parent / study_file.FILE).is_file()  # its command names the launcher alone
    words = row.overrides if is_study else sweep.command or row.overrides
    return words if words and all(word.isprintable() for word in words) else None


def command(typed: Sequence[str], changed: Iterable[str]) -> str:
    """Return the shell command `harness sweep` with the `typed` overrides, updated by `changed`."""
    changed = list(changed)
    keys = {key_of(word) for word in changed}
    kept = [word for word in typed if key_of(word) not in keys]
    return shlex.join(["harness", "sweep", *kept, *changed])


def key_of(word: str) -> str:
    """Return the key of an override: `+trainer.steps=5` -> `trainer.steps`."""
    return word.partition("=")[0].lstrip("+~")
