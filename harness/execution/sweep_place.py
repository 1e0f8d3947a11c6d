"""Folder, name and note of a sweep: --dir, --name and --note.

A name is a folder below runs/, and therefore unique. As with `harness train --dir`, a folder that
holds a run or foreign files is refused. Without a name or a folder, the sweep gets a new folder.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from harness.errors import ConfigError, FolderError, StoppedError
from harness.records import holder_file, plain_file, run_lock, sweep_file
from harness.records.run_folder import RunFolder

RUNS = Path("runs")
LONGEST_NOTE = 300
OF_RESULTS = ("law", "calibration", "study", "demo")
"""Folders below runs/ that other commands write to."""


def runs_folder() -> Path:
    """Return runs/ of the current folder, which may not exist yet.

    Raises FolderError if it is a link.
    """
    if RUNS.is_symlink():
        rule = "must be a folder, since runs are not written through a link"
        advice = "run harness in another folder, or replace the link by a folder"
        raise FolderError(f"{RUNS}: {rule}; got one to {RUNS.readlink()}: {advice}")
    return RUNS


def choose_folder(name: str | None, note: str | None, folder: Path | None) -> Path | None:
    """Return the folder of the sweep, or None for a new one below runs/. Creates nothing.

    Raises ConfigError for an invalid name, note or folder, StoppedError if a live process holds the
    folder, FolderError if runs/ is a link.
    """
    if note is not None and not (len(note) <= LONGEST_NOTE and note.isprintable()):
        rule = f"must be one line of at most {LONGEST_NOTE} printable characters"
        raise ConfigError(f"--note: {rule}, got {note[:60]!r}")
    if name is not None and not sweep_file.RUN_NAME.fullmatch(name):
        rule = "must be at most 96 letters, digits, '.', '_' or '-', and begin with one of the two"
        raise ConfigError(f"--name: {rule} first, got {name[:100]!r}")
    if folder is None and name is None:
        return None
    if folder is None and name in OF_RESULTS:
        raise ConfigError(f"--name: {name} is the folder of another command; choose another name")
    root = folder.resolve() if folder else runs_folder().resolve() / str(name)
    refuse_taken(root)
    return root


def refuse_taken(root: Path) -> None:
    """Raise what `choose_folder` raises for a folder that already holds something."""
    plain_file.refuse_link(root)
    if not root.exists():
        return
    if not root.is_dir():
        raise ConfigError(f"{root}: a sweep needs an existing or new folder")
    process_id = holder_file.other_writer(root, RunFolder(root).metrics)
    if process_id is not None:
        raise StoppedError(f"{root}: held by process {process_id}")
    if (root / sweep_file.FILE).is_file():
        command = f"harness resume {shlex.quote(str(root))}"
        advice = f"continue it with `{command}`, or choose another name or folder"
        raise ConfigError(f"{root}: already holds a sweep; {advice}")
    if RunFolder(root).is_run():
        raise ConfigError(f"{root}: already holds a run; choose another name or folder")
    names = sorted(path.name for path in root.iterdir())
    foreign = [name for name in names if name not in (run_lock.NAME, holder_file.NAME)]
    if foreign:
        rule = f"a sweep needs an empty folder, found {foreign[0]!r}"
        raise ConfigError(f"{root}: {rule}; choose another name or folder")
