"""The overrides that a run was made with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from harness.errors import HarnessError
from harness.law.io import identity, typed_words


def of_run(run: str) -> Sequence[str] | None:
    """Return the overrides from the run's sweep, else those that make its config; None if neither
    is known.

    The second kind is computed only if needed, since it composes the default config.
    """
    words = typed_words.sweep_overrides(run)
    if words is not None:
        return words
    folder_identity = identity.read(Path(run))
    if folder_identity.full_config is None or not Path(run).is_dir():
        return None
    from harness.law.compare import groups
    from harness.planning import settings

    try:
        overrides = settings.words_of(
            groups.flatten_config(dict(folder_identity.full_config)), frozenset()
        )
    except HarnessError:  # an option of another folder or version
        return None
    return [*overrides, *([] if folder_identity.seed is None else [f"seed={folder_identity.seed}"])]
