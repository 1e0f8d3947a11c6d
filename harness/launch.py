"""Hydra, which only grammar.py speaks to as well: words to a checked plan, folders to runs.

`hydra.main` owns sys.argv, returns nothing and exits the process, so a Typer command cannot host
it. The public `initialize_config_dir` sets up the same machinery as a context manager; the object
it registers has the `multirun` that `--multirun` calls, with the chosen launcher.

`plan` takes the product of the axes and checks each point of it. It composes once for each choice
of options, and sets on it what else is swept: composing is what a plan costs. Then `multirun` gives
the launcher one numbered job per run folder, so that a first launch and a resume are the same act.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import itertools
import math
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra.core.config_search_path import ConfigSearchPath, SearchPathQuery
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.types import Quote, QuotedString
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf

from harness import jobs, keys, launchers, own_files, places, plans
from harness.config import RunConfig
from harness.errors import ConfigError, HarnessError
from harness.grammar import parse
from harness.keys import Word
from harness.launchers import Launcher
from harness.plans import Plan, Point
from harness.rewording import reword
from harness.run import RunOutcome
from harness.trying import IfFailed

LAUNCHERS = "hydra/launcher"
WHERE = ("sweeps", LAUNCHERS, "hydra.launcher.")
"""Words that say where runs are executed; a sweep file may name a launcher too."""
OURS = "harness"
"""Provider of the launcher entries that `launch` makes."""
Composer = Callable[[tuple[int, ...]], DictConfig]
QUIET = ("hydra/hydra_logging=none", "hydra/job_logging=none", "hydra.output_subdir=null")


def plan(overrides: Sequence[str]) -> Plan:
    """Compose and check every point. Raises ConfigError, in one line, for anything wrong."""
    with _composing():
        words = _read(overrides)
        axes = [w for w in words if w.swept]
        composed = _composer(words)
        # each value with the others at their first, before their product; the short axes first
        for axis in sorted(axes, key=lambda w: len(w.values)):
            for number in range(len(axis.values)):
                _point(words, {axis.key: number}, composed)
        points = [_point(words, at, composed) for at in _products(axes)]
        return plans.build(points, [w.key for w in axes])


def point(overrides: Sequence[str]) -> Point:
    """The one point that the words make. Raises ConfigError, also if they make a sweep."""
    with _composing():
        words = _read(overrides)
        axes = [w for w in words if w.swept]
        if axes:
            count = math.prod(len(w.values) for w in axes)
            raise ConfigError(
                f"{axes[0].key}: train does one run, got {count} values; use `harness sweep`"
            )
        (only,) = plans.build([_point(words, {}, _composer(words))], []).points
        return only


def launch(
    dirs: Sequence[Path], overrides: Sequence[str], runs_at_once: int, if_failed: IfFailed
) -> list[RunOutcome]:
    """Execute the runs planned in `dirs` by the launcher that `overrides` choose.

    Raises ConfigError for a launcher, or a setting of one, that no word or file may choose.
    """
    os.environ["PYTHONSAFEPATH"] = "1"  # a module in the current folder must not hide a library's
    # joblib's tracker clears up after a sweep that is ended at once; nobody need read of it
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
    launcher = _launcher(overrides)  # from a sweep.json that may be somebody else's
    names = [str(path) for path in dirs]
    task = functools.partial(_execute, names, os.getpid(), if_failed)
    with _shipped_alone(), _hydra():
        words = [f"{LAUNCHERS}={_stored(launcher, runs_at_once)}", f"seed=range({len(dirs)})"]
        return _multirun(task, words, str(dirs[0].parent / ".launcher"))


def _launcher(overrides: Sequence[str]) -> Launcher:
    """The launcher that the words choose, and what a conf/ or sweep file tells it."""
    with _composing():
        words = [word for word in parse(overrides) if word.key.startswith(WHERE)]
        keys.check(words)
        own_files.check(words, parse)
        composed = _composed([word.text for word in words])
        keys.check_settings(composed["hydra"])
        return launchers.chosen(composed["hydra"]["launcher"], _installed())


def _installed() -> dict[str, dict[str, Any]]:
    """By name, the launcher entries that installed plugins have registered."""
    entries: Any = ConfigStore.instance().repo["hydra"]["launcher"]
    found: dict[str, Any] = {
        name.removesuffix(".yaml"): OmegaConf.to_container(OmegaConf.create(entry.node))
        for name, entry in entries.items()
        if entry.provider != OURS
    }
    return found


def _stored(launcher: Launcher, runs_at_once: int) -> str:
    """The name under which Hydra finds the plugin's own entry with the launcher's settings.

    Nobody can have put a file of that name into a conf/.
    """
    node = OmegaConf.create(_installed()[launcher.plugin])
    at_once = {"n_jobs": runs_at_once} if launcher.plugin == "joblib" else {}
    for key, value in {**at_once, **launcher.settings}.items():
        OmegaConf.update(node, key, value, force_add=True)
    name = f"{OURS}_{secrets.token_hex(8)}"
    ConfigStore.instance().store(group=LAUNCHERS, name=name, node=node, provider=OURS)
    return name


def _multirun(task: Any, overrides: Sequence[str], folder: str) -> list[Any]:
    """Values of `task` in job order; `folder` is for what Hydra and its launchers write."""
    place = [f"hydra.sweep.dir={_quoted(folder)}", "hydra.sweep.subdir=${hydra.job.num}"]
    hydra = GlobalHydra.instance().hydra
    assert hydra is not None
    batches = hydra.multirun("config", task, [*overrides, *place, *QUIET, "hydra.mode=MULTIRUN"])
    return [job.return_value for batch in batches for job in batch]


def _quoted(path: str) -> str:
    """A path as a word of Hydra's that stands for itself: a `${` in it is no interpolation."""
    literal = re.sub(r"(\\*)\$\{", lambda found: 2 * found[1] + r"\${", path)
    return str(QuotedString(text=literal, quote=Quote.double).with_quotes())


