"""Whether a run's config is still the one that it was planned with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from harness.records import config_file, plain_file
from harness.records.run_folder import RunFolder, RunStatus


def keys_that_came_later(run: RunFolder) -> list[str]:
    """Dotted keys that the run's config.yaml lacks, since it is older than they are: the run has
    their defaults. Raises DataError for no YAML.
    """
    lacking = config_file.absent(plain_file.yaml_values(run.config))
    return [key for key in lacking if not any(key.startswith(f"{part}.") for part in lacking)]


def changed(run: RunFolder, status: RunStatus) -> str | None:
    """What is wrong with a config that is another one now; else None.

    Rows of two configs in one file would pass for one run's. A key that came after the file was
    written changes nothing: the hash is of what the file holds. Raises DataError for no YAML.
    """
    return changed_values(run, status, plain_file.yaml_values(run.config))


def changed_values(run: RunFolder, status: RunStatus, values: Mapping[str, Any]) -> str | None:
    """The same of what config.yaml holds. Raises TypeError for what JSON cannot hold."""
    planned = (status.config_hash, status.seed)
    now = (config_file.hash_of(values), values.get("seed"))
    if all(was in ("", None, found) for was, found in zip(planned, now, strict=True)):
        return None
    return (
        f"{run.config}: must be as it was when the run was planned (hash and seed {planned}, "
        f"got {now}); put it back, or make another run with `harness train --dir`"
    )
