"""Launches planned runs: Hydra's multirun with the chosen launcher.

Hydra gives the launcher one numbered job per run folder, so that a first launch and a resume work
in the same way. The launcher's class comes from an installed plugin's own entry. Its settings come
from the command line and from conf/ or a sweep file; but during the launch no conf/ of the current
folder is searched.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import re
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.core.override_parser.types import Quote, QuotedString
from omegaconf import DictConfig, OmegaConf

from harness.compose import launcher_settings, planner, user_yaml
from harness.compose import overrides as keys
from harness.compose.grammar import parse
from harness.compose.launcher_settings import Launcher
from harness.config.grant import Grant
from harness.config.run import RunConfig
from harness.errors import FolderError
from harness.execution import job as jobs
from harness.execution import nodes, slurm
from harness.execution.child_process import RunOutcome
from harness.execution.retry import RetryPolicy
from harness.records import atomic
from harness.utils import process

LAUNCHERS = "hydra/launcher"
WHERE = ("sweeps", LAUNCHERS, "hydra.launcher.")
"""Prefixes of the keys that determine where runs are executed; a sweep file may set a launcher."""
OURS = planner.OURS
JOBS = f"{OURS}_jobs"
"""Name of the config that a launch composes: each job's number alone. The runs are planned before,
and composing all their keys again would take more than twice as long."""
ConfigStore.instance().store(name=JOBS, node={"number": 0}, provider=OURS)


def chosen(overrides: Sequence[str]) -> Launcher:
    """Return the launcher that the overrides choose, with its settings from all sources. All are
    checked, since the overrides of a sweep.json may come from somebody else.

    Raises ConfigError for a launcher or a launcher setting that may not be chosen.
    """
    with planner.composing():
        words = [word for word in parse(overrides) if word.key.startswith(WHERE)]
        keys.check(words)
        user_yaml.check(words, parse)
        composed = planner.plain_config([word.text for word in words])
        keys.check_settings(composed["hydra"])
        return launcher_settings.parse_launcher(
            composed["hydra"]["launcher"], planner.installed_launchers()
        )


def execute(
    dirs: Sequence[Path],
    launcher: Launcher,
    runs_at_once: int,
    retry_policy: RetryPolicy,
    granted: frozenset[Grant] = frozenset(),
) -> None:
    """Execute the runs planned in `dirs`. Raises DeviceError if Slurm refuses the jobs."""
    # joblib's tracker warns about what it cleans up after a sweep that is ended at once
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker:UserWarning")
    names = [str(path) for path in dirs]
    root = dirs[0].parent
    if launcher.plugin == slurm.PLUGIN:
        task = slurm.Task(tuple(names), retry_policy, granted)
        with _scratch(root, launcher) as logs:
            slurm.execute(task, _settings(launcher), root, logs)
        return
    work = functools.partial(_execute, names, os.getpid(), launcher.is_local, retry_policy, granted)
    with (
        planner.only_shipped_options(),
        planner.hydra_initialized(),
        _scratch(root, launcher) as scratch,
        _store_settings(launcher, runs_at_once, len(dirs)) as name,
    ):
        words = [f"{LAUNCHERS}={name}", f"number=range({len(dirs)})"]
        with _quiet_start(launcher):
            _multirun(work, words, str(scratch))


def _quiet_start(launcher: Launcher) -> contextlib.AbstractContextManager[None]:
    """Return a context in which joblib's workers start without SIGINT: the sweep handles it."""
    if launcher.plugin != "joblib":
        return contextlib.nullcontext()
    return process.interrupt_kept_from_children()


def check(launcher: Launcher, configs: Iterable[RunConfig] = ()) -> None:
    """Raise DeviceError if a program that the launcher needs is missing, and ConfigError if it
    cannot start one of these runs on the number of nodes that it wants.
    """
    on_slurm = launcher.plugin == slurm.PLUGIN
    nodes.check_launcher(configs, launcher.settings.get("nodes") or 1 if on_slurm else None)
    if on_slurm:
        slurm.check()


def count_queued(launcher: Launcher, root: Path) -> int:
    """Return how many jobs of earlier launches of the sweep in `root` are still in a cluster's
    queue. Raises DeviceError if Slurm does not answer.
    """
    return len(slurm.queued(root)) if launcher.plugin == slurm.PLUGIN else 0


