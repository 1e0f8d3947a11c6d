"""Commands that take the folder of one run: the error for a folder that is none."""

from __future__ import annotations

import shlex
from pathlib import Path

from harness.errors import DataError
from harness.records import checkpoints, sweep_file
from harness.records.run_folder import RunFolder
from harness.utils import missing_path

MOST_NAMED = 3
"""Runs inside a folder that are named where it is not one run."""


def refuse_another(
    folder: Path, command: str, suffix: str = "", *, takes_step: bool = False
) -> None:
    """Raise DataError if the folder is not a run. The message names runs inside it, or the run that
    it is a checkpoint of.

    `command`, `suffix`: what to type before and after the name of such a run, as a shell reads it;
    `takes_step`: whether the command has the option --step.
    """
    try:
        if RunFolder(folder).is_run():
            return
        runs = sorted(path.parent for path in folder.glob("*/run.json"))
        runs = runs or sorted(path.parent for path in folder.glob("*/*/run.json"))
        is_folder = folder.is_dir()
        is_checkpoint = is_folder and _is_checkpoint(folder)
    except (OSError, ValueError, RuntimeError) as error:
        why = getattr(error, "strerror", None) or error
        raise DataError(f"{folder}: must be the folder of a run, got: {why}") from error
    if is_checkpoint:
        more = f" --step {checkpoints.step_of(folder)}" if takes_step else ""
        raise DataError(
            f"{folder}: must be the folder of a run, got one of its checkpoints; "
            f"`harness {command} {shlex.quote(str(folder.parent.parent))}{suffix}{more}`"
        )
    if not runs:
        problem = "has no run.json" if is_folder else missing_path.why(folder) or "is no folder"
        raise DataError(f"{folder}: must be the folder of a run: {problem}")
    more = f" and {len(runs) - MOST_NAMED} more" if len(runs) > MOST_NAMED else ""
    names = ", ".join(str(run.relative_to(folder)) for run in runs[:MOST_NAMED])
    kind = "a sweep" if (folder / sweep_file.FILE).is_file() else "a folder"
    raise DataError(
        f"{folder}: must be the folder of one run, got {kind} of {len(runs)}: {names}{more}; "
        f"for the first, `harness {command} {shlex.quote(str(runs[0]))}{suffix}`"
    )


def _is_checkpoint(folder: Path) -> bool:
    run = RunFolder(folder.parent.parent)
    return run.is_run() and folder in checkpoints.all_in(run.checkpoints)
