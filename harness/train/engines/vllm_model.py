"""What vLLM is given of a model: a folder with its shape, and settings by vLLM's version.

vLLM is not imported here. The folder is named by what is in it: vLLM's cache of compiled code goes
by the folder's path, so that a second run, or a resumed one, finds what the first compiled.
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
"""Keys of a shape that say where it came from, and nothing of what it computes."""
FLOAT32_HEAD = SpecifierSet(">=0.31")
"""Versions of vLLM in which hf_overrides takes the head's data type for models that generate; some
before them have the key and warn that it does nothing."""


def folder(model: Any) -> Path:
    """The folder in the user's cache with the shape of `model`, made if need be; the same for equal
    shapes. Raises ConfigError, FolderError or StorageError where there is no cache.
    """
    text = json.dumps(shape_of(model), indent=1, sort_keys=True) + "\n"
    name = f"vllm-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    entry = user_folders.writable_cache() / name

    def make() -> None:
        cache_entry.put(entry, lambda scratch: atomic.write_text(scratch / CONFIG, text))

    return cache_entry.ensure(entry, [CONFIG], make)


def shape_of(model: Any) -> dict[str, Any]:
    """The config of the model below the adapters, as vLLM reads it."""
    shape = copy.deepcopy(model.config)
    shape.architectures = [type(plain_model(model)).__name__]
    values: dict[str, Any] = json.loads(shape.to_json_string(use_diff=False))
    return {key: value for key, value in values.items() if key not in UNSTABLE}


def overrides(version: str | None) -> dict[str, str]:
    """Changes to the shape for this version of vLLM: a head in float32, as the trainer's is."""
    has_head = version is not None and FLOAT32_HEAD.contains(version, prereleases=True)
    return {"head_dtype": "float32"} if has_head else {}
