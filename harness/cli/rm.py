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
    unfinished = list(
        dict.fromkeys(trash for path in paths for trash in _unfinished_removals(path))
    )
    removable = {item.path: item for item in map(removal.check, filter(_is_whole, paths))}
    inside = [p for p in removable if any(parent in removable for parent in p.parents)]
    chosen = [item for path, item in removable.items() if path not in inside]
    unnamed = {item: _unnamed_runs(item, inside) for item in chosen}
    if yes:
        _refuse_unnamed(unnamed)
    elif not _confirm(chosen, unfinished, unnamed):
        print("nothing was removed")
        return
    _remove(chosen, unfinished)


def _unnamed_runs(item: Removable, named: Sequence[Path]) -> list[str]:
    """Return the runs in a sweep's folder that are not its own and were not named."""
    return [name for name in item.others if item.path / name not in named]


def _refuse_unnamed(unnamed: Mapping[Removable, Sequence[str]]) -> None:
    for item, names in unnamed.items():
        if names:
            rule = f"also has {', '.join(names)}, not part of this sweep"
            words = [str(item.path), *(str(item.path / name) for name in names)]
            command = f"harness rm {shlex.join(words)} --yes"
            advice = f"move them, or name them too: `{command}`"
            raise ConfigError(f"{item.path}: {rule}; nothing was removed; {advice}")


def _confirm(
    chosen: Sequence[Removable],
    unfinished: Sequence[Path],
    unnamed: Mapping[Removable, Sequence[str]],
) -> bool:
    """Show what would be removed and ask; ask for each run of another sweep by its name."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        rule = "must be given if there is no terminal to confirm on, as in a script"
        raise ConfigError(f"--yes: {rule}; nothing was removed")
    for item in chosen:
        print(_line(_describe(item)))
        for name in item.others:
            run = overview.of_run(item.path / name)
            print(_line(f"  {name}: not of this sweep; {_describe_run(run)}, {status_of(run)}"))
    for trash in unfinished:
        print(_line(f"{trash}: its removal is incomplete"))
    size = terminal.format_size(sum(item.size_bytes for item in chosen))
    count = len(chosen) + len(unfinished)
    folders = "this folder" if count == 1 else f"these {count} folders"
    return _is_yes(f"Remove {folders}, {size}, permanently?") and all(
        _is_yes(f"Remove {name} too, which is not of the sweep in {item.path}?")
        for item, names in unnamed.items()
        for name in names
    )


def _remove(chosen: Sequence[Removable], unfinished: Sequence[Path]) -> None:
    """Raises DataError at the end for what another process removed or removes."""
    errors: list[removal.GoneError] = []
    for trash in unfinished:
        try:
            removal.finish(trash)
            print(_line(f"finished the removal of {trash}"))
        except removal.GoneError as error:
            errors.append(error)
    for item in chosen:
        try:
            removal.remove(item)
        except removal.GoneError as error:
            errors.append(error)
            continue
        size = terminal.format_size(item.size_bytes)
        print(_line(f"removed {item.path}: {size} freed"), flush=True)
    for earlier_error in errors[:-1]:
        safe_text.say(str(earlier_error))
    if errors:
        raise errors[-1]


def _is_whole(path: Path) -> bool:
    """Return False for a leftover of a removal, or a folder of which only a leftover remains."""
    leftovers = [leftover.name for leftover in _unfinished_removals(path)]
    return not leftovers or (path.name not in leftovers and os.path.lexists(path))


def _unfinished_removals(path: Path) -> list[Path]:
    """Return the leftovers of earlier removals of `path`, or `path` if it is one itself."""
    leftovers = removal.leftovers(path.parent.resolve())
    return [
        leftover
        for leftover in leftovers
        if path.name in (leftover.name, removal.original_name(leftover))
    ]


def _describe(item: Removable) -> str:
    entry = overview.of_sweep(item.path) if item.is_sweep else overview.of_run(item.path)
    kind = entry.kind if item.is_sweep else _describe_run(entry)
    note = f", {entry.note}" if entry.note else ""
    return f"{item.path}: {kind}, {status_of(entry)}, {terminal.format_size(item.size_bytes)}{note}"


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