def is_local(overrides: Sequence[str]) -> bool:
    """True if the launcher that the words choose executes runs on this machine."""
    return _launcher(overrides).is_local


@contextlib.contextmanager
def _composing() -> Iterator[None]:
    """Hydra at work; whatever it raises becomes one line."""
    try:
        with _hydra():
            yield
    except HarnessError:
        raise
    except Exception as error:  # Hydra also lets plain ValueError, TypeError and YAMLError through
        raise ConfigError(reword(error)) from error


def _read(overrides: Sequence[str]) -> list[Word]:
    """The words, and before them those of the sweep file that are not said again."""
    words = parse(overrides)
    keys.check(words)
    from_file = own_files.check(words, parse)
    return list({w.key: w for w in [*from_file, *words]}.values())


def _at(word: Word, number: int) -> str:
    """The word at one value of its axis; what is not there yet of a method is added to it."""
    if word.key.startswith(keys.METHODS) and word.prefix != "~":
        return f"++{word.key}={word.texts[number if word.swept else 0]}"
    return f"{word.prefix}{word.key}={word.texts[number]}" if word.swept else word.text


def _composer(words: Sequence[Word]) -> Composer:
    """Composes `words` with given numbers of their values, once for the same; settings checked."""
    first = _checked([_at(w, 0) for w in words])

    @functools.cache
    def composed(numbers: tuple[int, ...]) -> DictConfig:
        texts = [_at(word, number) for word, number in zip(words, numbers, strict=True)]
        return _typed(OmegaConf.to_container(compose("config", texts)) if any(numbers) else first)

    return composed


def _checked(texts: Sequence[str]) -> Any:
    """What `texts` compose. Raises ConfigError for settings of Hydra's that are not a user's."""
    found = _composed(texts)
    hydra = found.pop("hydra")
    keys.check_settings(hydra)
    launchers.chosen(hydra["launcher"], _installed())
    return found


