"""The rm command: remove runs and sweeps that no process works on, after asking."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.cli.list import status_of
from harness.errors import ConfigError, DataError
from harness.records import overview, removal
from harness.records.overview import OverviewEntry
from harness.records.removal import Removable
from harness.utils import safe_text, terminal


def rm(paths: Sequence[Path], *, yes: bool) -> None:
    """Remove all of the folders, or none if one of them may not be removed.

    Raises what `removal.check` raises; ConfigError if there is no terminal to ask on, or if a
    sweep's folder holds other runs that were not named; DataError if another process removed a
    folder first.
    """
    begun = list(dict.fromkeys(trash for path in paths for trash in _begun_removals(path)))
    found = {one.path: one for one in map(removal.check, filter(_is_whole, paths))}
    inside = [p for p in found if any(parent in found for parent in p.parents)]
    wanted = [one for path, one in found.items() if path not in inside]
    unnamed = {one: _unnamed_runs(one, inside) for one in wanted}
    if yes:
        _refuse_unnamed(unnamed)
    elif not _confirm(wanted, begun, unnamed):
        print("nothing was removed")
        return
    _remove(wanted, begun)


def _unnamed_runs(one: Removable, named: Sequence[Path]) -> list[str]:
    """Return the runs in a sweep's folder that are not its own and were not named."""
    return [name for name in one.others if one.path / name not in named]


def _refuse_unnamed(unnamed: Mapping[Removable, Sequence[str]]) -> None:
    for one, names in unnamed.items():
        if names:
            rule = f"also has {', '.join(names)}, not part of this sweep"
            words = [str(one.path), *(str(one.path / name) for name in names)]
            command = f"harness rm {shlex.join(words)} --yes"
            advice = f"move them, or name them too: `{command}`"
            raise ConfigError(f"{one.path}: {rule}; nothing was removed; {advice}")


def _confirm(
    wanted: Sequence[Removable], begun: Sequence[Path], unnamed: Mapping[Removable, Sequence[str]]
) -> bool:
    """Show what would be removed and ask; ask for each run of another sweep by its name."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        rule = "must be given if there is no terminal to confirm on, as in a script"
        raise ConfigError(f"--yes: {rule}; nothing was removed")
    for one in wanted:
        print(_line(_describe(one)))
        for name in one.others:
            run = overview.of_run(one.path / name)
            print(_line(f"  {name}: not of this sweep; {_describe_run(run)}, {status_of(run)}"))
    for trash in begun:
        print(_line(f"{trash}: its removal is incomplete"))
    size = terminal.format_size(sum(one.size_bytes for one in wanted))
    count = len(wanted) + len(begun)
    which = "this folder" if count == 1 else f"these {count} folders"
    return _is_yes(f"Remove {which}, {size}, permanently?") and all(
        _is_yes(f"Remove {name} too, which is not of the sweep in {one.path}?")
        for one, names in unnamed.items()
        for name in names
    )


def _remove(wanted: Sequence[Removable], begun: Sequence[Path]) -> None:
    """Raises DataError at the end for what another process removed or removes."""
    gone: list[removal.GoneError] = []
    for trash in begun:
        try:
            removal.finish(trash)
            print(_line(f"finished the removal of {trash}"))
        except removal.GoneError as error:
            gone.append(error)
    for one in wanted:
        try:
            removal.remove(one)
        except removal.GoneError as error:
            gone.append(error)
            continue
        size = terminal.format_size(one.size_bytes)
        print(_line(f"removed {one.path}: {size} freed"), flush=True)
    for earlier in gone[:-1]:
        safe_text.say(str(earlier))
    if gone:
        raise gone[-1]


def _is_whole(path: Path) -> bool:
    """Return False for a leftover of a removal, or a folder of which only a leftover remains."""
    rests = [rest.name for rest in _begun_removals(path)]
    return not rests or (path.name not in rests and os.path.lexists(path))


def _begun_removals(path: Path) -> list[Path]:
    """Return the leftovers of earlier removals of `path`, or `path` if it is one itself."""
    rests = removal.leftovers(path.parent.resolve())
    return [rest for rest in rests if path.name in (rest.name, removal.original_name(rest))]


def _describe(one: Removable) -> str:
    entry = overview.of_sweep(one.path) if one.is_sweep else overview.of_run(one.path)
    kind = entry.kind if one.is_sweep else _describe_run(entry)
    note = f", {entry.note}" if entry.note else ""
    return f"{one.path}: {kind}, {status_of(entry)}, {terminal.format_size(one.size_bytes)}{note}"


def _describe_run(run: OverviewEntry) -> str:
    return f"run, step {run.step}/{run.steps or '?'}"


def _line(text: str) -> str:
    return terminal.wrap(safe_text.escape(text), terminal.width(sys.stdout), "  ")


def _is_yes(question: str) -> bool:
    print(f"{_line(question)} [y/N] ", end="", flush=True)
    try:
        return sys.stdin.readline().strip().lower() in ("y", "yes")
    except (EOFError, UnicodeDecodeError) as error:
        raise DataError(f"the answer cannot be read: {error}") from error
