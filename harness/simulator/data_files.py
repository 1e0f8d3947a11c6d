"""Readers of the simulator's data files. Each error gives file, line, rule and value.

A table is tab-separated text whose first row names the columns. Empty lines and lines that begin
with `#` are skipped. A tree is YAML in which each value keeps its line number.
"""

from __future__ import annotations

import string
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from harness.errors import ConfigError

HEADER = ("table", "key", "text")
ANY = ("any",)
"""Keys of a table whose texts need no key."""
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

Texts = Mapping[str, tuple[str, ...]]
"""Texts by key, in file order."""


@dataclass(frozen=True, slots=True)
class DataRow:
    """One row of a table."""

    where: str
    """file:line"""
    table: str
    key: str
    text: str


@dataclass(frozen=True, slots=True)
class TableRules:
    """Rules for one table of a file."""

    keys: Collection[str] = ANY
    """Allowed keys, each of which must have at least one text."""
    placeholders: Collection[str] = ()
    """Names that a text may have in braces."""
    single: bool = False
    """True if a key has exactly one text."""


def rows(path: Path) -> list[DataRow]:
    """Return the rows of a file. Raises ConfigError for a malformed file."""
    read_rows, first_lines = list[DataRow](), dict[tuple[str, ...], int]()
    has_header = False
    for number, line in enumerate(_text(path).splitlines(), start=1):
        where = f"{path}:{number}"
        if not line.strip() or line.startswith("#"):
            continue
        cells = tuple(line.split("\t"))
        if not has_header:
            if cells != HEADER:
                _refuse(where, f"the first row must be {' '.join(HEADER)}, with tabs", line)
            has_header = True
            continue
        if len(cells) != len(HEADER):
            _refuse(where, f"a row must have {len(HEADER)} cells, with tabs between", line)
        if any(not cell or cell != cell.strip() for cell in cells):
            _refuse(where, "a cell must have text and no blanks around it", line)
        if cells in first_lines:
            _refuse(where, f"a row must be there once, and is in line {first_lines[cells]}", line)
        first_lines[cells] = number
        read_rows.append(DataRow(where, *cells))
    return read_rows


def columns(
    path: Path, names: Sequence[str], allowed: Mapping[str, Collection[str]]
) -> list[tuple[str, ...]]:
    """Return the cells of each row that `columns_by_line` returns. Raises ConfigError."""
    return [cells for _, cells in columns_by_line(path, names, allowed)]


def columns_by_line(
    path: Path, names: Sequence[str], allowed: Mapping[str, Collection[str]]
) -> list[tuple[str, tuple[str, ...]]]:
    """Return (file:line, cells) of each row of a file with the columns `names`.

    `allowed`: the values of those columns that have few. Blank lines and lines that begin with #
    are skipped. Raises ConfigError for a malformed file.
    """
    header, *lines = _text(path).splitlines() or [""]
    rule = f"the first row must be {' '.join(names)}, with tabs"
    require(f"{path}:1", rule, header == "\t".join(names), header)
    checked = [(index, name, allowed[name]) for index, name in enumerate(names) if name in allowed]
    read_rows = list[tuple[str, tuple[str, ...]]]()
    for number, line in enumerate(lines, start=2):
        if not line or line[0] == "#":
            continue
        where, cells = f"{path}:{number}", tuple(line.split("\t"))
        if len(cells) != len(names):
            _refuse(where, f"a row must have {len(names)} cells, with tabs between", line)
        if not all(cells) or line != line.strip() or "\t " in line or " \t" in line:
            _refuse(where, "a cell must have text and no blanks around it", line)
        for index, name, values in checked:
            if cells[index] not in values:
                require_one_of(where, name, cells[index], values)
        read_rows.append((where, cells))
    return read_rows


