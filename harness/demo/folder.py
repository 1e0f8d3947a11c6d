"""The folder of the demo: a sweep with one run per construction."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from harness.compose.plan import Point
from harness.errors import ConfigError, FolderError
from harness.execution import difficulty_cards, ledger, sweep_place, user_validity
from harness.records import atomic, compatibility, holder, run_folder, sweep_file
from harness.records.run_folder import RunFolder
from harness.records.sweep_file import LedgerRow, Sweep

RESULTS = "law"
"""Folder inside it for the results and the figure."""
OURS = {".lock", ".holder", RESULTS, difficulty_cards.FILE}
"""Files of a demo besides its runs, which may exist before its ledger does."""


def default() -> Path:
    """Return runs/demo in the current folder."""
    return sweep_place.runs_folder().resolve() / "demo"


def refuse_other(root: Path, points: Mapping[str, Point]) -> None:
    """Raise ConfigError if `root` holds anything but this demo."""
    if not root.exists():
        return
    if not root.is_dir():
        raise ConfigError(f"--dir: must name an existing or new folder, got {str(root)!r}")
    if (root / sweep_file.FILE).is_file():
        planned = {row.name: tuple(row.overrides) for row in sweep_file.read(root).runs}
        if planned == {name: point.overrides for name, point in points.items()}:
            return
        rule = "has runs other than those of this version's demo; name another folder"
        raise ConfigError(f"--dir: {rule}, got {str(root)!r}")
    names = {path.name for path in root.iterdir()} - OURS - points.keys()
    others = sorted(name for name in names if not atomic.TEMPORARY.fullmatch(name))
    if others:
        rule = f"must be empty or hold the demo; found {others[0]!r} in {str(root)!r}"
        raise ConfigError(f"--dir: {rule}")


def create_or_complete(root: Path, points: Mapping[str, Point]) -> Sweep:
    """Plan the missing runs in `root`, and write the ledger.

    Raises ConfigError if `root` holds something else, FolderError, StoppedError if a live process
    executes the demo.
    """
    refuse_other(root, points)
    try:
        root.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FolderError(f"{root}: {error.strerror or error}") from error
    with holder.hold(RunFolder(root)):
        compatibility.refuse_newer_sweep(root)
        for name, point in points.items():
            _create_or_check(RunFolder(root / name), point)
        if not (root / sweep_file.FILE).is_file():
            rows = [LedgerRow(n, str(root / n), point.overrides) for n, point in points.items()]
            sweep_file.write(root, Sweep(str(root), {}, rows))
    return ledger.read(root)


def _create_or_check(run: RunFolder, point: Point) -> None:
    """Create the run if it does not exist. Raises ConfigError if it exists with another config, as
    after a change of conf/.
    """
    if not run.is_run():
        run_folder.create(run, point.config, user_validity.record(point.config))
        return
    if run_folder.read_config(run) != point.config:
        rule = "was made with other settings than those of this version; name another folder"
        raise ConfigError(f"--dir: its run {run.path.name} {rule}, got {str(run.path.parent)!r}")
