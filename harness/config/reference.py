"""The reference of all config keys, for `harness config` and docs/config.md.

The meaning of a key is the docstring below its field; everything else comes from the field's
annotations. The keys of algorithms and remedies are passed in by the caller, harness.cli.config.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
import typing
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import ModuleType
from typing import TYPE_CHECKING, Any

from harness.config import keys, ranges
from harness.config.keys import Key
from harness.config.run import RunConfig
from harness.config.typed_value import typed_value
from harness.utils import installation

if TYPE_CHECKING:
    from harness.config.options import Options

RUN = "run"
"""Name of the group for the keys that belong to no group."""
WIDTH = 80
TYPES = {
    int: "whole number",
    float: "number",
    bool: "true or false",
    str: "text",
    Any: "text or list",
}
INTRODUCTION = """\
# Config keys

<!-- Made by `python -m harness.cli.config > docs/config.md`; edit the fields instead. -->

These keys configure a run. `harness config` prints this list, `harness config GROUP` one group.

* `GROUP=NAME` on the command line chooses an option, the file conf/GROUP/NAME.yaml. `KEY=VALUE`
  sets one key and takes precedence over the option.
* Defaults apply if no option sets another value. Those of a remedy's method apply once a run uses
  the method.
* A key marked "Only with" has no effect otherwise and is then refused. A key marked "Set by
  GROUP=NAME only" cannot be set by itself.
"""


@dataclass(frozen=True)
class KeyEntry:
    """The reference entry of one key."""

    key: str
    type: str
    range: str | None
    """Description of the allowed values; None if all values of the type are allowed."""
    default: Any
    unit: str | None
    used_with: tuple[str, ...]
    """Conditions that must all hold for the key to have an effect."""
    set_by_option: bool
    meaning: str

    def to_json(self) -> dict[str, Any]:
        return {**vars(self), "used_with": list(self.used_with)}


@dataclass(frozen=True)
class KeyGroup:
    """The reference entries of one group of the config."""

    name: str
    meaning: str
    options: tuple[str, ...]
    """The shipped names that GROUP=NAME accepts."""
    keys: tuple[KeyEntry, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "group": self.name,
            "meaning": self.meaning,
            "options": list(self.options),
            "keys": [entry.to_json() for entry in self.keys],
        }


def groups() -> tuple[KeyGroup, ...]:
    """Return every group except the methods of remedies, the run's own keys first."""
    parts = keys.parts(RunConfig)
    run_group = _group(RUN, RunConfig, "")
    return run_group, *(_group(name, parts[name], name) for name in keys.groups())


def of_options(name: str, item: type[Options]) -> KeyGroup:
    """Return the keys that an algorithm or a remedy declares, as the group `name`.

    Its meaning is the first paragraph of the docstring of its module.
    """
    meaning = _first_paragraph(sys.modules[item.__module__])
    return KeyGroup(name, meaning, (), entries(item, item.key()))


def text(key_groups: Sequence[KeyGroup]) -> str:
    """Format the groups as plain text in 80 columns."""
    return "\n\n".join("\n".join(_group_lines(group)) for group in key_groups)


def markdown(key_groups: Sequence[KeyGroup]) -> str:
    """Return the contents of docs/config.md."""
    return "\n".join([INTRODUCTION, *(line for group in key_groups for line in _section(group))])


def entries(part: type, prefix: str) -> tuple[KeyEntry, ...]:
    """Return the entries of a config class or of a plug-in's options. `prefix`: its dotted key."""
    meanings = _meanings(part)
    return tuple(_entry(key, meanings.get(key.field, "")) for key in keys.own_keys(part, prefix))


