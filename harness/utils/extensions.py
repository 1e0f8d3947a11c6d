"""Extensions from other packages: found by entry point, or registered in this process.

An installed package names them in its metadata, under `[project.entry-points."harness.remedies"]`,
as `NAME = "module:ITEM"`. Listing names reads only metadata; a package is imported when one of its
items is loaded. Runs are separate processes and do not see what was registered in the process that
started them: they need an entry point.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

from harness.errors import ConfigError
from harness.utils import safe_path

KINDS = ("algorithm", "remedy", "reward", "simulator", "importer", "figure")
"""The kinds of extensions that another package can add; see `group` for their entry points."""
CONF = "harness.conf"
"""Entry-point group of packages with a conf/ folder."""

IMPORT_S = 60.0
"""Time limit for importing the modules of one package, which may import torch from a cold disk."""

_registered: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}


def group(kind: str) -> str:
    """Return the entry-point group of a kind: `harness.remedies` for `remedy`."""
    return f"harness.{kind[:-1]}ies" if kind.endswith("y") else f"harness.{kind}s"


def register(kind: str, name: str, item: Any) -> None:
    """Add `item` to this process. Raises ConfigError if another extension has the name."""
    if name in names(kind):
        raise ConfigError(f"{kind} {name!r} must be registered once, got a second one")
    _registered[kind][name] = item


@contextlib.contextmanager
def registered(kind: str, name: str, item: Any) -> Iterator[None]:
    """`register` within a block, for tests."""
    register(kind, name, item)
    try:
        yield
    finally:
        del _registered[kind][name]


def names(kind: str) -> tuple[str, ...]:
    """Return the names of all extensions of a kind, in alphabetical order."""
    return tuple(sorted({*_installed_extensions(group(kind)), *_registered[kind]}))


def load(kind: str, name: str) -> Any:
    """Return the extension `name`, importing its package.

    Raises ConfigError if the package cannot be imported for any reason, KeyError if there is no
    such extension.
    """
    if name in _registered[kind]:
        return _registered[kind][name]
    point = _installed_extensions(group(kind))[name]
    try:
        return point.load()
    except Exception as error:  # a plug-in's module may raise anything
        raise ConfigError(
            f"{group(kind)}: {name} of {package_of(kind, name)} must be importable as "
            f"{point.value}, got {type(error).__name__}: {error}"
        ) from error


def package_of(kind: str, name: str) -> str:
    """Return the installed package that adds an extension; `this process` if it was registered."""
    if name in _registered[kind]:
        return "this process"
    return _distribution(_installed_extensions(group(kind))[name])


def conf_folders() -> tuple[Path, ...]:
    """Return the conf/ folders of the packages that entry points of harness.conf name.

    The packages are located without importing them. Raises ConfigError if one has no conf/ folder.
    """
    return tuple(_conf_folder(point) for _, point in sorted(_installed_extensions(CONF).items()))


def packages() -> dict[str, str]:
    """Return name -> version of each installed package with an extension or a conf/ folder."""
    groups = {CONF, *map(group, KINDS)}
    found: dict[str, str] = {}
    for distribution in _distributions():
        if any(point.group in groups for point in distribution.entry_points):
            found.setdefault(distribution.name, distribution.version)  # the first is imported
    return found


def problems(limit_s: float = IMPORT_S) -> dict[tuple[str, str], str]:
    """Return (kind, name) -> a sentence for each installed extension that cannot be imported.

    Each package is imported in a child process, since its modules may do anything: print, hang, end
    the process. If one hangs or ends the process, the package's later extensions are not tried.
    """
    by_package: dict[str, list[tuple[str, str]]] = {}
    for kind in KINDS:
        for name, point in _installed_extensions(group(kind)).items():
            by_package.setdefault(_distribution(point), []).append((kind, name))
    found: dict[tuple[str, str], str] = {}
    for package, items in by_package.items():
        code, answers = _import_in_child(items, limit_s)
        reasons = dict(zip(items, answers, strict=False))
        found |= {item: reason for item, reason in reasons.items() if reason is not None}
        for kind, name in items[len(reasons) : len(reasons) + 1]:
            rule = f"{group(kind)}: {name} of {package} must be importable"
            end = f"got one that ends its process with {code}"
            late = f"got one that was not done after {limit_s:g} s"
            found[kind, name] = f"{rule}, {late if code is None else end}"
    return found


def _import_in_child(
    items: Iterable[tuple[str, str]], limit_s: float
) -> tuple[int | None, list[str | None]]:
    """Import items in a child process with this process's search path.

    Returns its exit code, None if it was killed at the limit, and for each item that it reached,
    the reason for a failure or None.
    """
    path = os.pathsep.join(safe_path.without_here())
    code = f"from {__name__} import tell_problems; tell_problems()"
    with subprocess.Popen(
        [sys.executable, "-P", "-c", code, *(word for item in items for word in item)],
        env={**os.environ, safe_path.PATH: path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as child:
        try:
            out, _ = child.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired as error:
            out = error.output or b""
        finally:
            exit_code = child.poll()
            if exit_code is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(child.pid, signal.SIGKILL)
    return exit_code, [json.loads(line) for line in out.splitlines()]


def tell_problems() -> None:
    """Print a JSON line for each extension `KIND NAME` in sys.argv: why it cannot be imported, or
    null. Output of the imported modules goes to stderr.
    """
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    for kind, name in zip(sys.argv[1::2], sys.argv[2::2], strict=True):
        problem = None
        try:
            load(kind, name)
        except ConfigError as error:
            problem = str(error)
        print(json.dumps(problem), file=out, flush=True)


def _conf_folder(point: metadata.EntryPoint) -> Path:
    is_name = point.value.isidentifier()  # Python would have to import a to locate a.b
    spec = importlib.util.find_spec(point.value) if is_name else None
    folders = [
        Path(location) / "conf" for location in (spec and spec.submodule_search_locations) or ()
    ]
    for folder in folders:
        if folder.is_dir():
            return folder
    raise ConfigError(
        f"{CONF}: {point.name} of {_distribution(point)} must name a top-level package with a "
        f"folder conf/ in it, got {point.value!r}"
    )


def _distribution(point: metadata.EntryPoint) -> str:
    return point.dist.name if point.dist else point.value


@functools.cache
def _installed_extensions(group: str) -> Mapping[str, metadata.EntryPoint]:
    """Return name -> entry point. Raises ConfigError if two packages use one name."""
    found: dict[str, metadata.EntryPoint] = {}
    for point in _points(group):
        if point.name in found and found[point.name].value != point.value:
            values = f"{found[point.name].value} and {point.value}"
            raise ConfigError(f"{group}: {point.name} must be given once, got {values}")
        found[point.name] = point
    return found


def _points(group: str) -> Iterator[metadata.EntryPoint]:
    """Yield the entry points of a group. Of a package found twice, only the first counts, which
    Python would import.
    """
    for distribution in _distributions():
        points = [point for point in distribution.entry_points if point.group == group]
        if points and _is_first(distribution):
            yield from points


def _is_first(distribution: metadata.Distribution) -> bool:
    first = next(iter(_distributions(name=distribution.name)))
    return first.locate_file("") == distribution.locate_file("")


def _distributions(name: str | None = None) -> Iterable[metadata.Distribution]:
    """Return the installed packages, or those of this name, without the current folder's."""
    return metadata.distributions(name=name, path=safe_path.without_here())
