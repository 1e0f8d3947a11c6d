"""The folder of an export, which appears complete or not at all."""

from __future__ import annotations

from pathlib import Path

from harness.embedded import models as embedded
from harness.errors import ConfigError, FolderError
from harness.export import card, files, measured
from harness.export.source import Source
from harness.policy import model_files
from harness.records import atomic, policy_file

CARD = "README.md"


def check(source: Source, merge: bool, target: Path) -> None:
    """Raise ConfigError if `target` is taken or inside the run, or if the run does not allow
    `merge` or needs it.
    """
    refuse_taken(target)
    run = source.run.path.resolve()
    if run in target.resolve().parents:
        raise ConfigError(f"{target}: an export must lie outside of its run, got one in {run}")
    if merge and not source.is_adapted:
        rule = "must be given for a run that trains adapters only (policy.lora_rank above 0)"
        raise ConfigError(f"--merge: {rule}, got one whose weights are full anyway")
    if source.is_adapted and not merge and source.config.policy.init == "random":
        rule = "must be given if the model below the adapters has random weights"
        raise ConfigError(
            f"--merge: {rule}, got policy.init=random: these weights cannot be made again"
        )


def refuse_taken(target: Path) -> None:
    """Raise ConfigError unless `target` does not exist or is an empty folder."""
    rule = "an export needs a new or empty folder"
    if target.is_symlink():
        raise ConfigError(f"{target}: {rule}, got a link to {target.readlink()}")
    if not target.exists():
        return
    if not target.is_dir():
        raise ConfigError(f"{target}: {rule}, got a file")
    try:
        names = sorted(path.name for path in target.iterdir())
    except OSError as error:
        raise ConfigError(f"{target}: {rule}, got: {error.strerror or error}") from error
    if names:
        raise ConfigError(f"{target}: {rule}, got one that holds {names[0]!r}")


def write(source: Source, merge: bool, target: Path) -> Path:
    """Export to `target`, which must have passed `check`, and return its full path.

    Raises FolderError if it cannot be created, and ConfigError, DataError or StorageError if the
    run cannot be exported. Partly written files are removed.
    """
    path = target.parent.resolve() / target.name
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FolderError(f"{path.parent}: {error.strerror or error}") from error
    with atomic.storage_errors(path):
        atomic.write_folder(path, lambda scratch: _fill(source, merge, scratch), over_another=False)
    return path


def _fill(source: Source, merge: bool, scratch: Path) -> None:
    try:
        files.write(source, merge, scratch)
        policy = source.config.policy
        is_public = model_files.is_on_the_hub(policy) or policy.model in embedded.MODELS
        step, start_model = source.checkpoint.step, source.status.start_model
        policy_file.write(scratch, source.config, step, start_model, is_public)
        results = measured.read(source)
        atomic.write_text(scratch / CARD, card.text(source, results, merge, scratch))
    except KeyboardInterrupt:  # write_folder handles only Exception, and no later run cleans up
        atomic.remove(scratch)
        raise
