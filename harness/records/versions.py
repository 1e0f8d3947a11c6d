"""Which code a run was made by: versions of what is installed, revision of the checkout."""

from __future__ import annotations

import contextlib
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path


@dataclass(frozen=True)
class MadeBy:
    """What an attempt ran with."""

    versions: Mapping[str, str]
    """Distribution -> version."""
    git: str
    """Empty where it is not known."""


def now() -> MadeBy:
    """What this process runs with."""
    return MadeBy(installed(), git_revision())


def differences(was: MadeBy, now: MadeBy) -> tuple[str, ...]:
    """`numpy 1.26.4 -> 2.0.0` for each that is another; what is unknown of either does not count.

    A distribution that is there now only counts as well: it may be the one that is used.
    """
    found = [
        f"{name} {was.versions.get(name, 'none')} -> {now.versions.get(name, 'none')}"
        for name in dict.fromkeys((*was.versions, *now.versions))
        if was.versions and was.versions.get(name) != now.versions.get(name)
    ]
    if was.git and now.git and was.git != now.git:
        found.append(f"git revision {was.git} -> {now.git}")
    return tuple(found)


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
