"""Checks a user's YAML files before Hydra reads them.

Hydra's errors do not name a file that is not UTF-8 or not YAML, and Hydra would accept any of its
own settings in such a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from harness.compose import launcher_settings, overrides, search_path
from harness.compose.overrides import ParsedOverride
from harness.config import keys, ranges
from harness.errors import ConfigError
from harness.utils import installation

CONFIG = Path("conf") / "config.yaml"
SWEEP_HEADER = "# @package _global_"
MOST_FILES = 200
"""Limit on the files that a defaults list leads to, whose number can grow exponentially."""


def check(
    words: Sequence[ParsedOverride], parse: Callable[[Sequence[str]], list[ParsedOverride]]
) -> list[ParsedOverride]:
    """Check the files that `words` lead to, and files of the current folder that replace shipped
    ones; return the axes of the sweep file.

    Raises ConfigError, naming the file, for the first invalid one.
    """
    _check_config(CONFIG)
    params: list[ParsedOverride] = []
    names_by_group: dict[str, list[str]] = {}
    for word in words:
        if word.key == "sweeps":
            params = _read_sweep(str(word.values[0]), parse)
        elif word.key in keys.groups() and word.prefix != "~":
            names_by_group[word.key] = [str(name) for name in word.values]
    walker = _DefaultsWalker()
    for group in keys.groups():
        for name in names_by_group.get(group, []):
            _check_option(group, name)
        for name in dict.fromkeys([*names_by_group.get(group, []), *_replaced_options(group)]):
            walker.follow(group, name)
    return params


def check_file(file: Path) -> None:
    """Raise ConfigError, naming `file`, for content that no file of a user may have.

    Called for every such file that Hydra reads, including those that `check` did not find.
    """
    values = search_path.read_yaml(file)
    _refuse_targets(file, values)
    for entry in _entries(values.get("defaults")):
        _refuse_interpolation(file, entry)
    hydra = values.get("hydra", {})
    if not isinstance(hydra, dict | None):  # Hydra would resolve `${...}` before any check
        raise ConfigError(f"{file}: hydra must be a mapping of its keys, got {hydra!r:.80}")
    if hydra and "searchpath" in hydra:
        raise ConfigError(f"{file}: {overrides.not_yours('searchpath')}")


def _replaced_options(group: str) -> list[str]:
    """Return the shipped options, possibly defaults, that files of the current folder replace."""
    shipped = installation.shipped() / "conf" / group
    own_folder = Path("conf") / group
    if shipped.resolve() == own_folder.resolve():
        return []
    return [
        file.stem for file in sorted(shipped.glob("*.yaml")) if (own_folder / file.name).exists()
    ]


class _DefaultsWalker:
    """Follows defaults lists and checks the user's files among them."""

    def __init__(self) -> None:
        self._count = 0

    def follow(self, group: str, name: str, ancestors: tuple[Path, ...] = ()) -> None:
        """Check the option's file and those in its defaults. Raises ConfigError, also for a cycle
        and for more than MOST_FILES files.
        """
        file = search_path.option_file(group, name)
        if file is None or file.is_relative_to(installation.shipped() / "conf"):
            return
        if file in ancestors:
            cycle = " -> ".join(path.name for path in (*ancestors[ancestors.index(file) :], file))
            raise ConfigError(f"{file}: its defaults must not lead back to itself, got {cycle}")
        self._count += 1
        if self._count > MOST_FILES:
            rule = f"defaults must lead to at most {MOST_FILES} files, got more"
            raise ConfigError(f"{(*ancestors, file)[0]}: its {rule}")
        check_file(file)
        for entry in _entries(search_path.read_yaml(file).get("defaults")):
            self.follow(*_locate(group, entry), (*ancestors, file))


def _refuse_targets(file: Path, values: Any, key: str = "") -> None:
    """Raise ConfigError for a `_target_` at any depth, since it names code to run."""
    parts = values.items() if isinstance(values, dict) else enumerate(values)
    for name, value in parts:
        full_key = f"{key}.{name}" if key else str(name)
        if name == launcher_settings.TARGET:
            rule = "no file in a conf/ or sweeps/ may name code to run"
            raise ConfigError(f"{file}: {full_key}: {rule}, got {str(value)!r:.80}")
        if isinstance(value, dict | list):
            _refuse_targets(file, value, full_key)


def _check_config(path: Path) -> None:
    """Refuse another program's conf/config.yaml, and one that sets keys that only options may."""
    if not path.is_file() or path.resolve() == (installation.shipped() / path).resolve():
        return
    values = search_path.read_yaml(path)
    defaults = values.get("defaults")
    if not isinstance(defaults, list) or "run_schema" not in defaults:
        raise ConfigError(
            f"{path}: would replace harness's own config.yaml, but its defaults lack run_schema; "
            "rename it, or run harness in another folder"
        )
    _check_groups(path, values)


def _check_groups(file: Path, values: Mapping[str, Any]) -> None:
    """Raise ConfigError if `values` contain a key that only an option of its group may set, or a
    value that must be a mapping and is not.
    """
    for group in keys.groups():
        part = values.get(group)
        for name, value in part.items() if isinstance(part, dict) else ():
            reason = overrides.set_by_option(f"{group}.{name}")
            if reason is not None:
                raise ConfigError(f"{file}: {reason}; got {value!r:.80}")
            _check_mapping(file, f"{group}.{name}", value)


def _check_mapping(file: Path, key: str, value: Any) -> None:
    problem = overrides.not_a_mapping(key, value, "null" if value is None else f"{value!r:.80}")
    if problem:
        raise ConfigError(f"{file}: {problem}")