def _composed(texts: Sequence[str]) -> Any:
    """What `texts` compose, Hydra's own part included, as plain values; nothing is resolved."""
    composed = compose("config", [*texts, *QUIET], return_hydra_config=True)
    return OmegaConf.to_container(composed)


def _products(axes: Sequence[Word]) -> Iterator[dict[str, int]]:
    """By key, the number of the value of each axis; the last varies fastest, as Hydra has it."""
    for numbers in itertools.product(*(range(len(axis.values)) for axis in axes)):
        yield dict(zip((axis.key for axis in axes), numbers, strict=True))


def _point(words: Sequence[Word], at: Mapping[str, int], composed: Composer) -> Point:
    """The point with the value number `at` of each axis, by key, and of others the first."""
    numbered = [(w, at.get(w.key, 0)) for w in words]
    config = copy.deepcopy(composed(tuple(n if _chooses(w) else 0 for w, n in numbered)))
    for word, number in numbered:
        if word.swept and not _chooses(word):
            keys.refuse_resolvers(word.values[number], word.key)
            OmegaConf.update(config, word.key, word.values[number], merge=False)
    ours = [(w, n) for w, n in numbered if not w.key.startswith("hydra")]
    values = {w.key: w.values[n] for w, n in ours}
    return Point(tuple(_at(w, n) for w, n in ours), values, _to_run_config(config))


def _chooses(word: Word) -> bool:
    """Whether the word must be composed: it names an option or takes a key away."""
    return word.key in keys.groups() or word.prefix == "~"


def _execute(
    dirs: Sequence[str], launcher_pid: int, if_failed: IfFailed, _: DictConfig
) -> RunOutcome:
    """The task of a launch: the run that has this job's number."""
    return jobs.execute(dirs, HydraConfig.get().job.num, launcher_pid, if_failed)


def _to_run_config(config: DictConfig) -> RunConfig:
    """The config's own class, whose parts check their ranges as they are made."""
    built = OmegaConf.to_object(config)
    assert isinstance(built, RunConfig)
    return built


def _typed(values: Any) -> DictConfig:
    """A composed config in its types; unknown keys are refused."""
    keys.refuse_resolvers(values)
    typed = OmegaConf.merge(_schema(), values)
    assert isinstance(typed, DictConfig)
    return typed


def _hydra() -> contextlib.AbstractContextManager[None]:
    """Hydra, with the places that are searched; a job in this process would make it forget them."""
    Plugins.instance().register(_Places)
    conf = str(places.shipped() / "conf")
    context: Any = initialize_config_dir(conf, job_name="harness", version_base="1.3")
    return context  # type: ignore[no-any-return]


_current_folder_counts: ContextVar[bool] = ContextVar("_current_folder_counts", default=True)


@contextlib.contextmanager
def _shipped_alone() -> Iterator[None]:
    """Meanwhile no conf/ or sweeps/ of the current folder is searched."""
    token = _current_folder_counts.set(False)
    try:
        yield
    finally:
        _current_folder_counts.reset(token)


class _Places(SearchPathPlugin):  # type: ignore[misc]
    """The current folder's conf/ before harness's own, and the folders that hold sweeps/."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        if not _current_folder_counts.get():
            return
        main = SearchPathQuery("main", None)
        for folder in places.conf_folders()[:-1]:
            search_path.prepend("harness", f"file://{folder}", main)
        for folder in places.sweep_folders():
            search_path.append("harness", f"file://{folder.parent}")


@functools.cache
def _schema() -> DictConfig:
    """RunConfig for OmegaConf, which takes a frozen class for one that no YAML may fill in."""
    schema = OmegaConf.structured(RunConfig)
    pending = [schema]
    while pending:
        node = pending.pop()
        OmegaConf.set_readonly(node, None)
        pending += [part for part in node.values() if isinstance(part, DictConfig)]
    assert isinstance(schema, DictConfig)
    return schema


ConfigStore.instance().store(name="run_schema", node=_schema())
