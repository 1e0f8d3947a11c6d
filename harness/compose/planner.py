"""Makes a checked plan from command-line overrides, by Hydra.

`hydra.main` owns sys.argv, returns nothing and exits the process, so a Typer command cannot call
it. The public `initialize_config_dir` sets up the same machinery as a context manager.

`plan` takes the product of the axes and checks each point. Composing is slow, so it composes once
for each choice of options and sets the other swept keys on the result.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra.core.config_search_path import ConfigSearchPath, SearchPathQuery
from hydra.core.config_store import ConfigStore
from hydra.core.plugins import Plugins
from hydra.plugins.config_source import ConfigResult
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf

from harness.compose import launcher_settings, overrides, search_path, user_yaml
from harness.compose import plan as plans
from harness.compose.error_messages import reword
from harness.compose.grammar import parse
from harness.compose.overrides import ParsedOverride
from harness.compose.plan import Plan, Point
from harness.config import keys
from harness.config.run import RunConfig
from harness.errors import ConfigError, HarnessError
from harness.utils import installation

OURS = "harness"
"""Provider name of the launcher entries that harness.execution.launcher stores in Hydra."""
Composer = Callable[[tuple[int, ...]], DictConfig]
QUIET = ("hydra/hydra_logging=none", "hydra/job_logging=none", "hydra.output_subdir=null")


def plan(texts: Sequence[str]) -> Plan:
    """Compose and check every point. Raises ConfigError, in one line, for any mistake."""
    with composing():
        words = _read(texts)
        axes = [w for w in words if w.swept]
        composer = _composer(words)

        @functools.cache
        def build_point(*numbers: int) -> Point:
            return _point(words, dict(zip((w.key for w in axes), numbers, strict=True)), composer)

        # fail early: try each value with the first ones of the other axes, shortest axes first
        for axis in sorted(axes, key=lambda w: len(w.values)):
            for number in range(len(axis.values)):
                build_point(*(number if other is axis else 0 for other in axes))
        points = [build_point(*numbers) for numbers in _products(axes)]
        return plans.build(points, [w.key for w in axes])


def point(texts: Sequence[str]) -> Point:
    """Compose and check the single point of the overrides. Raises ConfigError, also for a sweep."""
    with composing():
        words = _read(texts)
        axes = [w for w in words if w.swept]
        if axes:
            count = math.prod(len(w.values) for w in axes)
            raise ConfigError(
                f"{axes[0].key}: train does one run, got {count} values; use `harness sweep`"
            )
        (single,) = plans.build([_point(words, {}, _composer(words))], []).points
        return single


@contextlib.contextmanager
def composing() -> Iterator[None]:
    """Initialize Hydra within the block, and turn its errors into one-line ConfigErrors."""
    try:
        with hydra_initialized():
            yield
    except HarnessError:
        raise
    except RecursionError as error:
        rule = "the defaults of a file in conf/ or sweeps/ must not lead back to itself"
        raise ConfigError(f"{rule}, nor through hundreds of files") from error
    except Exception as error:  # Hydra also lets plain ValueError, TypeError and YAMLError through
        raise ConfigError(reword(error)) from error


def _read(texts: Sequence[str]) -> list[ParsedOverride]:
    """Parse and check the overrides; put those of the sweep file that they do not replace first."""
    words = parse(texts)
    overrides.check(words)
    from_file = user_yaml.check(words, parse)
    merged = list({w.key: w for w in [*from_file, *words]}.values())
    overrides.refuse_too_many(merged)
    return merged


def _with_one_value(word: ParsedOverride, number: int) -> str:
    """Return the override with one value of its axis. Keys inside open keys get `++`, since they
    may not exist yet.
    """
    if keys.is_in_open_key(word.key) and word.prefix != "~":
        return f"++{word.key}={word.texts[number if word.swept else 0]}"
    return f"{word.prefix}{word.key}={word.texts[number]}" if word.swept else word.text


def _composer(words: Sequence[ParsedOverride]) -> Composer:
    """Return a cached function that composes `words`, given the index of each one's value. Whoever
    calls it may set the keys that are swept on what it returns.
    """
    first, options = _compose_checked([_with_one_value(w, 0) for w in words])

    @functools.cache
    def compose_at(numbers: tuple[int, ...]) -> DictConfig:
        numbered = list(zip(words, numbers, strict=True))
        chosen = {w.key: w.values[n] for w, n in numbered if w.swept and w.key in keys.groups()}
        texts = [_with_one_value(word, number) for word, number in numbered]
        values = OmegaConf.to_container(compose("config", texts)) if any(numbers) else first
        overrides.refuse_resolvers(values)
        _check_names(values, {**options, **chosen})
        return _to_schema(values)

    return compose_at


def _compose_checked(texts: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """Compose `texts`; return the values and the option chosen for each group.

    Raises ConfigError for settings of Hydra that users may not change.
    """
    values = plain_config(texts)
    hydra = values.pop("hydra")
    overrides.check_settings(hydra)
    launcher_settings.parse_launcher(hydra["launcher"], installed_launchers())
    return values, hydra["runtime"]["choices"]


def _check_names(values: Any, options: Mapping[str, Any]) -> None:
    """Raise ConfigError if GROUP.name is not the name of the option that was chosen."""
    for group in keys.groups():
        name, option = values[group]["name"], options.get(group)
        if option is not None and name != option:
            raise ConfigError(
                f"{group}.name must be {option!r}, the option that was chosen, so that results are "
                f"labelled with what was trained, got {name!r:.80}"
            )


def plain_config(texts: Sequence[str]) -> Any:
    """Compose `texts` to plain values, including Hydra's own, with interpolations unresolved."""
    composed = compose("config", [*texts, *QUIET], return_hydra_config=True)
    return OmegaConf.to_container(composed)


