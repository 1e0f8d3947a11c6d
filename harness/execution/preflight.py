"""Checks before anything is created: packages, models, keys, disk space."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from harness.config import engine_choice
from harness.config.grant import Grant
from harness.config.run import LEVELS, PolicyConfig, RunConfig, SimulatorConfig, TrainerConfig
from harness.errors import ConfigError, EndpointError, FolderError, StorageError
from harness.policy import model_files
from harness.records import user_folders
from harness.train import trackers
from harness.trust import permission
from harness.utils import installation, safe_text
from harness.utils.terminal import format_size

FOR_LANGUAGE_MODELS = ("torch", "transformers", "trl")
FOR_SERVED_USERS = ("openai",)
FOR_TRACKERS = ("accelerate",)


def check(
    configs: Iterable[RunConfig], granted: Collection[Grant] = frozenset()
) -> frozenset[Grant]:
    """Check all runs; return which environment variables they send to which hosts.

    `granted`: permissions from the command line. Prints once if trainer.engine=auto does not use an
    installed vLLM. Raises ConfigError, with the install command, if a package is missing, for a key
    that may not be sent, and for a cache variable that names no usable folder; DeviceError if an
    engine needs a GPU that the run does not request; FolderError if a start model cannot be cached;
    StorageError if there is no temporary folder.
    """
    runs = list(configs)
    _check_policies(runs)
    if any(config.trainer.gpus or config.policy.kind != "tabular" for config in runs):
        user_folders.temporary()  # for locks of GPUs, and torch asks for one
    _check_trackers({name for config in runs for name in config.trainer.report_to})
    distinct = {repr((c.simulator, c.difficulty)): c for c in runs}.values()
    return frozenset().union(*(check_users(config, granted) for config in distinct))


def check_users(config: RunConfig, granted: Collection[Grant] = frozenset()) -> frozenset[Grant]:
    """Check a run's users; return which environment variable they send to which host.

    `granted`: permissions from the command line. Raises ConfigError if a served user lacks the
    client library or the key, if the key may not be sent there, or if no user of simulator.profiles
    fits a level.
    """
    grant = permission.require(config.simulator, granted)
    if config.simulator.kind == "served":
        _check_served(config.simulator)
    if config.simulator.profiles:
        from harness.simulator.served import cast

        for level in (config.difficulty, *(getattr(config.levels, name) for name in LEVELS)):
            cast.check(level, config.simulator)
    return frozenset({grant} if grant else ())


STARTED = "start it, as in `vllm serve {}`, or set simulator.base_url=URL"
MOST_TRIES = 4
"""Attempts to get an answer from an endpoint; a few seconds in total if nothing listens."""


def ask_endpoints(configs: Iterable[RunConfig], granted: Collection[Grant] = frozenset()) -> None:
    """Request one answer from each endpoint of a served user, before anything is created.

    `granted`: variables that may be sent. Raises EndpointError, which says how to start an
    endpoint, if there is no answer, ConfigError if the key is refused.
    """
    served = {config.simulator for config in configs if config.simulator.kind == "served"}
    for simulator in sorted(served, key=repr):
        from harness.simulator.served.client import client_for
        from harness.simulator.served.simulator import check_endpoint

        safe_text.say(f"asking {simulator.base_url} for one answer of {simulator.model}")
        tries = min(simulator.retries, MOST_TRIES - 1)
        client = client_for(dataclasses.replace(simulator, retries=tries))
        try:
            with permission.temporarily_granted(granted):
                check_endpoint(client)
        except EndpointError as error:
            raise EndpointError(f"{error}; {STARTED.format(simulator.model)}") from error
        finally:
            client.close()


def tell(grants: Iterable[Grant]) -> None:
    """Print which variable will be sent to which host."""
    for grant in sorted(grants):
        safe_text.say(f"sends ${grant.variable} to {grant.host}")


def _check_served(simulator: SimulatorConfig) -> None:
    not_installed = missing(FOR_SERVED_USERS)
    if not_installed:
        raise ConfigError(
            f"simulator.kind: served needs {', '.join(not_installed)}: "
            f"{installation.install_command('train')}"
        )
    name = simulator.api_key_env
    if name and not os.environ.get(name):
        raise ConfigError(f"simulator.api_key_env: the variable {name} must hold the key, not set")


def _check_trackers(names: Iterable[str]) -> None:
    tracker_names = sorted(names)
    trackers.refuse_settings_here(tracker_names)
    not_installed = missing((*tracker_names, *FOR_TRACKERS)) if tracker_names else []
    if not_installed:
        missing_trackers = [name for name in tracker_names if name in not_installed]
        raise ConfigError(
            f"trainer.report_to: {', '.join(tracker_names)} needs {', '.join(not_installed)}: "
            f"{' '.join([installation.install_command('train'), *missing_trackers])}"
        )


def _check_policies(configs: Sequence[RunConfig]) -> None:
    kinds = {config.policy.kind for config in configs} - {"tabular"}
    not_installed = missing(FOR_LANGUAGE_MODELS)
    if kinds and not_installed:
        raise ConfigError(
            f"policy.kind: {min(kinds)} needs {', '.join(not_installed)}: "
            f"{installation.install_command('train')}, "
            "or choose policy=tabular, which needs none"
        )
    _check_cache({c.policy for c in configs if c.policy.kind == "tiny"})
    for config in configs:
        model_files.check(config.policy)
        engine_choice.check(config)
        _say_once(engine_choice.rejected_vllm(config))
        _say_once(engine_choice.untried_vllm(config))
    for policy in {c.policy for c in configs if c.policy.kind == "hf"}:
        _try_load(policy)


@functools.cache
def _say_once(sentence: str | None) -> None:
    """Print a sentence once per process, since runs are checked again before they start."""
    if sentence is not None:
        safe_text.say(sentence)


def _check_cache(tiny: Collection[PolicyConfig]) -> None:
    """Raise ConfigError or FolderError if a start model must be built but cannot be cached."""
    if not tiny:
        return
    try:
        user_folders.writable_cache()
    except (ConfigError, FolderError):
        from harness.train.warm_start import start_model

        if not all(start_model.is_built(policy) for policy in tiny):
            raise


@functools.cache
def _try_load(policy: PolicyConfig) -> None:
    """Load the model without its weights, in a child process. Raises ConfigError if that fails,
    StorageError if the child ended with that error's exit code.
    """
    words = ["-m", "harness.policy.model_files", json.dumps(dataclasses.asdict(policy))]
    result = subprocess.run(
        [sys.executable, "-P", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    if result.returncode:
        why = result.stdout.strip() or f"policy.model: {policy.model} must load, but does not"
        raise (StorageError if result.returncode == StorageError.exit_code else ConfigError)(why)


def missing(modules: Iterable[str]) -> list[str]:
    """Return the `modules` that are not installed, without importing any."""
    return [name for name in modules if importlib.util.find_spec(name) is None]


ROW_BYTES = 5_600
"""Size of a row of metrics.jsonl, measured on tabular and tiny runs on 2026-11-24."""
EVENT_BYTES, CONVERSATION_BYTES = 210, 740
"""Size of a step in events.jsonl and of a saved conversation, measured on tabular runs that day."""
TABULAR_BYTES = 40_000
"""Size of a tabular checkpoint, measured."""
LEARNT_BYTES = 12
"""Size of a trained weight in a checkpoint: the weight and Adam's two moments, fp32."""


