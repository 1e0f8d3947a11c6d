"""Which code a run was made by: versions of what is installed, revision of the checkout."""

from __future__ import annotations

import contextlib
import platform
import subprocess
from importlib import metadata
from pathlib import Path


def installed() -> dict[str, str]:
    """Version of Python and of each distribution that a run's numbers may hang on."""
    wanted = ("empathy-harness", "numpy", "torch", "transformers", "trl", "vllm", "openai")
    found = {"python": platform.python_version()}
    for name in wanted:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


def git_revision() -> str:
    """The revision of the code that runs, `-dirty` if it is changed; empty outside a checkout."""
    here = Path(__file__).resolve().parent
    command = ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=5, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
