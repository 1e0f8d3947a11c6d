"""The rm command: remove runs and sweeps that nobody works on, after asking."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from harness.cli.list import status_of
from harness.errors import ConfigError, DataError
from harness.records import overview, removal
from harness.records.removal import Removable
from harness.utils import safe_text, terminal


def rm(paths: Sequence[Path], *, yes: bool) -> None:
    """Remove the folders, all of them or, where one may not be removed, none.

    Raises what `removal.check` raises, and ConfigError where nobody can be asked.
    """
    begun = list(dict.fromkeys(trash for path in paths for trash in _begun(path)))
    found = {one.path: one for one in map(removal.check, filter(_is_whole, paths))}
    inside = [p for p in found if any(parent in found for parent in p.parents)]
    wanted = [one for path, one in found.items() if path not in inside]
    if not yes:
        if not (sys.stdin.isatty() and sys.stdout.isatty()):
            rule = "must be given where nobody can be asked, as in a script"
            raise ConfigError(f"--yes: {rule}; nothing was removed")
        for one in wanted:
            print(_line(_described(one)))
        for trash in begun:
            print(_line(f"{trash}: its removal was begun"))
        if not _is_meant(len(wanted) + len(begun), sum(one.size_bytes for one in wanted)):
            print("nothing was removed")
            return
    for trash in begun:
        removal.finish(trash)
        print(_line(f"finished the removal of {trash}"))
    for one in wanted:
        removal.remove(one)
        print(_line(f"removed {one.path}: {terminal.size_shown(one.size_bytes)} freed"), flush=True)


def _is_whole(path: Path) -> bool:
    """False for the rest of a removal, and for what is gone but for one."""
    rests = [rest.name for rest in _begun(path)]
    return not rests or (path.name not in rests and os.path.lexists(path))


def _begun(path: Path) -> list[Path]:
    """What is left of earlier removals of `path`, or `path` where it is such a rest itself."""
    rests = removal.leftovers(path.parent.resolve())
    return [rest for rest in rests if path.name in (rest.name, removal.named(rest))]


def _described(one: Removable) -> str:
    entry = overview.of_sweep(one.path) if one.is_sweep else overview.of_run(one.path)
    kind = entry.kind if one.is_sweep else f"run, step {entry.step}/{entry.steps or '?'}"
    note = f", {entry.note}" if entry.note else ""
    return f"{one.path}: {kind}, {status_of(entry)}, {terminal.size_shown(one.size_bytes)}{note}"


def _line(text: str) -> str:
    return terminal.wrapped(safe_text.visible(text), terminal.width(sys.stdout), "  ")


def _is_meant(count: int, size: int) -> bool:
    which = "this folder" if count == 1 else f"these {count} folders"
    print(f"Remove {which}, {terminal.size_shown(size)}, for good? [y/N] ", end="", flush=True)
    try:
        return sys.stdin.readline().strip().lower() in ("y", "yes")
    except (EOFError, UnicodeDecodeError) as error:
        raise DataError(f"the answer cannot be read: {error}") from error
