"""The words that made a run, and the command that makes such runs again with other words."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from harness.errors import DataError
from harness.records import study_file, sweep_file

Typed = Callable[[str], Sequence[str] | None]
"""Run -> the words that made it and those beside it; None where nobody knows them."""


def of_sweep(run: str) -> Sequence[str] | None:
    """Return the words of the sweep that a run belongs to, as sweep.json has them.

    A sweep that no single command made, as a study's or the demo's, has words for each run.
    """
    folder = Path(run)
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
    """`harness sweep` with the `typed` words but for those of changed keys, as a shell takes it."""
    changed = list(changed)
    keys = {key_of(word) for word in changed}
    kept = [word for word in typed if key_of(word) not in keys]
    return shlex.join(["harness", "sweep", *kept, *changed])


def key_of(word: str) -> str:
    """`+trainer.steps=5` -> `trainer.steps`"""
    return word.partition("=")[0].lstrip("+~")
