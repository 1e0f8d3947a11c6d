"""Where results go: asked before the work."""

from __future__ import annotations

import os
from pathlib import Path

from harness.errors import ConfigError
from harness.records import atomic


def folder(given: Path | None, default: Path) -> Path:
    """The results folder: what the user named, which may be a link, else `default`, which may not.

    It is made after the work: an empty one could pass for results. Raises ConfigError or
    StorageError if it cannot be made or written to.
    """
    if given is None and default.is_symlink():
        rule = "results are not written behind a link that nobody has named"
        to = default.readlink()
        raise ConfigError(f"{default}: {rule}, got one to {to}; name a folder with --out")
    out = given or default
    _refuse_unwritable(out)
    return out.resolve() if out.is_symlink() else out


def _refuse_unwritable(out: Path) -> None:
    nearest = next(path for path in (out, *out.parents) if os.path.lexists(path))
    if not nearest.is_dir():
        rule = f"must name a folder, there or yet to be made, and {str(nearest)!r} is none"
        raise ConfigError(f"--out: {rule}; got {str(out)!r}: name another")
    with atomic.storage(out):
        atomic.probe(nearest)
