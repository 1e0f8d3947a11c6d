"""Where results go: asked before the work."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from harness.errors import ConfigError
from harness.records import atomic


def refuse_unwritable(out: Path) -> None:
    """Raise ConfigError or StorageError if `out` cannot be made or written to.

    The folder itself is made after the work: an empty one could pass for results.
    """
    nearest = next(path for path in (out, *out.parents) if os.path.lexists(path))
    if not nearest.is_dir():
        rule = f"must name a folder, there or yet to be made, and {str(nearest)!r} is none"
        raise ConfigError(f"--out: {rule}; got {str(out)!r}: name another")
    with atomic.storage(out):
        tempfile.TemporaryFile(dir=nearest).close()
