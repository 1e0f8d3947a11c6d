"""Messages about paths that do not exist, which are usually mistyped folders."""

from __future__ import annotations

import contextlib
import difflib
from pathlib import Path

LIKE = 0.5
"""Minimal similarity, by difflib, for a name to be suggested."""


def why(path: Path) -> str | None:
    """Return `no such folder; nearest: runs/first` if `path` does not exist, else None."""
    names: list[str] = []
    with contextlib.suppress(OSError, ValueError):
        if path.exists():
            return None
        names = sorted(entry.name for entry in path.parent.iterdir() if entry.is_dir())
    nearest = difflib.get_close_matches(path.name, names, n=1, cutoff=LIKE)
    return "no such folder" + (f"; nearest: {path.parent / nearest[0]}" if nearest else "")
