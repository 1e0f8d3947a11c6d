"""The description of a model for vLLM: a folder with its config, and settings by vLLM's version.

vLLM is not imported here. The folder is named by a hash of its content. Since vLLM's cache of
compiled code is keyed by the folder's path, a later or resumed run finds the compiled code.
"""

from __future__ import annotations

import copy
import hashlib
import json
from pathlib import Path
from typing import Any

from packaging.specifiers import SpecifierSet

from harness.records import atomic, cache_entry, user_folders
from harness.train.engines.engine import plain_model

CONFIG = "config.json"
UNSTABLE = ("_name_or_path", "transformers_version")
"""Keys of a config that describe its origin and do not change the model."""
FLOAT32_HEAD = SpecifierSet(">=0.31")
"""Versions of vLLM in which hf_overrides sets the head's dtype for generative models; some earlier
versions have the key but warn that it has no effect."""


def folder(model: Any) -> Path:
    """Return the folder in the user's cache with the config of `model`, made if necessary.

    Equal configs have the same folder. Raises ConfigError, FolderError or StorageError if the cache
    cannot be written.
    """
    text = json.dumps(shape_of(model), indent=1, sort_keys=True) + "\n"
    name = f"vllm-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    entry = user_folders.writable_cache() / name

    def make() -> None:
        cache_entry.put(entry, lambda scratch: atomic.write_text(scratch / CONFIG, text))

    return cache_entry.ensure(entry, [CONFIG], make)


def shape_of(model: Any) -> dict[str, Any]:
    """Return the config of the model below the adapters, as vLLM reads it."""
    shape = copy.deepcopy(model.config)
    shape.architectures = [type(plain_model(model)).__name__]
    values: dict[str, Any] = json.loads(shape.to_json_string(use_diff=False))
    return {key: value for key, value in values.items() if key not in UNSTABLE}


def overrides(version: str | None) -> dict[str, str]:
    """Return config overrides for this version of vLLM: a head in float32, like the trainer's."""
    has_head = version is not None and FLOAT32_HEAD.contains(version, prereleases=True)
    return {"head_dtype": "float32"} if has_head else {}
