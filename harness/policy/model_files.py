"""Finds, downloads and checks the files of a Hugging Face model (folder, hub cache or package).

Importing this loads neither torch nor transformers, so that a missing model is reported at once.

    python -m harness.policy.model_files POLICY_AS_JSON

downloads or makes missing files and checks the model: its files, shape, tokenizer and chat
template. This runs in a process of its own, because a command does not need the time and memory of
transformers. The exit code is 2, with one sentence on stdout, if the model cannot be used, and 74
if it cannot be stored.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path

from harness.config.run import PolicyConfig
from harness.embedded import models as embedded
from harness.errors import ConfigError, DataError, StorageError
from harness.records import plain_file, user_folders

WEIGHTS = ("*.safetensors", "*.json", "*.model", "*.txt", "*.jinja")
"""Patterns of the files to download, without pickled weights and code."""
WHOLE, INDEX = "model.safetensors", "model.safetensors.index.json"
"""Weights in one file, or the index of several files; transformers prefers the single file."""
REACH_S = 10.0
KEY = "policy.model"
KEPT_IN = ("HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME")


def check(policy: PolicyConfig) -> None:
    """Raise ConfigError for a model that a download cannot provide, attention that supports no
    mask, or a cache that cannot be written; FolderError if there is no cache.
    """
    if policy.kind == "hf" and policy.attention == "flash_attention_2":
        raise ConfigError(
            "policy.attention must be sdpa or eager, got flash_attention_2: conversations of "
            "unlike length share a batch, and it takes no mask that says so"
        )
    if policy.kind != "hf" or policy.init == "random":
        return
    if not policy.model:
        raise ConfigError("policy.model must be an id on the hub or a folder, got nothing")
    if policy.model in embedded.MODELS:
        embedded.check(policy.model, KEY)
        if not embedded.entry(policy.model).is_dir():
            user_folders.writable_cache()
    elif is_path(policy.model):
        _check_folder(_folder(policy.model))
    elif policy.model.count("/") != 1:
        raise ConfigError(
            f"policy.model must be a folder that exists or OWNER/NAME on the hub, "
            f"got {policy.model!r}"
        )
    else:
        _check_home()


def ensure(policy: PolicyConfig) -> Path | None:
    """Return the folder of the model's files, downloaded or made if missing; None if random.

    Raises ConfigError if there is no such model, or it cannot be reached.
    """
    check(policy)
    if policy.init == "random":
        return None
    if policy.model in embedded.MODELS:
        return embedded.ensure(policy.model, KEY)
    if is_path(policy.model):
        return _folder(policy.model)
    return Path(_snapshot(policy))


def present(policy: PolicyConfig) -> Path | None:
    """Return the folder of the model's files if they are on this machine, without downloading."""
    if policy.init == "random":
        return None
    if policy.model in embedded.MODELS:
        return embedded.present(policy.model)
    if is_path(policy.model):
        folder = Path(policy.model).expanduser()
        return folder if folder.is_dir() else None
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    with contextlib.suppress(LocalEntryNotFoundError):
        snapshot = snapshot_download(
            policy.model, revision=policy.revision or None, local_files_only=True
        )
        return Path(snapshot)
    return None


def model_file_names(folder: Path) -> list[str]:
    """Return the names of the files in `folder` that determine a model's outputs.

    These are the weights that transformers loads, config.json and tokenizer.json.
    """
    weights = sorted(path.name for path in folder.glob("*.safetensors"))
    index = folder / INDEX
    if WHOLE in weights:
        weights = [WHOLE]
    elif index.is_file():
        weights = sorted(set(json.loads(plain_file.text(index))["weight_map"].values()))
    others = ("config.json", "tokenizer.json")
    return [*weights, *(name for name in others if (folder / name).is_file())]


def is_on_the_hub(policy: PolicyConfig) -> bool:
    """Return whether the policy's model has an id on the hub, from which others can load it."""
    is_pretrained = policy.kind == "hf" and policy.init == "pretrained"
    return is_pretrained and policy.model not in embedded.MODELS and not is_path(policy.model)


def _snapshot(policy: PolicyConfig) -> str:
    from huggingface_hub import model_info, snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    revision = policy.revision or None
    with contextlib.suppress(LocalEntryNotFoundError):  # not here yet
        return snapshot_download(policy.model, revision=revision, local_files_only=True)
    try:
        # a single query first, because a download without a connection retries for half a minute
        model_info(policy.model, revision=revision, timeout=REACH_S)
        return snapshot_download(policy.model, revision=revision, allow_patterns=list(WEIGHTS))
    except Exception as error:  # errors of the hub's client and of its transport
        suffix = f" at revision {policy.revision}" if policy.revision else ""
        why = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise ConfigError(
            f"policy.model must be a folder or a model on the hub that can be reached, "
            f"got {policy.model!r}{suffix}: {why}"
        ) from error


def _folder(model: str) -> Path:
    """Return the path of a model's folder. Raises ConfigError for a `~` without a home."""
    try:
        return Path(model).expanduser()
    except RuntimeError as error:
        rule = "must be a folder that can be found, but the home folder of ~ is not known"
        raise ConfigError(f"policy.model: {rule}; got {model!r}") from error


def _check_home() -> None:
    """Raise ConfigError without a home, where the hub's client would make a folder named `~`."""
    if any(os.environ.get(name) for name in KEPT_IN):
        return
    try:
        Path.home()
    except RuntimeError as error:
        rule = "must name a folder for models of the hub, since this user has no home"
        raise ConfigError(f"HF_HOME: {rule}; got nothing: set it, or XDG_CACHE_HOME") from error


def is_path(model: str) -> bool:
    """Return whether policy.model names a folder, not a model of the hub or of a package."""
    return model.startswith((".", "/", "~")) or Path(model).is_dir()


def _check_folder(folder: Path) -> None:
    for name in ("config.json", "tokenizer_config.json"):
        if not (folder / name).is_file():
            raise ConfigError(
                f"policy.model: {folder} must be a folder with {name} in it, found none"
            )
    _check_config(folder / "config.json")
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise ConfigError(f"policy.model: {folder} must hold *.safetensors, found none")
    for path in weights:
        _check_whole(path)


def _check_config(path: Path) -> None:
    try:
        kind = json.loads(plain_file.text(path))["model_type"]
    except (DataError, ValueError, LookupError, TypeError, RecursionError) as error:
        rule = "must be a JSON object that names a model_type"
        raise ConfigError(f"policy.model: {path} {rule}, got another text") from error
    if not isinstance(kind, str):
        raise ConfigError(f"policy.model: {path}: model_type must be text, got {kind!r}")


def _check_whole(path: Path) -> None:
    """Raise ConfigError for an incomplete file, such as from an interrupted download."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy"):  # checks the header against the file's length
            pass
    except (SafetensorError, OSError) as error:
        rule = "must be a complete safetensors file"
        raise ConfigError(f"policy.model: {path} {rule}, got: {error}") from error


def try_model(policy: PolicyConfig) -> None:
    """Load a model's tokenizer and shape. Raises ConfigError if it cannot be used."""
    folder = ensure(policy)
    from harness.policy import huggingface
    from harness.policy.chat import chat_of

    tokenizer = huggingface.load_tokenizer(policy, folder)
    chat_of(tokenizer, policy.system_prompt, policy.thinking)
    huggingface.check_vocabulary(policy, tokenizer, huggingface.without_weights(policy, folder))


if __name__ == "__main__":
    try:
        try_model(PolicyConfig(**json.loads(sys.argv[1])))
    except (ConfigError, StorageError) as error:
        print(error)
        sys.exit(error.exit_code)
