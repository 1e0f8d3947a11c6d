"""Provenance: the code that made a run, and the run that a checkpoint belongs to.

The code is identified by the installed versions and the git revision of the checkout, a run by its
config, seed and start model.
"""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from importlib import metadata
from pathlib import Path
from typing import Any

from harness.utils import extensions, shape

ANOTHER_REPOSITORY = {
    "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY",
    "GIT_NAMESPACE",
}  # fmt: skip
"""Variables that git hooks and `git rebase --exec` set for another repository."""

OUR_PACKAGES = ("empathy-harness", "numpy", "torch", "transformers", "trl", "vllm", "openai")
"""Distributions that can affect a run's numbers, besides those of plug-ins."""


@dataclass(frozen=True)
class MadeBy:
    """Versions and git revision that an attempt ran with."""

    versions: Mapping[str, str]
    """Distribution -> version."""
    git: str
    """Empty if unknown."""


def describe_versions(made_by: MadeBy) -> str:
    """Return `harness 0.1.0 at git revision 3038b224e933`, as far as known."""
    version = made_by.versions.get("empathy-harness", "of an unknown version")
    return f"harness {version}{f' at git revision {made_by.git}' if made_by.git else ''}"


def current_versions() -> MadeBy:
    """Return the versions and the git revision of this process."""
    return MadeBy(installed(), git_revision())


def differences(was: MadeBy, now: MadeBy) -> tuple[str, ...]:
    """Return `numpy 1.26.4 -> 2.0.0` for each difference; unknown versions are not compared.

    A distribution that is installed only now counts as a difference, since the run may use it.
    """
    changes = [
        f"{name} {was.versions.get(name, 'none')} -> {now.versions.get(name, 'none')}"
        for name in dict.fromkeys((*was.versions, *now.versions))
        if was.versions and was.versions.get(name) != now.versions.get(name)
    ]
    if was.git and now.git and was.git != now.git:
        changes.append(f"git revision {was.git} -> {now.git}")
    return tuple(changes)


def installed() -> dict[str, str]:
    """Return the versions of Python and of the distributions that can affect a run's numbers."""
    installed_versions = {"python": platform.python_version()}
    for name in OUR_PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            installed_versions[name] = metadata.version(name)
    return installed_versions | extensions.packages()


def lacking_plug_ins(versions: Mapping[str, str]) -> tuple[str, ...]:
    """Return `my-rewards 0.1` for each plug-in in `versions` that is not installed here."""
    names = versions.keys() - {"python", *OUR_PACKAGES} - extensions.packages().keys()
    return tuple(f"{name} {versions[name]}" for name in sorted(names))


def git_revision() -> str:
    """Return the git revision of the code, with `-dirty` if changed; empty outside a checkout.

    Only harness's own checkout is asked: git executes commands that a repository's settings name,
    and a repository above site-packages may belong to someone else.
    """
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return ""
    command = ["git", "-c", "core.fsmonitor=false", "--no-optional-locks", "-C", str(root)]
    environment = {k: v for k, v in os.environ.items() if k not in ANOTHER_REPOSITORY}
    try:
        process = subprocess.run(
            [*command, "describe", "--always", "--dirty", "--abbrev=12"],
            env={**environment, "GIT_CEILING_DIRECTORIES": str(root.parent)},
            capture_output=True,
            text=True,
            timeout=5,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return process.stdout.strip() if process.returncode == 0 else ""


@dataclass(frozen=True)
class RunIdentity:
    """Identity of a run, or of the run that saved a checkpoint."""

    config_hash: str
    seed: int
    start_model: str | None
    """sha256 of the model that the policy started from; None for tabular or if unknown."""
    made_by: MadeBy

    def to_json(self) -> dict[str, Any]:
        return {
            "config_hash": self.config_hash,
            "seed": self.seed,
            "start_model": self.start_model,
            **asdict(self.made_by),
        }


@dataclass(frozen=True)
class _IdentityKeys:
    config_hash: str
    seed: int
    start_model: str | None
    versions: Mapping[str, str]
    git: str


KEYS = tuple(part.name for part in fields(_IdentityKeys))


def from_json(values: Any) -> RunIdentity | None:
    """Build a RunIdentity, the inverse of `to_json`; None if `values` are malformed."""
    if shape.problem(_IdentityKeys, values):
        return None
    own = (values["config_hash"], values["seed"], values["start_model"])
    return RunIdentity(*own, MadeBy(values["versions"], values["git"]))


def conflict(other: RunIdentity, own: RunIdentity) -> str | None:
    """Describe the first difference, as `seed 2 where the run has 1`; None if there is none.

    Unknown start models and the versions are not compared.
    """
    for name in ("config_hash", "seed", "start_model"):
        other_value, own_value = getattr(other, name), getattr(own, name)
        if other_value != own_value and not (
            name == "start_model" and None in (other_value, own_value)
        ):
            label = name.replace("_", " ")
            return f"{label} {shorten(other_value)} instead of the run's {shorten(own_value)}"
    return None


def shorten(value: object) -> str:
    """Return the value as text, at most 12 characters: long hashes are cut as config hashes are."""
    return str(value)[:12]
