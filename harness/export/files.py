"""The files of an export: weights, config and tokenizer of a checkpoint, verified while copying.

Only JSON is parsed here. The optimiser and random states, which are pickles, are not exported.
"""

from __future__ import annotations

import fnmatch
import json
from pathlib import Path
from typing import Any

from harness.config.run import PolicyConfig
from harness.errors import ConfigError, DataError, StorageError
from harness.export.source import Source
from harness.policy import model_files
from harness.records import atomic, checkpoints, manifest, plain_file

OF_THE_TRAINER = ("trainer_state.json",)
OF_THE_MODEL = ("*.safetensors", "*.safetensors.index.json", "config.json", "adapter_config.json")
ADAPTERS, CONFIG, GENERATION = "adapter_config.json", "config.json", "generation_config.json"
REWRITTEN = (ADAPTERS, CONFIG, GENERATION)
"""Small files of which some keys are changed."""


def write(source: Source, merge: bool, folder: Path) -> None:
    """Write all files of the export except the card to `folder`.

    Raises ConfigError if adapters would be merged into another model than they were trained on,
    DataError if a file differs from the checkpoint's manifest, StorageError, OSError.
    """
    if merge:
        base = base_of(source)
        from harness.policy import merged  # imports torch, which copying does not need

        merged.write(source.config.policy, base, source.files, folder)
    sums = manifest.read(source.checkpoint.path)["files"]
    for name in _names(source, merge):
        if name not in REWRITTEN:
            _copy(source, name, folder / name, sums)
    if source.is_adapted and not merge:
        _write_adapters(source.config.policy, source.files / ADAPTERS, folder / ADAPTERS)
    else:
        model_folder = folder if merge else source.files
        config = _values(model_folder / CONFIG)
        # training turns the cache off, since it would keep keys and values without using them
        atomic.write_json(folder / CONFIG, {**config, "use_cache": True})
        generation_path = model_folder / GENERATION
        values = _values(generation_path) if generation_path.is_file() else _end_tokens(config)
        atomic.write_json(folder / GENERATION, _sampling_settings(values, source.config.policy))


def base_of(source: Source) -> Path | None:
    """Return the folder of the model below a run's adapters; None for random weights.

    Raises ConfigError if it cannot be found or differs from the model at the start of the run.
    """
    policy, recorded = source.config.policy, source.status.start_model
    base = model_files.ensure(policy)
    if base is None or recorded is None:
        return base
    current = manifest.digest(base, model_files.model_file_names(base))
    if current != recorded:
        raise ConfigError(
            f"policy.model: {policy.model} must be the model that the run began with, sha256 "
            f"{recorded[:12]}, got {current[:12]}"
        )
    return base


def _names(source: Source, merge: bool) -> list[str]:
    """Return the names of the checkpoint's files to export; without the model's if `merge`."""
    try:
        names = sorted(path.name for path in source.files.iterdir() if path.is_file())
    except OSError as error:
        why = error.strerror or error
        raise StorageError(f"{source.files}: must be the folder of a model, got: {why}") from error
    exported = [name for name in names if _matches(name, model_files.WEIGHTS)]
    kept = [name for name in exported if name not in OF_THE_TRAINER]
    return [name for name in kept if not (merge and _matches(name, OF_THE_MODEL))]


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _copy(source: Source, name: str, target: Path, sums: dict[str, Any]) -> None:
    path = source.files / name
    with open(path, "rb", opener=plain_file.opener) as file:
        digest = atomic.copy(file, target)
    if digest != sums[f"{checkpoints.MODEL}/{name}"]["sha256"]:  # changed since it was verified
        raise DataError(f"{path}: must be as its manifest says, got another sha256, {digest[:12]}")


def _write_adapters(policy: PolicyConfig, saved: Path, target: Path) -> None:
    """Write the adapters' config. It names their base model only if that is on the hub."""
    on_the_hub = model_files.is_on_the_hub(policy)
    base_model = {
        "base_model_name_or_path": policy.model if on_the_hub else None,
        "revision": (policy.revision or None) if on_the_hub else None,
    }
    atomic.write_json(target, {**_values(saved), **base_model})


def _end_tokens(config: dict[str, Any]) -> dict[str, Any]:
    return {name: config[name] for name in ("eos_token_id", "pad_token_id") if name in config}


def _sampling_settings(values: dict[str, Any], policy: PolicyConfig) -> dict[str, Any]:
    """Return the sampling settings of training: all tokens, at the policy's temperature."""
    ends = {k: v for k, v in values.items() if k.endswith("_token_id")}
    return {
        **ends,
        "do_sample": True,
        "temperature": policy.temperature,
        "top_k": 0,
        "top_p": 1.0,
        "max_new_tokens": policy.max_turn_tokens,
    }


def _values(path: Path) -> dict[str, Any]:
    """Read the JSON object in a file. Raises DataError if it is not one."""
    try:
        values = json.loads(plain_file.text(path))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read: {plain_file.one_line(error)}") from error
    if not isinstance(values, dict):
        raise DataError(f"{path}: must hold a JSON object, got {type(values).__name__}")
    return values