def check_disk_space(configs: Sequence[RunConfig], path: Path) -> None:
    """Raise FolderError if `path` has less free space than the runs' rows and checkpoints need."""
    needed, free = sum(map(least_bytes, configs)), _free_bytes(path)
    if needed > free:
        runs = f"{len(configs)} run{'s' * (len(configs) != 1)}"
        raise FolderError(
            f"{path}: rows and checkpoints of {runs} take at least {format_size(needed)}, and "
            f"{format_size(free)} are free; free some, or choose fewer trainer.steps or another "
            "folder"
        )


def least_bytes(config: RunConfig) -> int:
    """Return the size of a run folder's rows and checkpoints in bytes."""
    trainer = config.trainer
    return trainer.steps * ROW_BYTES + _kept_checkpoints(trainer) * _checkpoint_bytes(config.policy)


def expected_bytes(config: RunConfig) -> int:
    """Estimate the size of a finished run's folder in bytes, with events and conversations."""
    trainer = config.trainer
    interval = trainer.conversations_every
    saved_steps = len({1, trainer.steps, *range(interval, trainer.steps + 1, interval)})
    conversation_bytes = saved_steps * trainer.conversations * CONVERSATION_BYTES
    return least_bytes(config) + trainer.steps * EVENT_BYTES + conversation_bytes


def _kept_checkpoints(trainer: TrainerConfig) -> int:
    """Return the number of checkpoints at the end: the two newest and the trainer.keep_every-th."""
    steps, keep_every = trainer.steps, trainer.keep_every
    saved = [n for n in (trainer.checkpoint_every, keep_every) if n]
    newest = {steps, max((steps - 1) // n * n for n in saved)} - {0}
    if not keep_every:
        return len(newest)
    return steps // keep_every + sum(step % keep_every != 0 for step in newest)


def _checkpoint_bytes(policy: PolicyConfig) -> int:
    return TABULAR_BYTES if policy.kind == "tabular" else LEARNT_BYTES * _trained_weights(policy)


def _trained_weights(policy: PolicyConfig) -> int:
    """Return the number of trained weights, from the shape in the config."""
    width = policy.hidden_size
    head = policy.head_size or width // policy.attention_heads
    queries = policy.attention_heads * head
    keys = (policy.key_value_heads or policy.attention_heads // 2) * head
    inner = policy.feed_forward_size or 3 * width
    linear = [(width, queries), (width, keys), (width, keys), (queries, width)]
    linear += [(width, inner), (width, inner), (inner, width)]
    if policy.lora_rank:
        return policy.layers * sum(policy.lora_rank * (a + b) for a, b in linear)
    words = policy.vocabulary * width * (1 if policy.tied_head else 2)
    return words + policy.layers * sum(a * b for a, b in linear)


def _free_bytes(path: Path) -> int:
    """Return the free space at the folder or, before it exists, at its nearest existing parent."""
    nearest = path.absolute()
    while not nearest.exists():
        nearest = nearest.parent
    return shutil.disk_usage(nearest).free