def _check_option(group: str, name: str) -> None:
    file = search_path.option_file(group, name)
    if file is None:
        return
    values = search_path.read_yaml(file)
    if file.is_relative_to(installation.shipped() / "conf"):  # tabular.yaml sets other groups
        return
    if "@package" in file.read_text(encoding="utf-8"):
        raise ConfigError(f"{file}: an option of {group} must not have a `# @package` header")
    for key, value in values.items():
        if key != "defaults" and f"{group}.{key}" not in overrides.known_keys():
            raise ConfigError(f"{file}: {overrides.no_such_key(f'{group}.{key}')}")
        _check_mapping(file, f"{group}.{key}", value)
    label = values.get("name", "none at all")
    if label != name and "${" not in str(label):  # tables use the name; resolvers are refused
        raise ConfigError(f"{file}: name must be {name!r}, as the file is named, got {label!r}")


def _read_sweep(
    name: str, parse: Callable[[Sequence[str]], list[ParsedOverride]]
) -> list[ParsedOverride]:
    file = search_path.sweep_file(name)
    assert file is not None  # checked by overrides.check
    values = search_path.read_yaml(file)
    if file.read_text(encoding="utf-8").split("\n")[0].strip() != SWEEP_HEADER:
        raise ConfigError(f"{file}:1: a sweep file must begin with `{SWEEP_HEADER}`")
    allowed = ("defaults", "hydra", "seed", *keys.groups())
    for key, value in values.items():
        if key not in allowed:
            raise ConfigError(f"{file}: {overrides.no_such_key(key)}")
        if key in keys.groups() and not isinstance(value, dict):
            raise ConfigError(
                f"{file}: {key} must be a mapping of its keys, got {value!r}; an option is chosen "
                f"by an entry `override /{key}: NAME` of defaults"
            )
    _check_groups(file, values)
    _check_defaults(file, values.get("defaults"))
    params = _params(file, values.get("hydra") or {})
    try:
        words = parse([f"{key}={value}" for key, value in params.items()])
        overrides.check(words)
        _refuse_what_is_no_axis(words)
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from error
    return words


def _refuse_what_is_no_axis(words: Sequence[ParsedOverride]) -> None:
    """Raise ConfigError for params that would be ignored: a launcher's, and another sweep file."""
    for word in words:
        if word.key == "sweeps" or word.key.startswith("hydra"):
            raise ConfigError(
                f"hydra.sweeper.params must hold axes and config keys, got {word.key}; settings of "
                "the launcher belong below hydra.launcher, and its name to defaults, as "
                "`override /hydra/launcher: NAME`"
            )


def _check_defaults(file: Path, defaults: Any) -> None:
    """Check the options that a sweep file chooses, as in `- override /policy: tabular`."""
    if not isinstance(defaults, list | None):
        raise ConfigError(f"{file}: defaults must be a list, got {defaults!r}")
    for entry in defaults or ():
        if not isinstance(entry, dict) and entry != "_self_":
            raise ConfigError(
                f"{file}: an entry of defaults must be `override /GROUP: NAME`, got {entry!r}"
            )
        for key, name in entry.items() if isinstance(entry, dict) else ():
            group = str(key).removeprefix("override ").removeprefix("/")
            if group in keys.groups():
                ranges.one_of(f"{file}: {group}", str(name), search_path.options(group))


def _params(file: Path, hydra: Any) -> Mapping[str, Any]:
    """Return the axes of a sweep file: hydra.sweeper.params. Raises ConfigError if malformed."""
    if not isinstance(hydra, dict):
        raise ConfigError(f"{file}: hydra must be a mapping of its keys, got {hydra!r}")
    parts = hydra
    for key in parts if parts else ():
        if key not in ("sweeper", "launcher"):
            raise ConfigError(
                f"{file}: hydra.{key}: only hydra.sweeper and hydra.launcher may be set"
            )
    sweeper = parts.get("sweeper") or {}
    params = sweeper.get("params") or {} if isinstance(sweeper, dict) else None
    if not isinstance(params, dict):
        raise ConfigError(f"{file}: hydra.sweeper.params must be a mapping of keys to values")
    return params


def _entries(defaults: Any) -> Iterator[str]:
    """Yield the options that a defaults list names, relative to its file's group: `name` or
    `group/name`.

    `override`, `optional` and packages are removed; a list of names gives one entry per name.
    """
    for entry in defaults if isinstance(defaults, list) else ():
        if isinstance(entry, str) and entry != "_self_":
            yield _without_suffix(entry.partition("@")[0])
        for key, names in entry.items() if isinstance(entry, dict) else ():
            group = str(key).split()[-1:] or [""]
            for name in names if isinstance(names, list) else [names]:
                if name is not None:
                    yield f"{group[0].partition('@')[0]}/{_without_suffix(str(name))}"


def _without_suffix(name: str) -> str:
    """Remove a `.yaml` ending, which Hydra ignores."""
    return name.removesuffix(".yaml")


def _refuse_interpolation(file: Path, entry: str) -> None:
    """Raise ConfigError for an entry with an interpolation, which may read the environment."""
    if "${" in entry:
        rule = "an entry of defaults must name its option, without ${...}"
        raise ConfigError(f"{file}: {rule}, got {entry!r:.80}")


def _locate(group: str, entry: str) -> tuple[str, str]:
    """Return the group and the name of an entry in a file of `group`."""
    path = entry.removeprefix("/") if entry.startswith("/") or not group else f"{group}/{entry}"
    subgroup, _, name = path.rpartition("/")
    return subgroup, name
