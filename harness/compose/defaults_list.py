"""The defaults list of a YAML file that a user may have written: which options it names."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.errors import ConfigError

MOST_FILES = 200
"""Two entries a file, each file twice below the last, would be read for ever."""


def entries(defaults: Any) -> Iterator[str]:
    """What the list names, relative to its file's group: `name`, or `group/name`.

    Without `override` and `optional`, without a package, and each of several names alone.
    """
    for entry in defaults if isinstance(defaults, list) else ():
        if isinstance(entry, str) and entry != "_self_":
            yield _plain(entry.partition("@")[0])
        for key, names in entry.items() if isinstance(entry, dict) else ():
            group = str(key).split()[-1:] or [""]
            for name in names if isinstance(names, list) else [names]:
                if name is not None:
                    yield f"{group[0].partition('@')[0]}/{_plain(str(name))}"


def _plain(name: str) -> str:
    """Hydra takes `name.yaml` for `name`."""
    return name.removesuffix(".yaml")


def refuse_interpolation(file: Path, entry: str) -> None:
    """Raise ConfigError for an entry that Hydra would fill in, from the environment too."""
    if "${" in entry:
        rule = "an entry of defaults must name its option, without ${...}"
        raise ConfigError(f"{file}: {rule}, got {entry!r:.80}")


def whole(group: str, entry: str) -> tuple[str, str]:
    """Group and name of an entry in a file of `group`."""
    path = entry.removeprefix("/") if entry.startswith("/") or not group else f"{group}/{entry}"
    below, _, name = path.rpartition("/")
    return below, name