@contextlib.contextmanager
def _scratch(root: Path, launcher: Launcher) -> Iterator[Path]:
    """Create a folder in the sweep's folder for the launcher's files. A cluster's folder is kept,
    since it contains the logs of the jobs.

    The folder must be new: launcher plugins unpickle files from it by job number, and the sweep's
    folder may come from somebody else. Raises FolderError.
    """
    path = root / f".launcher-{secrets.token_hex(8)}"
    try:
        path.mkdir(mode=0o700)
    except OSError as error:
        raise FolderError(f"{path}: {error.strerror or error}") from error
    try:
        yield path
    finally:
        if launcher.is_local:
            with contextlib.suppress(OSError):
                atomic.remove(path)


@contextlib.contextmanager
def _store_settings(launcher: Launcher, runs_at_once: int, runs: int) -> Iterator[str]:
    """Store the plugin's own entry with the launcher's settings in Hydra, and yield its name.

    The name is random, so that no file in a conf/ can have it. It is removed after the launch,
    since Hydra lists stored names in errors about unknown options. At most `runs` workers are used.
    """
    workers = _worker_settings(runs_at_once) if launcher.plugin == "joblib" else {}
    settings = {**workers, **launcher.settings}
    if "n_jobs" in settings:
        settings["n_jobs"] = min(settings["n_jobs"], runs)
    node = _node(launcher.plugin, settings)
    name = f"{OURS}_{secrets.token_hex(8)}"
    store = ConfigStore.instance()
    store.store(group=LAUNCHERS, name=name, node=node, provider=OURS)
    try:
        yield name
    finally:
        group, _, kind = LAUNCHERS.partition("/")
        entries: Any = store.repo[group]
        del entries[kind][f"{name}.yaml"]


def _node(plugin: str, settings: Mapping[str, Any]) -> DictConfig:
    """Return the plugin's own entry with these settings."""
    node = OmegaConf.create(planner.installed_launchers()[plugin])
    for key, value in settings.items():
        OmegaConf.update(node, key, value, force_add=True)
    return node


def _settings(launcher: Launcher) -> dict[str, Any]:
    """Return all settings of a launcher by name, with interpolations unresolved."""
    return cast(dict[str, Any], OmegaConf.to_container(_node(launcher.plugin, launcher.settings)))


def _worker_settings(runs_at_once: int) -> dict[str, Any]:
    """Return settings of joblib: the number of workers, and an initializer that ends them with this
    process.
    """
    from joblib import Parallel

    if "backend_kwargs" not in inspect.signature(Parallel).parameters:  # before joblib 1.5
        return {"n_jobs": runs_at_once}
    initializer = {"_target_": f"{jobs.__name__}.{jobs.end_with.__name__}", "pid": os.getpid()}
    return {"n_jobs": runs_at_once, "initializer": initializer}


def _multirun(task: Any, overrides: Sequence[str], folder: str) -> list[Any]:
    """Run `task` for each job and return its values in job order. Hydra writes to `folder`."""
    folder_words = [f"hydra.sweep.dir={_quote(folder)}", "hydra.sweep.subdir=${hydra.job.num}"]
    hydra = GlobalHydra.instance().hydra
    assert hydra is not None
    words = [*overrides, *folder_words, *planner.QUIET, "hydra.mode=MULTIRUN"]
    batches = hydra.multirun(JOBS, task, words)
    return [job.return_value for batch in batches for job in batch]


def _quote(path: str) -> str:
    """Quote a path for Hydra's override grammar, so that `${` is not an interpolation."""
    literal = re.sub(r"(\\*)\$\{", lambda match: 2 * match[1] + r"\${", path)
    return str(QuotedString(text=literal, quote=Quote.double).with_quotes())


def _execute(
    dirs: Sequence[str],
    pid: int,
    is_local: bool,
    retry_policy: RetryPolicy,
    granted: frozenset[Grant],
    _: DictConfig,
) -> RunOutcome:
    """Execute the run with this job's number: the task that Hydra calls."""
    return jobs.execute(dirs, HydraConfig.get().job.num, pid, is_local, retry_policy, granted)