def installed_launchers() -> dict[str, dict[str, Any]]:
    """Return the launcher entries that installed plugins have registered, by name."""
    entries: Any = ConfigStore.instance().repo["hydra"]["launcher"]
    launchers: dict[str, Any] = {
        name.removesuffix(".yaml"): OmegaConf.to_container(OmegaConf.create(entry.node))
        for name, entry in entries.items()
        if entry.provider != OURS
    }
    return launchers


def _products(axes: Sequence[ParsedOverride]) -> Iterator[tuple[int, ...]]:
    """Yield each combination of the axes as indices of their values; the last varies fastest."""
    yield from itertools.product(*(range(len(axis.values)) for axis in axes))


def _point(
    words: Sequence[ParsedOverride], indices: Mapping[str, int], composer: Composer
) -> Point:
    """Build the point whose swept keys have the value at the index in `indices`, or the first.

    It sets them on what the composer returns: each point sets all of them, so none has a value of
    another, and copying a config takes three times as long as all the rest of a point.
    """
    numbered = [(w, indices.get(w.key, 0)) for w in words]
    config = composer(tuple(n if _needs_hydra(w) else 0 for w, n in numbered))
    for word, number in numbered:
        if word.swept and not _needs_hydra(word):
            overrides.refuse_resolvers(word.values[number], word.key)
            OmegaConf.update(config, word.key, word.values[number], merge=False)
    run_words = [(w, n) for w, n in numbered if not w.key.startswith("hydra")]
    values = {w.key: w.values[n] for w, n in run_words}
    return Point(tuple(_with_one_value(w, n) for w, n in run_words), values, _to_run_config(config))


def _needs_hydra(word: ParsedOverride) -> bool:
    """True if the override must be composed by Hydra: it chooses an option or removes a key."""
    return word.key in keys.groups() or word.prefix == "~"


def _to_run_config(config: DictConfig) -> RunConfig:
    """Convert to a RunConfig, whose parts check their values when they are built."""
    run_config = OmegaConf.to_object(config)
    assert isinstance(run_config, RunConfig)
    return run_config


def _to_schema(values: Any) -> DictConfig:
    """Convert composed values to the schema's types. Raises OmegaConf's error for unknown keys."""
    merged = OmegaConf.merge(_schema(), values)
    assert isinstance(merged, DictConfig)
    return merged


def hydra_initialized() -> contextlib.AbstractContextManager[None]:
    """Initialize Hydra with harness's search path; again for each use, since a job resets it."""
    Plugins.instance().register(_SearchPath)
    Plugins.instance().register(_CheckedFiles)
    conf = str(installation.shipped() / "conf")
    context: Any = initialize_config_dir(conf, job_name="harness", version_base="1.3")
    return context  # type: ignore[no-any-return]


_current_folder_counts: ContextVar[bool] = ContextVar("_current_folder_counts", default=True)


@contextlib.contextmanager
def only_shipped_options() -> Iterator[None]:
    """Exclude conf/ and sweeps/ of the current folder from the search path within the block."""
    token = _current_folder_counts.set(False)
    try:
        yield
    finally:
        _current_folder_counts.reset(token)


class _SearchPath(SearchPathPlugin):  # type: ignore[misc]
    """Adds the current folder's conf/ before harness's own, and after it the conf/ of plug-ins and
    the parent folders of sweeps/.
    """

    def manipulate_search_path(self, searched: ConfigSearchPath) -> None:
        if not _current_folder_counts.get():
            return
        main = SearchPathQuery("main", None)
        for folder in search_path.own_conf_folders():
            searched.prepend(OURS, f"{_CheckedFiles.scheme()}://{folder}", main)
        for folder in search_path.plug_in_folders():
            searched.append(OURS, f"{_CheckedFiles.scheme()}://{folder}")
        for folder in search_path.sweep_folders():
            scheme = "file" if folder.parent == installation.shipped() else _CheckedFiles.scheme()
            searched.append(OURS, f"{scheme}://{folder.parent}")


class _CheckedFiles(FileConfigSource):  # type: ignore[misc]
    """Reads files of the current folder and of plug-ins, and checks each as Hydra reads it.

    This also covers files that the checks in `user_yaml` cannot find, since those do not follow
    defaults lists in every way that Hydra does.
    """

    @staticmethod
    def scheme() -> str:
        return "harness"

    def load_config(self, config_path: str) -> ConfigResult:
        user_yaml.check_file(Path(self.path) / self._normalize_file_name(config_path))
        return super().load_config(config_path)


@functools.cache
def _schema() -> DictConfig:
    """RunConfig as an OmegaConf schema, made writable: frozen classes give read-only nodes."""
    schema = OmegaConf.structured(RunConfig)
    pending = [schema]
    while pending:
        node = pending.pop()
        OmegaConf.set_readonly(node, None)
        pending += [part for part in node.values() if isinstance(part, DictConfig)]
    assert isinstance(schema, DictConfig)
    return schema


ConfigStore.instance().store(name="run_schema", node=_schema())