def tables(path: Path, rules: Mapping[str, TableRules]) -> dict[str, Texts]:
    """Return the texts of a file by table and key. Raises ConfigError if they break `rules`."""
    texts: dict[str, dict[str, tuple[str, ...]]] = {name: {} for name in rules}
    for row in rows(path):
        require_one_of(row.where, "table", row.table, rules)
        rule = rules[row.table]
        require_one_of(row.where, f"key of {row.table}", row.key, rule.keys)
        _check_placeholders(row, rule.placeholders)
        if rule.single and row.key in texts[row.table]:
            _refuse(row.where, f"{row.table} must have one text for {row.key}", row.text)
        texts[row.table][row.key] = (*texts[row.table].get(row.key, ()), row.text)
    for name, rule in rules.items():
        for key in rule.keys:
            if key not in texts[name]:
                _refuse(str(path), f"{name} must have a text for {key}", "none")
    return dict(texts)


def require_one_of(where: str, name: str, value: str, allowed: Collection[str]) -> None:
    """Raise ConfigError for a `value` that is not one of `allowed`."""
    if value not in allowed:
        _refuse(where, f"{name} must be one of {', '.join(allowed)}", value)


def require(where: str, rule: str, holds: bool, value: object) -> None:
    """Raise ConfigError with `rule` and `value` unless it `holds`."""
    if not holds:
        _refuse(where, rule, value)


def tree(path: Path) -> yaml.Node:
    """Return a file's YAML tree, with line numbers. Raises ConfigError for a malformed file."""
    try:
        node = yaml.compose(_text(path), _LOADER)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{path}:{line}: must be YAML, got {error.problem}") from error
    except yaml.YAMLError as error:
        raise ConfigError(f"{path}: must be YAML, got {error}") from error
    if node is None:
        raise ConfigError(f"{path}: must be YAML with values, got none")
    return node


@dataclass(frozen=True, slots=True)
class YamlValue:
    """A value of a YAML file, with the path of the file."""

    path: Path
    node: yaml.Node

    @property
    def where(self) -> str:
        """file:line at which the value begins."""
        return f"{self.path}:{self.node.start_mark.line + 1}"

    def mapping(self) -> dict[str, YamlValue]:
        """Return the values by key. Raises ConfigError unless a mapping with unique keys."""
        if not isinstance(self.node, yaml.MappingNode):
            _refuse(self.where, "must be a mapping", self.node.value)
        values: dict[str, YamlValue] = {}
        for key, value in self.node.value:
            if key.value in values:
                where = f"{self.path}:{key.start_mark.line + 1}"
                _refuse(where, "a key must be there once", key.value)
            values[key.value] = YamlValue(self.path, value)
        return values

    def record(self, keys: Collection[str]) -> dict[str, YamlValue]:
        """Return the values of a mapping that must have exactly `keys`. Raises ConfigError."""
        values = self.mapping()
        for key, value in values.items():
            require_one_of(value.where, "key", key, keys)
        for key in keys:
            require(self.where, f"must have {key}", key in values, ", ".join(values))
        return values

    def items(self) -> list[YamlValue]:
        """Return the items of a list. Raises ConfigError for any other value."""
        if not isinstance(self.node, yaml.SequenceNode):
            _refuse(self.where, "must be a list", self.node.value)
        return [YamlValue(self.path, node) for node in self.node.value]

    def text(self) -> str:
        """Return the text. Raises ConfigError for an empty or any other value."""
        if not isinstance(self.node, yaml.ScalarNode) or not self.node.value.strip():
            _refuse(self.where, "must be text", self.node.value)
        return str(self.node.value)


def _check_placeholders(row: DataRow, allowed: Collection[str]) -> None:
    try:
        names = [name for _, name, _, _ in string.Formatter().parse(row.text) if name is not None]
    except ValueError as error:
        raise ConfigError(f"{row.where}: braces must be paired, got {row.text!r}") from error
    for name in names:
        rule = f"only {', '.join(allowed)} may stand in braces" if allowed else "no braces here"
        require(row.where, rule, name in allowed, row.text)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: must be a readable UTF-8 file, got {error}") from error


def _refuse(where: str, rule: str, value: object) -> None:
    raise ConfigError(f"{where}: {rule}, got {value!r:.60}")
