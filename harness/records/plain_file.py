"""Reads small files that may have been tampered with: limited in size, and never blocking."""

from __future__ import annotations

import errno
import os
import stat
import zipfile
import zlib
from pathlib import Path
from typing import Any

import yaml

from harness.errors import DataError

LARGEST_BYTES = 64 * 2**20
LARGEST_YAML_BYTES = 1_000_000
MOST_ALIASES = 10
"""Limit against alias bombs: 10 aliases repeat a text at most about 40 times, 81 about 4e8
times."""
DEEPEST = 50
LONGEST_NUMBER = 1000
NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")

_Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG_ERRORS = (ValueError, OverflowError, LookupError, AttributeError, TypeError, RecursionError)
"""Raised by `!!int ''`, `!!bool x`, `!!timestamp x` or 2024-99-99, besides YAMLError."""

ARCHIVE_ERRORS = (
    OSError, ValueError, LookupError, TypeError, EOFError, NotImplementedError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""Raised by numpy for an archive of arrays that is missing or damaged, depending on the place."""


def text(path: Path, largest_bytes: int = LARGEST_BYTES) -> str:
    """Read a regular file as UTF-8. Raises DataError, naming the file, for anything else."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise DataError(f"{path}: cannot be read: must be a regular file, but is not")
        if status.st_size > largest_bytes:
            rule = f"must be at most {largest_bytes:,} bytes, got {status.st_size:,}"
            raise DataError(f"{path}: cannot be read: {rule}")
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        rule = f"must be UTF-8, but byte {error.start} is not"
        raise DataError(f"{path}: cannot be read: {rule}") from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or one_line(error)
        raise DataError(f"{path}: cannot be read: {why}") from error


def refuse_link(path: Path) -> None:
    """Raise DataError if `path`, which a run is about to write, is a link."""
    if path.is_symlink():
        rule = "must not be a link, since a run writes only to its own files and folders"
        raise DataError(f"{path}: {rule}, got a link to {path.readlink()}")


def opener(path: str, flags: int) -> int:
    """Opener for `open` that never blocks, for instance on a pipe.

    Raises OSError unless the file is regular.
    """
    descriptor = os.open(path, flags | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "must be a regular file", path)
    return descriptor


def yaml_values(path: Path) -> Any:
    """Read the YAML in `path`. Raises DataError, naming the file, if it is invalid or unsafe."""
    content = text(path, LARGEST_YAML_BYTES)
    try:
        _refuse_bombs(path, content)
        return _values(path, content)
    except (yaml.YAMLError, *_TAG_ERRORS) as error:
        raise DataError(f"{path}{_line(error)}: cannot be read as YAML: {_why(error)}") from error


def _values(path: Path, content: str) -> Any:
    loader = _Loader(content)
    try:
        node = loader.get_single_node()
        _refuse_repeats(path, node)
        return loader.construct_document(node) if node is not None else None
    finally:
        loader.dispose()


def _refuse_repeats(path: Path, root: yaml.Node | None) -> None:
    """Refuse repeated keys: PyYAML's loader would silently keep the last one."""
    visited: set[int] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        _refuse_long_number(path, node)
        if not isinstance(node, yaml.CollectionNode) or id(node) in visited:
            continue
        visited.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            pending += node.value
            continue
        keys: set[tuple[str, str]] = set()
        for key, value in node.value:
            pending += [key, value]
            if isinstance(key, yaml.ScalarNode) and (key.tag, key.value) in keys:
                rule = f"must have each key once, got {key.value} twice"
                raise DataError(f"{path}:{key.start_mark.line + 1}: {rule}")
            keys.add((key.tag, str(key.value)))


def _refuse_long_number(path: Path, node: yaml.Node | None) -> None:
    """Refuse long numbers: long hex cannot be printed, and base 60 (1:59:59) takes minutes."""
    is_number = isinstance(node, yaml.ScalarNode) and node.tag in NUMBERS
    if node is not None and is_number and len(node.value) > LONGEST_NUMBER:
        rule = f"a number must have at most {LONGEST_NUMBER} characters, got {len(node.value):,}"
        raise DataError(f"{path}:{node.start_mark.line + 1}: {rule}")


def _refuse_bombs(path: Path, content: str) -> None:
    """Count aliases and depth before constructing values, which would not end for a bomb."""
    aliases = depth = 0
    for event in yaml.parse(content, _Loader):
        aliases += isinstance(event, yaml.AliasEvent)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if aliases > MOST_ALIASES:
            rule = f"must have at most {MOST_ALIASES} aliases, got more"
            raise DataError(f"{path}: cannot be read as YAML: {rule}")
        if depth > DEEPEST:
            rule = f"must be nested at most {DEEPEST} deep, got deeper"
            raise DataError(f"{path}: cannot be read as YAML: {rule}")


def _line(error: BaseException) -> str:
    mark = getattr(error, "problem_mark", None)
    return f":{mark.line + 1}" if mark else ""


def _why(error: BaseException) -> str:
    return one_line(getattr(error, "problem", None) or error)


def one_line(error: BaseException | str) -> str:
    return " ".join(str(error).split())
