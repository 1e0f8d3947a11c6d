"""Where what is costly to make is kept, by a hash of all that determines it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from harness.errors import FolderError


def folder() -> Path:
    """$HARNESS_CACHE, else harness/ in the XDG cache; a link is followed, being the user's own.

    Raises FolderError for a user without a home, where neither is set.
    """
    if own := os.environ.get("HARNESS_CACHE"):
        return Path(own).resolve()
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        return (Path(xdg) / "harness").resolve()
    with contextlib.suppress(RuntimeError):  # neither $HOME nor an entry among the users
        if Path.home().is_absolute():
            return (Path.home() / ".cache" / "harness").resolve()
    rule = "must name a folder for what is kept between runs, since this user has no home"
    raise FolderError(f"HARNESS_CACHE: {rule}; got nothing: set it, or XDG_CACHE_HOME")