def of_plug_ins(name: str) -> tuple[KeyGroup, ...]:
    """Return the options of each extension in a group. This imports the plug-ins.

    Raises ConfigError for one that cannot be imported or is not a class of options.
    """
    from harness.config import options  # both take 20 ms to import
    from harness.utils import extensions

    if name not in extensions.KINDS:
        return ()
    return tuple(
        KeyGroup(f"{name}={extension}", _first_paragraph(item), (), entries(item, item.key()))
        for extension in extensions.names(name)
        for item in [options.plug_in(name, extension, options.Options)]
    )


def _group(name: str, part: type, prefix: str) -> KeyGroup:
    options = sorted(file.stem for file in (installation.shipped() / "conf" / name).glob("*.yaml"))
    return KeyGroup(name, _first_paragraph(part), tuple(options), entries(part, prefix))


def _entry(key: Key, meaning: str) -> KeyEntry:
    return KeyEntry(
        key.name,
        _type(key.type),
        None if key.rule is None else str(key.rule),
        key.default,
        key.unit or None,
        ranges.in_words(key.conditions),
        key.by_option,
        meaning,
    )


def _type(kind: Any) -> str:
    """Describe a field's type in words."""
    if kind in TYPES:
        return TYPES[kind]
    if typing.get_origin(kind) is list:
        return "list of names"
    if typing.get_origin(kind) is dict:
        return "mapping"
    return " or ".join(
        "null" if part is type(None) else _type(part) for part in typing.get_args(kind)
    )


def _first_paragraph(part: type | ModuleType) -> str:
    return " ".join((part.__doc__ or "").split("\n\n")[0].split())


def _meanings(part: type) -> dict[str, str]:
    """Return field name -> the docstring below the field in the class's source."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(part))).body
    assert isinstance(tree, ast.ClassDef)
    return {
        field.target.id: " ".join(docstring.value.value.split())
        for field, docstring in pairwise(tree.body)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(docstring, ast.Expr)
        and isinstance(docstring.value, ast.Constant)
        and isinstance(docstring.value.value, str)
    }


def _group_lines(group: KeyGroup) -> Iterator[str]:
    yield from _wrap(f"{group.name}: {group.meaning}", "")
    if group.options:
        yield from _wrap(f"options: {', '.join(group.options)}", "")
    for entry in group.keys:
        yield ""
        yield from _wrap(f"{entry.key}={typed_value(entry.default)}", "  ")
        yield from _wrap(_values(entry), "      ")
        yield from _wrap(entry.meaning, "      ")
        yield from _wrap(_use(entry), "      ")


def _values(entry: KeyEntry) -> str:
    """Return type, unit and range, as in `number (seconds): 0.1 to 86400`."""
    unit = f" ({entry.unit})" if entry.unit else ""
    return f"{entry.type}{unit}{f': {entry.range}' if entry.range else ''}"


def _use(entry: KeyEntry) -> str:
    """Return the conditions for the key, and a note if only an option sets it; often empty."""
    only_with = f"Only with {' and '.join(entry.used_with)}." if entry.used_with else ""
    set_by = f"Set by {entry.key.split('.')[0]}=NAME only." if entry.set_by_option else ""
    return f"{only_with}{set_by}"


def _wrap(line: str, indent: str) -> list[str]:
    return textwrap.wrap(
        line, WIDTH, initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )


def _section(group: KeyGroup) -> Iterator[str]:
    yield f"## {group.name}\n"
    yield f"{group.meaning}\n"
    if group.options:
        yield f"Options: {', '.join(f'`{name}`' for name in group.options)}.\n"
    rows = [
        (f"`{entry.key}`", f"`{typed_value(entry.default)}`", _values(entry), _remark(entry))
        for entry in group.keys
    ]
    columns = 4 if any(row[3] for row in rows) else 3
    yield f"| {' | '.join(('key', 'default', 'values', 'meaning')[:columns])} |"
    yield f"|{columns * '---|'}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row[:columns])} |"
    yield ""


def _remark(entry: KeyEntry) -> str:
    """Return the last column of the table: the key's meaning and the conditions for it."""
    return " ".join(part for part in (entry.meaning, _use(entry)) if part)
