"""Where what is costly to make is kept, by a hash of all that determines it."""

from __future__ import annotations

import os
from pathlib import Path


def folder() -> Path:
    """$HARNESS_CACHE, else harness/ in the XDG cache."""
    if own := os.environ.get("HARNESS_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "harness"
