"""What to say of a path at which nothing is: a mistyped folder is the usual reason."""

from __future__ import annotations

import contextlib
import difflib
from pathlib import Path

LIKE = 0.5
"""Least likeness of a name for it to be offered, as difflib measures it."""


def why(path: Path) -> str | None:
    """Return `no such folder; nearest: runs/first` where nothing is at `path`, else None."""
    names: list[str] = []
    with contextlib.suppress(OSError, ValueError):
        if path.exists():
            return None
        names = sorted(entry.name for entry in path.parent.iterdir() if entry.is_dir())
    nearest = difflib.get_close_matches(path.name, names, n=1, cutoff=LIKE)
    return "no such folder" + (f"; nearest: {path.parent / nearest[0]}" if nearest else "")
